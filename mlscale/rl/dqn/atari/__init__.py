"""DQN and model-based exploration from pixels, on Atari games."""
