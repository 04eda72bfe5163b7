"""A hub without a network."""

import sys
from types import SimpleNamespace

import pytest


@pytest.fixture
def hub(monkeypatch):
    """Stand for the datasets library; fill `splits` with lists of rows by (set, split)."""
    asked = []

    def load_dataset(repository, config, *, split):
        asked.append((repository, config, split))
        if split not in splits:
            raise ConnectionError("no route to the hub\nsecond line")
        return splits[split]

    splits: dict[str, list[dict]] = {}
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return SimpleNamespace(splits=splits, asked=asked)
