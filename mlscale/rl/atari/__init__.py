"""Atari 2600 agents scored against human world records.

Papers: Toromanoff et al. 2019, "Is Deep Reinforcement Learning Really Superhuman on Atari?"
(SABER: world records as the yardstick, no episode cap, a stuck limit); Machado et al. 2018
(sticky actions, all 18 actions); Fan 2021, arXiv 2112.04145 (world-record-normalised scores
and records broken); Agarwal et al. 2021 (interquartile mean and stratified intervals).

Reproduced: the normalised scores, their aggregates and records broken of sixteen published
score tables, and the SABER, Machado, Nature-DQN and ALE v5 evaluation protocols on the real
emulator. Deviations: Surround has no registered world record in the shipped list and is
skipped; five episodes a game by default where SABER asks for 100. Not known: several published
tables come from unequal protocols, so their rows are not like for like (`data/agents.json`).
"""
