"""The metrics file: every line whole or absent, whatever cut the writing short."""

import contextlib
import errno
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.metrics_log import MetricsLog, drop_torn_line, read_records

scalars = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()))
records = st.dictionaries(st.text(), scalars | st.floats(allow_nan=False, allow_infinity=False))
SOME = [{"step": 1, "loss": 0.5}, {"step": 2, "loss": None, "note": "naïve\nline"}]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    with MetricsLog(path) as log:
        for line in lines:
            log.append(line)


@settings(max_examples=40)
@given(st.lists(records))
def test_records_read_back_equal(lines: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        write(path, lines)
        assert read_records(path) == lines
        assert path.read_bytes().count(b"\n") == len(lines)


@settings(max_examples=40)
@given(st.lists(records, min_size=1), st.data())
def test_a_file_cut_anywhere_keeps_every_whole_line(
    lines: list[dict[str, Any]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        write(path, lines)
        content = path.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:cut])
        whole = lines[: content[:cut].count(b"\n")]
        assert read_records(path) == whole
        was_torn = cut > 0 and content[cut - 1 : cut] != b"\n"
        assert drop_torn_line(path) is was_torn
        assert drop_torn_line(path) is False
        write(path, lines)
        assert read_records(path) == whole + lines


def test_numpy_and_nan_become_plain_json(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, [{"a": math.nan, "b": np.float32(0.5), "c": np.int64(3), "d": np.float64("inf")}])
    assert path.read_text() == '{"a": null, "b": 0.5, "c": 3, "d": null}\n'


@pytest.mark.parametrize("damage", [b"{oops", b"", b"[1]", b"3", b"\xff\xfe"])
def test_a_damaged_line_is_named_by_its_number(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"a": 1}\n' + damage + b'\n{"a": 3}\n')
    with pytest.raises(UserError) as caught:
        read_records(path)
    assert caught.value.message == f"{path}: line 2 is not a JSON object, the file is damaged"
    assert "delete that line" in (caught.value.hint or "")


def test_no_file_is_no_records_and_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    assert read_records(tmp_path / "none") == []
    assert drop_torn_line(tmp_path / "none") is False
    for refused in (lambda: read_records(tmp_path), lambda: drop_torn_line(tmp_path)):
        with pytest.raises(UserError, match=f"^cannot read {tmp_path}: Is a directory$"):
            refused()
    with pytest.raises(UserError, match=f"^cannot write {tmp_path}: Is a directory$"):
        MetricsLog(tmp_path)


def breaks_after(num_bytes: int, error: BaseException) -> Callable[[int, Any], int]:
    """Return an os.write that writes `num_bytes`, then raises `error` for ever."""
    real, left = os.write, [num_bytes]

    def write(descriptor: int, data: Any) -> int:
        if not left[0]:
            raise error
        written = real(descriptor, bytes(data)[: left[0]])
        left[0] -= written
        return written

    return write


@pytest.mark.parametrize("num_bytes", [0, 1, 10, 25])
@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), WorkFailed),
        (OSError(errno.EIO, "Input/output error"), UserError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_write_broken_in_the_middle_of_a_line_leaves_whole_lines_only(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    num_bytes: int,
    error: BaseException,
    becomes: type[BaseException],
) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.append(SOME[0])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", breaks_after(num_bytes, error))
            with pytest.raises(becomes):
                log.append(SOME[1])
        assert path.read_text() == json.dumps(SOME[0]) + "\n"
        log.append(SOME[1])
    assert read_records(path) == SOME


def test_a_write_done_in_pieces_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:3]))
    write(tmp_path / "metrics.jsonl", SOME)
    monkeypatch.undo()
    assert read_records(tmp_path / "metrics.jsonl") == SOME


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a disk of a few pages at `folder`, or skip."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("no mount here")
    if done.returncode:
        pytest.skip("may not mount here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk"):
        path = tmp_path / "disk" / "metrics.jsonl"
        with MetricsLog(path) as log:
            log.append({"n": 0})

            def fill() -> None:
                for n in range(1, 100):
                    log.append({"n": n, "pad": "x" * 1000})

            with pytest.raises(WorkFailed, match="No space left on device") as caught:
                fill()
            assert caught.value.hint == "free some space, then run the command again"
            found = read_records(path)
            assert [record["n"] for record in found] == list(range(len(found)))
            assert path.read_bytes().endswith(b"\n")
            assert len(found) > 5
