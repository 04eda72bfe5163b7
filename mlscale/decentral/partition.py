"""Which examples each rank learns from, and in which order.

Shape letters: N examples; R ranks; C classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.errors import UserError
from mlscale.core.seeding import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def iid(num_examples: int, num_ranks: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return parts drawn uniformly; their sizes differ by at most one.

    Args:
        num_examples: N.
        num_ranks: R.
        rng: Draws them.

    Returns:
        R arrays of example numbers, ascending, every example in exactly one.

    Raises:
        UserError: There are fewer examples than ranks.
    """
    _refuse_too_few(num_examples, num_ranks, 1)
    return [np.sort(part) for part in np.array_split(rng.permutation(num_examples), num_ranks)]


def dirichlet(
    labels_N: NDArray[np.int64],
    num_ranks: int,
    alpha: float,
    rng: np.random.Generator,
    *,
    min_examples: int = 1,
) -> list[NDArray[np.int64]]:
    """Return parts skewed by label; their sizes differ by at most one.

    A rank's classes come from a mixture drawn from Dirichlet(alpha * p), p being the classes'
    shares in all examples, without replacement: what is used up is left out of the mixture. Ranks
    draw one after another, in random order, so the last take what the others left and are not
    skewed the way they drew. A large alpha is uniform; a small one leaves a rank few classes.

    Args:
        labels_N: (N,) classes.
        num_ranks: R.
        alpha: Concentration, above 0.
        rng: Draws everything.
        min_examples: Examples that every rank must get at least.

    Returns:
        R arrays of example numbers, ascending, every example in exactly one.

    Raises:
        UserError: There are fewer examples than the ranks need, or alpha is not above 0.

    Source: after Hsu, Qi and Brown 2019 (arXiv 1909.06335); equal sizes and random order are ours.
    """
    if not 0 < alpha < np.inf:
        raise UserError(f"alpha must be a positive number, not {alpha:g}")
    _refuse_too_few(len(labels_N), num_ranks, min_examples)
    _, classes_N, left_C = np.unique(labels_N, return_inverse=True, return_counts=True)
    prior_C = left_C / len(labels_N)
    by_class = [rng.permutation(np.flatnonzero(classes_N == c)) for c in range(len(left_C))]
    sizes = [len(part) for part in np.array_split(np.empty(len(labels_N)), num_ranks)]
    parts: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * num_ranks
    for rank in rng.permutation(num_ranks).tolist():
        counts_C = _draw_counts(sizes[rank], alpha * prior_C, left_C, rng)
        # A class is handed out from its back, so `left_C` is where the next rank goes on.
        taken = [
            examples[left - count : left]
            for examples, left, count in zip(by_class, left_C, counts_C, strict=True)
        ]
        left_C = left_C - counts_C
        parts[rank] = np.sort(np.concatenate(taken))
    return parts


def _draw_counts(
    size: int,
    concentration_C: NDArray[np.float64],
    left_C: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return how many of each class a rank gets, `size` in all and no more than are left."""
    mixture_C = rng.dirichlet(concentration_C)
    counts_C = np.zeros_like(left_C)
    while (missing := size - int(counts_C.sum())) > 0:
        share_C = np.where(counts_C < left_C, mixture_C, 0)
        if share_C.sum() == 0:  # small alphas give most classes a share that is exactly 0
            share_C = (left_C - counts_C).astype(np.float64)
        drawn_C = rng.multinomial(missing, share_C / share_C.sum())
        counts_C = np.minimum(counts_C + drawn_C, left_C)
    return counts_C


def _refuse_too_few(num_examples: int, num_ranks: int, min_examples: int) -> None:
    if num_ranks < 1:
        raise UserError(f"there must be at least one rank, not {num_ranks}")
    if num_examples < num_ranks * min_examples:
        each = "" if min_examples == 1 else f" with at least {min_examples} each"
        raise UserError(
            f"{num_examples} training examples cannot be split over {num_ranks} ranks{each}",
            "use fewer ranks or more examples",
        )


def batch_indices(
    part: NDArray[np.int64], epoch: int, seed: int, rank: int, batch: int
) -> NDArray[np.int64]:
    """Return the batches of one epoch of one rank.

    A function of its arguments alone, so that a run can be resumed in any epoch.

    Args:
        part: The rank's examples, at least one.
        epoch: From 0; each has an order of its own.
        seed: The run's.
        rank: Whose.
        batch: Examples of a batch.

    Returns:
        (num_batches, batch) example numbers. What does not fill a last batch is left out; a part
        smaller than one batch is one batch by itself, (1, len(part)).

    Raises:
        ValueError: The part is empty or the batch is.
    """
    if not len(part) or batch < 1:
        raise ValueError(f"no batches of {batch} from {len(part)} examples")
    shuffled = generator(seed, "batches", rank, epoch).permutation(part)
    width = min(batch, len(part))
    num_batches = len(part) // width
    return shuffled[: num_batches * width].reshape(num_batches, width)


def steps_per_epoch(parts: Sequence[NDArray[np.int64]], batch: int) -> int:
    """Return how many batches every rank has, so that all take equally many steps.

    Args:
        parts: The ranks' examples.
        batch: Examples of a batch.
    """
    return min(max(1, len(part) // batch) for part in parts)


def common_batch(parts: Sequence[NDArray[np.int64]], batch: int) -> int:
    """Return the batch that every rank can fill: `batch`, or the smallest part if that is less.

    Args:
        parts: The ranks' examples.
        batch: Examples of a batch as asked for.
    """
    return min(batch, *(len(part) for part in parts))
