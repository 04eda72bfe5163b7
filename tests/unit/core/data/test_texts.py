"""Texts: which files, where the test begins, documentation strings of a source file."""

from pathlib import Path

import pytest

from mlscale.core.data import texts
from mlscale.core.data.texts import docstrings, load_text, load_wikitext2, numpy_docstrings
from mlscale.core.errors import UserError


def test_the_end_of_each_file_is_the_test_s(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_bytes(bytes(range(100, 120)))
    (tmp_path / "sub" / "a.MD").write_bytes(b"0123456789")
    (tmp_path / "a.txt").write_bytes(b"short")
    (tmp_path / "code.py").write_bytes(b"left out")
    loaded = load_text(tmp_path)
    assert loaded.train == (b"short", bytes(range(100, 118)), b"012345678")
    assert loaded.test == (b"", bytes([118, 119]), b"9")
    assert loaded.source.origin == f"folder {tmp_path}"


def test_the_hash_is_of_the_bytes_not_of_the_place(tmp_path: Path) -> None:
    hashes = []
    for folder, content in (("one", b"same"), ("two", b"same"), ("three", b"other")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_bytes(content)
        hashes.append(load_text(tmp_path / folder).source.sha256)
    assert hashes[0] == hashes[1] != hashes[2]


def test_documentation_strings_come_in_the_order_of_the_source() -> None:
    source = '"""Module."""\nclass A:\n    """Class."""\n    def f(self):\n        "Method."\n'
    source += "def g():\n    x = 'no documentation'\nasync def h():\n    '''Last.'''\n"
    assert docstrings(source) == ["Module.", "Class.", "Method.", "Last."]


def test_without_a_folder_numpy_s_documentation_is_read(tmp_path: Path, monkeypatch) -> None:
    import numpy as np

    (tmp_path / "tests").mkdir()
    (tmp_path / "__init__.py").write_text('"""First."""\ndef f():\n    """Second."""\n')
    (tmp_path / "bare.py").write_text("x = 1\n")
    (tmp_path / "tests" / "test_a.py").write_text('"""Left out."""\n')
    monkeypatch.setattr(np, "__file__", str(tmp_path / "__init__.py"))
    assert numpy_docstrings() == [b"First.\n\nSecond."]
    source = load_text(None).source
    assert source.origin == "package numpy"
    assert source.version == np.__version__


@pytest.mark.slow
def test_numpy_s_documentation_is_a_megabyte() -> None:
    assert sum(map(len, numpy_docstrings())) > 1_000_000


@pytest.mark.parametrize("suffix", ["raw", "tokens"])
def test_wikitext_is_read_from_a_folder(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"wiki.train.{suffix}").write_text("one two")
    with pytest.raises(UserError, match=r"has no wiki.test.raw"):
        load_wikitext2(tmp_path)
    (tmp_path / f"wiki.test.{suffix}").write_text("three")
    loaded = load_wikitext2(tmp_path)
    assert (loaded.train, loaded.test) == ((b"one two",), (b"three",))


def test_wikitext_s_lines_of_the_hub_are_joined(hub) -> None:
    hub.splits.update(train=[{"text": "one\n"}, {"text": ""}, {"text": "zwei ü\n"}], test=[])
    loaded = load_wikitext2(None)
    assert loaded.train == ("one\nzwei ü\n".encode(),)
    assert hub.asked[0] == ("Salesforce/wikitext", "wikitext-2-raw-v1", "train")


def test_a_folder_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no text files") as caught:
        load_text(tmp_path)
    assert all(suffix in caught.value.hint for suffix in texts.SUFFIXES)
