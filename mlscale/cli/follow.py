"""A process of torchrun that rank 0 leads: it works, and leaves directory and speech to rank 0."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from mlscale.cli.studies import load
from mlscale.core.runs import Run
from mlscale.core.torchrun import ToldElsewhereError

if TYPE_CHECKING:
    from mlscale.cli.studies import Study


def follow(study: Study, config: Any) -> None:
    """Take part in a study without a run directory, silently.

    Raises:
        SystemExit: Another process has failed, which is said there.
        MlscaleError: This one has.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # there is nothing to save: checkpoints are whole
    try:
        load(study.run)(config, Run(study.name, config))
    except ToldElsewhereError as error:
        raise SystemExit(error.exit_code) from None
