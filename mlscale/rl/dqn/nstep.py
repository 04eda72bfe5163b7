"""Returns over several steps: rewards summed until the bootstrap, an end or a time limit.

Shape letters: B transitions of a batch; N steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Returns(NamedTuple):
    """Sums of rewards and what follows them.

    Attributes:
        r_t_B: (B,) sums of discounted rewards.
        discount_t_B: (B,) discounts of the bootstrap value, 0 where there is none.
        last_B: (B,) which of the N steps each sum ends with.
    """

    r_t_B: NDArray[np.float32]
    discount_t_B: NDArray[np.float32]
    last_B: NDArray[np.intp]


def n_step_returns(
    r_BN: NDArray[np.float32],
    terminated_BN: NDArray[np.bool_],
    truncated_BN: NDArray[np.bool_],
    discount: float,
    *,
    bootstrap_at_limit: bool,
) -> Returns:
    """Return the N-step returns of consecutive steps, cut at the first end of an episode.

    Args:
        r_BN: (B, N) rewards.
        terminated_BN: (B, N) whether the step reached a terminal state.
        truncated_BN: (B, N) whether a time limit cut the episode off after the step.
        discount: Discount per step.
        bootstrap_at_limit: Whether the state at a time limit has a value like any other; if not
            it is taken for terminal.

    Source: Sutton and Barto 2018, equation 7.1; Pardo et al. 2018, section 3 (time limits).
    """
    num_steps = r_BN.shape[1]
    ends_BN = terminated_BN | truncated_BN
    ends_BN[:, -1] = True
    last_B = ends_BN.argmax(axis=1)
    powers_N = discount ** np.arange(num_steps + 1)
    counted_BN = np.arange(num_steps) <= last_B[:, None]
    r_t_B = (r_BN * powers_N[:-1] * counted_BN).sum(axis=1)
    rows_B = np.arange(len(r_BN))
    stops_B = terminated_BN[rows_B, last_B]
    if not bootstrap_at_limit:
        stops_B = stops_B | truncated_BN[rows_B, last_B]
    discount_t_B = powers_N[last_B + 1] * ~stops_B
    return Returns(r_t_B.astype(np.float32), discount_t_B.astype(np.float32), last_B)
