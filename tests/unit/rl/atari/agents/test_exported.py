"""Policies saved with torch.export: batches of any size, and files that are none."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import Tensor, nn  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.actions import action_sets
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.exported import load_exported

PONG = (0, 1, 3, 4, 11, 12)
MINIMAL = Task(game="pong", action_ids=PONG)
FULL = Task(game="pong", action_ids=tuple(range(18)))
FRAMES = torch.zeros((2, 4, 84, 84), dtype=torch.uint8)
INPUT_HINT = "export it with torch.zeros((2, 4, 84, 84), dtype=torch.uint8)"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Policy(nn.Module):
    """Values that follow the first pixel of the newest frame: `pixel` picks output `pixel`."""

    def __init__(self, num_outputs: int = 6) -> None:
        super().__init__()
        self.register_buffer("outputs", torch.arange(num_outputs, dtype=torch.float32))

    def forward(self, frames_NFHW: Tensor) -> Tensor:
        pixel_N1 = frames_NFHW[:, 3, 0, 0].float()[:, None]
        return -((self.outputs - pixel_N1) ** 2)


class Tuple(Policy):
    def forward(self, frames_NFHW: Tensor) -> tuple[Tensor]:  # type: ignore[override]
        return (super().forward(frames_NFHW),)


class Scalar(Policy):
    def forward(self, frames_NFHW: Tensor) -> Tensor:
        return super().forward(frames_NFHW).sum()


class Flat(Policy):
    def forward(self, frames_NFHW: Tensor) -> Tensor:
        return super().forward(frames_NFHW).sum(dim=1)


def save(path: Path, module: nn.Module, *inputs: object, dynamic: bool = False) -> Path:
    shapes = ({0: torch.export.Dim("num")},) if dynamic else None
    program = torch.export.export(module, inputs or (FRAMES,), dynamic_shapes=shapes)
    torch.export.save(program, path)
    return path


def frames(*pixels: int) -> np.ndarray:
    frames_NFHW = np.full((len(pixels), 4, 84, 84), 200, np.uint8)
    frames_NFHW[:, 3, 0, 0] = pixels
    return frames_NFHW


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("pixels", [(4,), (5, 0), (3, 1, 2), (0, 1, 2, 3, 4), (5,) * 6])
def test_any_number_of_lanes_is_answered(
    tmp_path: Path, dynamic: bool, pixels: tuple[int, ...]
) -> None:
    path = save(tmp_path / "p.pt2", Policy(), dynamic=dynamic)
    agent = load_exported(path, MINIMAL)
    agent.reset(len(pixels))
    assert agent.act(frames(*pixels)).tolist() == list(pixels)
    agent = load_exported(path, FULL)
    assert agent.act(frames(*pixels)).tolist() == [PONG[pixel] for pixel in pixels]


def test_a_fixed_batch_gives_what_each_row_alone_gives(tmp_path: Path) -> None:
    """Rows that fill up a last batch leave the others as they are."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(4 * 84 * 84, 6))

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, frames_NFHW: Tensor) -> Tensor:
            values: Tensor = self.network(frames_NFHW / 255)
            return values

    threes = torch.zeros((3, 4, 84, 84), dtype=torch.uint8)
    agent = load_exported(save(tmp_path / "p.pt2", Network(), threes), MINIMAL)
    generator = np.random.default_rng(0)
    frames_NFHW = generator.integers(256, size=(7, 4, 84, 84), dtype=np.uint8)
    frames_NFHW[generator.random(frames_NFHW.shape) < 0.99] = 0  # or all rows are much alike
    with torch.no_grad():
        alone = [int(network(torch.from_numpy(row[None]) / 255).argmax()) for row in frames_NFHW]
    assert len(set(alone)) > 1
    for num_lanes in range(1, 8):
        assert agent.act(frames_NFHW[:num_lanes]).tolist() == alone[:num_lanes]


def test_a_policy_of_eighteen_under_few_actions_takes_the_best_legal_one(tmp_path: Path) -> None:
    agent = load_exported(save(tmp_path / "p.pt2", Policy(18), dynamic=True), MINIMAL)
    # Outputs nearest to the pixel among 0, 1, 3, 4, 11, 12, which are called 0 to 5.
    assert agent.act(frames(17, 9, 11, 5)).tolist() == [5, 4, 4, 3]


def test_skiing_has_nine_actions_to_choose_from(tmp_path: Path) -> None:
    task = Task(game="skiing", action_ids=action_sets("skiing").legal)
    agent = load_exported(save(tmp_path / "p.pt2", Policy(18), dynamic=True), task)
    assert agent.act(frames(0, 1, 2, 9, 17)).tolist() == [0, 0, 1, 8, 8]


def error_of(path: Path) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        load_exported(path, MINIMAL)
    assert "\n" not in caught.value.message
    return caught.value.message.replace(str(path), "p.pt2"), caught.value.hint


@pytest.mark.parametrize(
    "inputs",
    [
        (FRAMES.float(),),
        (torch.zeros((2, 84, 84, 4), dtype=torch.uint8),),
        (torch.zeros((4, 84, 84), dtype=torch.uint8),),
        (FRAMES, torch.tensor(2.0)),
        (FRAMES, 2.0),
    ],
    ids=["dtype", "channels last", "no batch", "two tensors", "a tensor and a number"],
)
def test_programs_of_other_inputs(tmp_path: Path, inputs: tuple[object, ...]) -> None:
    class Any(nn.Module):
        def forward(self, frames: Tensor, scale: float | Tensor = 1.0) -> Tensor:
            return frames.float().flatten(1)[:, :6] * scale

    path = save(tmp_path / "p.pt2", Any(), *inputs)
    assert error_of(path) == (
        "p.pt2 must take one input of (N, 4, 84, 84) uint8 frames",
        INPUT_HINT,
    )


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("module", [Tuple, Scalar, Flat])
def test_programs_of_other_outputs(tmp_path: Path, module: type[Policy], dynamic: bool) -> None:
    path = save(tmp_path / "p.pt2", module(), dynamic=dynamic)
    assert error_of(path) == (
        "p.pt2 must return one (N, actions) tensor of values or logits", None,
    )  # fmt: skip


def test_a_policy_of_another_game(tmp_path: Path) -> None:
    path = save(tmp_path / "p.pt2", Policy(5), dynamic=True)
    assert error_of(path) == (
        "the policy has 5 actions; pong has 6 (or all 18)", "was it trained for another game?",
    )  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"not a program", b"PK\x03\x04 cut short"])
def test_files_that_are_no_programs(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "p.pt2").write_bytes(content)
    with caplog.at_level(logging.WARNING):
        message, hint = error_of(tmp_path / "p.pt2")
    assert message.startswith("p.pt2 is not a torch.export program: ")
    assert hint == "save one with torch.export.save"
    assert not caplog.records  # torch itself warns, with a traceback


def test_a_program_cut_short(tmp_path: Path) -> None:
    path = save(tmp_path / "p.pt2", Policy())
    path.write_bytes(path.read_bytes()[:-100])
    assert error_of(path)[0].startswith("p.pt2 is not a torch.export program: ")


def test_a_program_that_fails_when_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "p.pt2", Policy())

    def fail(self: nn.Module, *inputs: object) -> None:
        raise RuntimeError("no kernel here\nand a page of advice")

    monkeypatch.setattr(torch.fx.GraphModule, "__call__", fail)
    assert error_of(path) == ("p.pt2 cannot be run: RuntimeError: no kernel here", None)
