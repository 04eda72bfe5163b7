"""Texts as bytes: a folder's files, WikiText-2, or the documentation strings of NumPy."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlscale.core.data.hub import load_split, version_of_split
from mlscale.core.data.source import Source
from mlscale.core.environment import version_of
from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SUFFIXES = frozenset({".txt", ".md"})
TEST_SHARE = 10
"""One byte in so many is for the test: the end of each file."""

HUB = "Salesforce/wikitext"
HUB_CONFIG = "wikitext-2-raw-v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSet:
    """Training and test text.

    Args:
        train: One item per file.
        test: The same.
        source: Where it was read from.
    """

    train: tuple[bytes, ...]
    test: tuple[bytes, ...]
    source: Source


def load_text(data_dir: Path | None) -> TextSet:
    """Return all .txt and .md files below a folder, else the documentation strings of NumPy.

    The last tenth of every file is the test's.

    Args:
        data_dir: The folder.

    Raises:
        UserError: There is no such file below it.
    """
    if data_dir is not None:
        files = _files_below(data_dir, SUFFIXES)
        if not files:
            raise UserError(
                f"{data_dir} has no text files", f"files end in {', '.join(sorted(SUFFIXES))}"
            )
        return _with_test_tails(
            [_read(path) for path in files], name="text", origin=f"folder {data_dir}", licence=""
        )
    return _with_test_tails(
        numpy_docstrings(),
        name="documentation strings of NumPy",
        origin="package numpy",
        version=version_of("numpy") or "",
        licence="BSD-3-Clause",
    )


def load_wikitext2(data_dir: Path | None) -> TextSet:
    """Return WikiText-2 from a folder, else from the hub.

    Args:
        data_dir: Folder with `wiki.train.raw` and `wiki.test.raw` (or `.tokens`).

    Raises:
        UserError: A file is missing, or the hub cannot be reached.

    Source: Merity, Xiong, Bradbury and Socher 2016 (arXiv 1609.07843).
    """
    version = ""
    if data_dir is not None:
        train, test = (_read(_wiki_file(data_dir, part)) for part in ("train", "test"))
        origin = f"folder {data_dir}"
    else:
        splits = [load_split(HUB, HUB_CONFIG, split) for split in ("train", "test")]
        train, test = ("".join(row["text"] for row in split).encode() for split in splits)
        origin, version = f"hub {HUB} {HUB_CONFIG}", version_of_split(splits[0])
    return _text_set(
        [train],
        [test],
        name="WikiText-2",
        origin=origin,
        version=version,
        licence="CC-BY-SA-3.0 and GFDL",
    )


def numpy_docstrings() -> list[bytes]:
    """Return the documentation strings of NumPy's source files, tests left out, in sorted order.

    Files are parsed, not run, and those without documentation give nothing.
    """
    import numpy as np

    folder = Path(np.__file__).parent
    texts = []
    for path in _files_below(folder, frozenset({".py"})):
        if "tests" not in path.relative_to(folder).parts:
            text = "\n\n".join(docstrings(path.read_text(encoding="utf-8")))
            texts.append(text.encode())
    return [text for text in texts if text]


def docstrings(source: str) -> list[str]:
    """Return the documentation strings of a module, its classes and functions, as they stand."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    nodes.sort(key=lambda node: getattr(node, "lineno", 0))
    return [text for node in nodes if (text := ast.get_docstring(node))]


def _files_below(folder: Path, suffixes: frozenset[str]) -> list[Path]:
    """Return files by their path below `folder`, so that it does not matter where that lies."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in suffixes)
    return sorted(
        (path for path in found if path.is_file()),
        key=lambda path: path.relative_to(folder).as_posix(),
    )


def _wiki_file(folder: Path, part: str) -> Path:
    for suffix in (".raw", ".tokens"):
        path = folder / f"wiki.{part}{suffix}"
        if path.is_file():
            return path
    raise UserError(
        f"{folder} has no wiki.{part}.raw", "--data-dir takes the unpacked folder of WikiText-2"
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _with_test_tails(
    texts: Iterable[bytes], *, name: str, origin: str, version: str = "", licence: str
) -> TextSet:
    cuts = [(text, len(text) - len(text) // TEST_SHARE) for text in texts]
    return _text_set(
        [text[:cut] for text, cut in cuts],
        [text[cut:] for text, cut in cuts],
        name=name,
        origin=origin,
        version=version,
        licence=licence,
    )


def _text_set(
    train: Sequence[bytes],
    test: Sequence[bytes],
    *,
    name: str,
    origin: str,
    version: str,
    licence: str,
) -> TextSet:
    digest = hashlib.sha256()
    for text in (*train, *test):
        digest.update(len(text).to_bytes(8, "little") + text)
    source = Source(
        name=name,
        origin=origin,
        version=version,
        licence=licence,
        sha256=digest.hexdigest(),
        hashed="length and bytes of every training text, then of every test text",
    )
    return TextSet(train=tuple(train), test=tuple(test), source=source)
