"""Text tasks: blocks by hand, models that cannot look ahead, bits per byte."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import nn  # noqa: TID253 - the same

from mlscale.core.errors import UserError
from mlscale.decentral.tasks.language_models import Block, ByteGPT, ByteLSTM
from mlscale.decentral.tasks.registry import make_task
from mlscale.decentral.tasks.text import BLOCK, Blocks, bits_per_byte


def test_blocks_by_hand() -> None:
    blocks = Blocks([b"abc", b"defgh"], 3)  # h would begin to be predicted by a third
    assert len(blocks) == 2
    x, y = blocks.take(np.array([0, 1]))
    assert [bytes(row.tolist()) for row in x] == [b"abc", b"def"]
    assert [bytes(row.tolist()) for row in y] == [b"bcd", b"efg"]
    assert blocks.labels.tolist() == [0, 1]
    assert blocks.take(np.zeros((2, 5), np.int64))[0].shape == (2, 5, 3)


def test_every_byte_but_the_first_is_predicted_once() -> None:
    text = bytes(range(31))
    blocks = Blocks([text], 5)
    _, y = blocks.take(np.arange(len(blocks)))
    assert y.flatten().tolist() == list(range(1, 31))
    assert len(Blocks([text[:30]], 5)) == 5
    assert len(Blocks([], 5)) == 0


def test_empty_texts_have_no_blocks() -> None:
    assert Blocks([b"", b"abcd", b"", b"efgh"], 2).labels.tolist() == [1, 1, 3]


@pytest.mark.parametrize("make", [ByteLSTM, lambda: ByteGPT(12)], ids=["lstm", "gpt"])
def test_no_output_depends_on_later_bytes(make) -> None:
    torch.manual_seed(0)
    model = make()
    x = torch.randint(0, 256, (2, 12))
    changed = x.clone()
    changed[:, 7] = (changed[:, 7] + 1) % 256
    before, after = model(x), model(changed)
    assert before.shape == (2, 12, 256)
    assert torch.allclose(before[:, :7], after[:, :7], atol=1e-6)
    assert (before[:, 7:] - after[:, 7:]).abs().amax(dim=(0, 2)).min() > 1e-6


def test_attention_equals_a_slow_loop() -> None:
    torch.manual_seed(0)
    block, x = Block(8, 2), torch.randn(1, 5, 8)
    q, k, v = block.attend(x)[0].split(8, dim=1)
    slow = torch.zeros(5, 8)
    for head in (slice(0, 4), slice(4, 8)):
        for t in range(5):
            scores = k[: t + 1, head] @ q[t, head] / math.sqrt(4)
            slow[t, head] = scores.softmax(0) @ v[: t + 1, head]
    torch.testing.assert_close(block._attention(x)[0], slow)


def test_gpt_starts_from_nothing_known() -> None:
    torch.manual_seed(0)
    x = torch.randint(0, 256, (8, 64))
    loss = nn.functional.cross_entropy(ByteGPT(64)(x).flatten(0, 1), x.flatten())
    assert loss.item() == pytest.approx(math.log(256), rel=0.05)


def test_bits_per_byte_of_a_guess_are_eight() -> None:
    assert bits_per_byte(math.log(256)) == {"bits_per_byte": pytest.approx(8.0)}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("the cat sat on the mat. " * 80)
    (tmp_path / "b.md").write_text("one two three four five. " * 80)
    for part in ("train", "test"):
        (tmp_path / f"wiki.{part}.raw").write_text("a small wiki. " * 40)
    return tmp_path


@pytest.mark.parametrize("name", ["text-lstm", "text-gpt", "wikitext2-lstm", "wikitext2-gpt"])
def test_a_text_is_learned(texts: Path, name: str) -> None:
    task = make_task(name, data_dir=texts)
    x, y = task.train.take(np.arange(2))
    assert x.shape == y.shape == (2, BLOCK)
    model = task.make_model(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = task.loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert 0 <= task.correct(model(x), y) <= y.numel()
    assert task.derived(1.0) == {"bits_per_byte": pytest.approx(1.4427, abs=1e-4)}
    assert task.num_classes == 256


def test_fewer_blocks_are_kept_with_their_labels(texts: Path) -> None:
    whole, few = (make_task("text-gpt", data_dir=texts, max_train=m) for m in (None, 5))
    assert len(few.train) == len(few.train.labels) == 5
    x_all = whole.train.take(np.arange(len(whole.train)))[0].tolist()
    for number in range(5):
        x, _ = few.train.take(np.array([number]))
        assert x[0].tolist() in x_all
    assert set(whole.train.labels.tolist()) == {0, 1}


def test_a_text_shorter_than_a_block_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 400)
    with pytest.raises(UserError, match="40 bytes of test text are too few for one block of 129"):
        make_task("text-gpt", data_dir=tmp_path)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UserError, match="1 bytes of training text are too few"):
        make_task("text-lstm", data_dir=tmp_path)
