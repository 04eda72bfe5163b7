"""Writing files so that a crash leaves the old content or the new, never half of either."""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError, WorkFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals to write `path` into mlscale's errors.

    Raises:
        WorkFailed: The disk is full (or the quota is used up).
        UserError: The path is not to be written: no permission, read-only, a file in the way.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in NO_ROOM:
            raise WorkFailed(
                f"cannot write {path}: {reason}", "free some space, then run the command again"
            ) from error
        raise UserError(
            f"cannot write {path}: {reason}", "choose another directory with --out DIR"
        ) from error


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write a whole file through a temporary one beside it (write, fsync, rename)."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with writing(path):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def to_json(value: Any, *, indent: int | None = 2, encoding: str = "utf-8") -> str:
    """Return `value` as strict JSON text: a NaN or an infinity is an error, not a token.

    Everything outside ASCII is escaped where `encoding` cannot hold the text, as when a file
    name that is not Unicode comes in, so that it can always be written and read back.
    """
    text = json.dumps(value, indent=indent, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, allow_nan=False)
    return text
