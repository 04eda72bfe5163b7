"""DQN, and DQN that explores with a learned model of the dynamics.

Paper: Gou and Liu 2019, "DQN with model-based exploration: efficient learning on environments
with sparse rewards", arXiv 1903.09295. An exploratory action is not drawn at random: a model
predicts the next state of every action, and the action is taken whose prediction is the least
likely under a Gaussian of the recently visited states.

Reproduced: the agent with the paper's and code's settings (preset `faithful`), and the same agent
with its mistakes mended (preset `fixed`: one-hot actions, standardised state differences, a fit
every step, a regularised covariance, bootstrapping through time limits, epsilon decaying after
the exploration-only phase). Deviations: a rank-deficient covariance is pseudo-inverted under
`faithful`, where the authors' code inverts it; the baselines have the same exploration-only phase
unless `faithful` is asked for. Not known: how the authors' runs were seeded.
"""
