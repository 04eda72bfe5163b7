"""Whole files: the old content or the new, and JSON that is always JSON."""

import errno
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.files import to_json, write_atomic, writing


def test_text_and_bytes_are_written_whole_and_alone(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a.txt", "naïve\n")
    write_atomic(tmp_path / "a.txt", b"\x00\xff")
    assert (tmp_path / "a.txt").read_bytes() == b"\x00\xff"
    write_atomic(tmp_path / "a.txt", "naïve\n")
    assert (tmp_path / "a.txt").read_bytes() == b"na\xc3\xafve\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("raised", "becomes", "says"),
    [
        (OSError(errno.ENOSPC, "No space left"), WorkFailed, "cannot write .*: No space left"),
        (OSError(errno.EDQUOT, "Quota exceeded"), WorkFailed, "cannot write .*: Quota exceeded"),
        (OSError(errno.EACCES, "Permission denied"), UserError, "cannot write .*: Permission"),
        (OSError(errno.EROFS, "Read-only file system"), UserError, "cannot write .*: Read-only"),
        (KeyboardInterrupt("now"), KeyboardInterrupt, "now"),
    ],
)
def test_a_failed_write_leaves_the_old_content_and_nothing_else(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    raised: BaseException,
    becomes: type[BaseException],
    says: str,
) -> None:
    target = tmp_path / "a.txt"
    write_atomic(target, "old")

    def fail(*arguments: Any) -> None:
        raise raised

    with monkeypatch.context() as patch:
        patch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
        with pytest.raises(becomes, match=says):
            write_atomic(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("place", "reason"),
    [("file/a.txt", "Not a directory"), ("none/a.txt", "No such file"), ("folder", "directory")],
)
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(UserError, match=reason) as caught:
        write_atomic(tmp_path / place, "new")
    assert caught.value.message.startswith(f"cannot write {tmp_path / place}: ")
    assert caught.value.hint == "choose another directory with --out DIR"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


def test_writing_lets_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), writing(Path("x")):
        _ = 1 / 0


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(values, st.sampled_from(["utf-8", "ascii", "latin-1"]))
def test_json_reads_back_equal_from_any_encoding(value: Any, encoding: str) -> None:
    assert json.loads(to_json(value, encoding=encoding).encode(encoding).decode(encoding)) == value


def test_json_keeps_letters_readable() -> None:
    assert to_json({"a": "é"}, indent=None) == '{"a": "é"}'


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {"a": {"b": math.nan}}])
def test_json_has_no_nan(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(value)
