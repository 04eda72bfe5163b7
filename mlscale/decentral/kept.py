"""The mean of the parameters that checkpoints keep.

Shape letters: N replicas; P parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.checkpoints import checkpoint_steps, load_arrays

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def kept_mean(folder: Path) -> NDArray[np.float32]:
    """Return the mean (P,) over the replicas whose newest checkpoint is the newest of all.

    Args:
        folder: With a checkpoint of all replicas, or with a folder of them for each.

    Raises:
        UserError: There is none, or it is damaged.
    """
    folders = sorted(folder.glob("rank-*")) or [folder]
    newest = {one: max(checkpoint_steps(one), default=0) for one in folders}
    last = max(newest.values())
    rows = [load_arrays(one, last, "x")[""] for one in folders if newest[one] == last]
    x_NP = np.concatenate([np.atleast_2d(row) for row in rows])
    mean_P: NDArray[np.float32] = x_NP.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean_P
