"""Placeholder."""
COUNTER_MODULUS: dict[str, int] = {}
def unwrap(reward: int, modulus: int) -> int:
    return reward
