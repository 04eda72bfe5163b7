"""Networks this small run faster on one thread."""

from collections.abc import Iterator

import pytest
import torch  # noqa: TID253 - every test here needs it


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
