"""Imported once by the fork server: imports what `VARIABLE` names, so that each job finds it.

multiprocessing can preload modules by itself, but a module whose import fails would take the
whole fork server down. Here the failure is left to the job, which reports it properly.
"""

from __future__ import annotations

import contextlib
import importlib
import os

VARIABLE = "MLSCALE_PRELOAD"

for _name in os.environ.get(VARIABLE, "").split(","):
    if _name:
        with contextlib.suppress(Exception):
            importlib.import_module(_name)
