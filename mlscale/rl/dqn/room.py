"""Room for a replay memory: where there is none, one line says how much was asked for.

NumPy is given the memory of zeros only as they are written over. An array beyond what the system
hands out at all is refused at once; a smaller one that is still larger than the machine's memory
is not, and would be missed hours later: that is worth a note.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlscale.core.runs import Run
    from mlscale.rl.dqn.experience import Memory

GB = 1e9
LARGEST_ARRAY_BYTES = 2**63 - 1


@contextmanager
def room_for(what: str, num_transitions: int, bytes_each: int) -> Iterator[None]:
    """Make of refused memory one line that says how much was asked for and what to lower.

    Args:
        what: What is kept of the transitions, as in "replay".
        num_transitions: How many there are.
        bytes_each: Bytes that one of them takes.

    Raises:
        UserError: The memory is not to be had.
    """
    num_bytes = num_transitions * bytes_each
    error = UserError(
        f"no memory for the {what} of {num_transitions:,} transitions: {num_bytes / GB:,.1f} GB",
        f"lower learn.replay_steps in a --config file: each takes {bytes_each:,} bytes",
    )
    if num_bytes > LARGEST_ARRAY_BYTES:  # no MemoryError: NumPy cannot even count them
        raise error
    try:
        yield
    except MemoryError:
        raise error from None


def note_scarce_memory(memory: Memory, steps: int, run: Run) -> None:
    """Say so where a replay memory will outgrow the machine's.

    Args:
        memory: The replay memory.
        steps: Environment steps that are kept in it, as far as they fit.
        run: Whose note it is.
    """
    share = min(1.0, steps / (memory.steps.num_rows * memory.steps.num_lanes))
    needed_bytes, there_bytes = share * memory.nbytes, machine_bytes()
    if there_bytes is not None and needed_bytes > there_bytes:
        run.note(
            f"the replay grows to {needed_bytes / GB:,.1f} GB and this machine's memory is "
            f"{there_bytes / GB:,.1f} GB: lower learn.replay_steps in a --config file"
        )


def machine_bytes() -> int | None:
    """Return the bytes of memory of this machine, None where the system does not say."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
