"""Studies of scale in reinforcement learning."""
