"""Tables that users hand in: CSV, TSV or JSON, plain or gzipped, with errors that name the line.

Everything is streamed, so a table may be larger than memory. Standard library only.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import gzip
import itertools
import json
import re
import shutil
import stat
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

from mlscale.core.errors import UserError, nearest

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

MAX_LINE_BYTES = 1_000_000
MAX_JSON_BYTES = 256_000_000  # JSON is read whole

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF8_HINT = "save it as UTF-8 (in a spreadsheet: CSV UTF-8)"
_SUFFIXES = {".gz", ".csv", ".tsv", ".txt", ".json"}


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table on disk: where it is, and what to call it and its rows in errors."""

    path: Path
    name: str
    unit: str = "line"

    def error(self, message: str, hint: str | None = None, *, line: int | None = None) -> UserError:
        """Return the error `NAME, line N: message`."""
        where = self.name if line is None else f"{self.name}, {self.unit} {line}"
        return UserError(f"{where}: {message}", hint)

    def with_unit(self, unit: str) -> TableFile:
        """Return the same table with its rows called otherwise, as in `entry`."""
        return dataclasses.replace(self, unit=unit)

    @contextlib.contextmanager
    def errors_at(self, line: int | None) -> Iterator[None]:
        """Put the file and the line in front of an error raised inside."""
        try:
            yield
        except UserError as problem:
            raise self.error(problem.message, problem.hint, line=line) from None

    @property
    def stem(self) -> str:
        """The file's name without folder and endings."""
        stem = Path(self.name)
        while stem.suffix.lower() in _SUFFIXES:
            stem = stem.with_suffix("")
        return stem.name

    def open(self) -> BinaryIO:
        """Open the table as bytes, unpacked.

        Raises:
            UserError: There is no such file, or it cannot be read.
        """
        try:
            stream = self.path.open("rb")
        except FileNotFoundError:
            close = nearest(self.path.name, _names_beside(self.path))
            raise self.error(
                "no such file", f"did you mean {close!r}?" if close else None
            ) from None
        except IsADirectoryError:
            raise self.error("is a folder", "name the table inside it") from None
        except OSError as problem:
            raise self.error(f"cannot be read ({problem.strerror})") from None
        if stream.peek(2)[:2] == b"\x1f\x8b":
            return cast("BinaryIO", _Unpacked(stream))
        return stream

    def is_json(self) -> bool:
        """Say whether the table is JSON: by its ending, or by how it starts."""
        if Path(self.name.lower().removesuffix(".gz")).suffix == ".json":
            return True
        return self._head().lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{")

    def _head(self) -> bytes:
        """Return the first bytes, once they are sure to be text."""
        try:
            with self.open() as stream:
                head = stream.read(4096)
        except (EOFError, OSError, zlib.error):
            self._raise_damaged()
        if head.startswith(_UTF16_MARKS):
            raise self.error("is UTF-16, not UTF-8", _UTF8_HINT)
        if b"\0" in head and not _is_utf8(head):
            raise self.error("is a binary file, not a table", "a table is CSV, TSV or JSON text")
        return head

    def _raise_damaged(self) -> NoReturn:
        raise self.error("is damaged: it cannot be unpacked", "gzip --test says more") from None

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table.

        Raises:
            UserError: The file is not UTF-8 text with lines of sensible length.
        """
        self._head()
        with self.open() as stream:
            for number in itertools.count(1):
                try:
                    raw = stream.readline(MAX_LINE_BYTES + 1)
                except (EOFError, OSError, zlib.error):
                    self._raise_damaged()
                if not raw:
                    return
                yield self._decode(raw, number)

    def _decode(self, raw: bytes, line: int) -> str:
        if len(raw) > MAX_LINE_BYTES:
            raise self.error(f"longer than {MAX_LINE_BYTES:,} bytes; is this a table?", line=line)
        try:
            text = raw.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError as problem:
            byte = raw[problem.start]
            raise self.error(f"byte 0x{byte:02x} is not UTF-8", _UTF8_HINT, line=line) from None
        if "\0" in text:
            raise self.error("holds a NUL byte", "the file may be damaged", line=line)
        return text

    def header(self) -> tuple[int, str, list[str]]:
        """Return the header's line number, the delimiter (`,`, `;` or tab) and the column names.

        Raises:
            UserError: The table is empty.
        """
        for number, line in enumerate(self.lines(), start=1):
            if line.strip():
                delimiter = max(",;\t", key=line.count)
                row = self._next_row(csv.reader([line], delimiter=delimiter), number) or []
                return number, delimiter, [cell.strip() for cell in row]
        raise self.error("is empty")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the stripped cells of each row under the header.

        Raises:
            UserError: A row cannot be read or has more or fewer cells than the header.
        """
        header_line, delimiter, header = self.header()
        lines = itertools.islice(self.lines(), header_line, None)
        reader = csv.reader(lines, delimiter=delimiter)
        while True:
            line = header_line + reader.line_num + 1
            row = self._next_row(reader, line)
            if row is None:
                return
            if not row:
                continue
            if len(row) != len(header):
                raise self.error(
                    f"{count(len(row), 'cell')} where the header has {len(header)}",
                    "write a cell that holds a delimiter in double quotes",
                    line=line,
                )
            yield line, [cell.strip() for cell in row]

    def _next_row(self, reader: Iterator[list[str]], line: int) -> list[str] | None:
        try:
            return next(reader, None)
        except csv.Error:
            hint = "is a quote never closed, or do the lines end without a line feed?"
            raise self.error("cannot be read as a row of cells", hint, line=line) from None

    def json(self) -> Any:
        """Return the JSON document in the file.

        Raises:
            UserError: It is malformed, gives a key twice, or is too large to be read whole.
        """
        self._head()
        try:
            with self.open() as stream:
                raw = stream.read(MAX_JSON_BYTES + 1)
        except (EOFError, OSError, zlib.error):
            self._raise_damaged()
        if len(raw) > MAX_JSON_BYTES:
            raise self.error("too large to be read as JSON", "write it as CSV, which is streamed")
        if not raw.strip():
            raise self.error("is empty")
        try:
            # Integers as floats too: Python refuses to read very long ones.
            return json.loads(
                raw.decode("utf-8-sig"), parse_int=float, object_pairs_hook=self._unique_keys
            )
        except UnicodeDecodeError as problem:
            line = raw.count(b"\n", 0, problem.start) + 1
            message = f"byte 0x{raw[problem.start]:02x} is not UTF-8"
            raise self.error(message, _UTF8_HINT, line=line) from None
        except json.JSONDecodeError as problem:
            raise self.error(f"not JSON ({problem.msg})", line=problem.lineno) from None
        except RecursionError:
            raise self.error("JSON is nested too deeply") from None

    def _unique_keys(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise self.error(f"key {twice!r} is given twice in one object")
        return found


class _Unpacked(gzip.GzipFile):
    """A gzip stream that closes the file it reads from."""

    def __init__(self, stream: io.BufferedReader) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._stream = stream

    def close(self) -> None:
        super().close()
        self._stream.close()


@contextlib.contextmanager
def open_table(path: Path) -> Iterator[TableFile]:
    """Give the table at `path`; `-` is standard input.

    Pipes are copied to a temporary file first, since a table may be read more than once.
    """
    if str(path) != "-" and not _is_pipe(path):
        yield TableFile(path, str(path))
        return
    with tempfile.TemporaryDirectory(prefix="mlscale-") as folder:
        copy = Path(folder) / "table"
        name = "stdin" if str(path) == "-" else str(path)
        with contextlib.ExitStack() as stack:
            source = sys.stdin.buffer if name == "stdin" else stack.enter_context(path.open("rb"))
            shutil.copyfileobj(source, stack.enter_context(copy.open("wb")))
        yield TableFile(copy, name)


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


def _names_beside(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as problem:
        return problem.end == len(head) == 4096  # cut in the middle of a character
    return True


def count(number: int, noun: str) -> str:
    """Return the number with its noun: `1 cell`, `2 cells`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def parse_number(text: str) -> float | None:
    """Return the number that `text` spells (nan and inf among them), or None."""
    if "_" in text:  # Python reads 1_000, other programs do not
        return None
    try:
        return float(text)
    except ValueError:
        return None


def fold_column(name: str) -> str:
    """Return what two spellings of a column name share: lower-case letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
