"""Exploring from pixels: which action is held, what the model is fitted to, what decides."""

from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.rl.dqn.atari.config import LatentMbeConfig
from mlscale.rl.dqn.atari.frames import FrameReplay
from mlscale.rl.dqn.atari.low_rank import LowRankGaussian
from mlscale.rl.dqn.atari.mbe import LatentModelBased
from mlscale.rl.dqn.atari.neighbours import Neighbours
from mlscale.rl.dqn.atari.parts import make_density


class Pixels:
    """Latents that are two pixels of the newest frame."""

    def of(self, frames_NFHW: torch.Tensor) -> torch.Tensor:
        return frames_NFHW[:, -1, 0, :2].float()

    def __call__(self, frames_NFHW: np.ndarray) -> np.ndarray:
        return self.of(torch.from_numpy(frames_NFHW)).numpy()


class Steps:
    """A model in which action a moves a feature, the first or another, by what it is told."""

    def __init__(self, moves_A: list[float], features_A: list[int] | None = None) -> None:
        self.moves_A, self.num_fits = np.array(moves_A, np.float32), 1
        self.features_A = features_A or [0] * len(moves_A)
        self.batches: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def predict(self, z_LD: np.ndarray) -> np.ndarray:
        next_LAD = np.repeat(z_LD[:, None], len(self.moves_A), axis=1)
        next_LAD[:, np.arange(len(self.moves_A)), self.features_A] += self.moves_A
        return next_LAD

    def fit(self, z_BD: torch.Tensor, a_B: torch.Tensor, next_BD: torch.Tensor) -> None:
        self.batches.append((z_BD.clone(), a_B.clone(), next_BD.clone()))


def frames(*first: int) -> np.ndarray:
    stacks = np.zeros((len(first), 4, 84, 84), np.uint8)
    stacks[:, -1, 0, 0] = first
    stacks[:, -1, 0, 1] = 7
    return stacks


def explorer(dynamics: Any, seed: int = 0, hold_steps: int = 4) -> LatentModelBased:
    config = LatentMbeConfig(fit_from_steps=1, batch=16)
    rng = np.random.default_rng(seed)
    latents: Any = Pixels()
    density = Neighbours(50, 2, 3)
    return LatentModelBased(
        len(dynamics.moves_A), 2, latents, dynamics, density, config, hold_steps, rng
    )


def test_the_action_that_leads_farthest_from_recent_latents_is_held() -> None:
    mbe = explorer(Steps([0, -20, 60, 5]))
    for value in (100, 101, 99, 100):
        mbe.observe(frames(value, value), frames(value, value + 1))
    assert mbe.act(frames(100, 100, 100)).tolist() == [2, 2, 2]
    assert mbe.novelty is not None
    assert mbe.novelty > 0


def test_a_feature_that_hardly_varies_counts_as_much_as_one_that_does() -> None:
    mbe = explorer(Steps([20, 5, 0], [0, 1, 0]))
    for value in (40, 200, 80, 160, 120):  # the other feature stays near 7
        states = frames(value, value)
        states[0, -1, 0, 1] = 8
        mbe.observe(states, states)
    assert mbe.act(frames(120)).tolist() == [1]


def test_equally_unfamiliar_actions_are_drawn() -> None:
    mbe = explorer(Steps([0, 60, 60, 0]))
    for value in (100, 101, 99, 100):
        mbe.observe(frames(value), frames(value))
    chosen = {int(mbe.act(frames(100))[0]) for _ in range(60)}
    assert chosen == {1, 2}


def test_actions_are_random_before_anything_is_known() -> None:
    dynamics = Steps([0, 60, 0, 0])
    mbe = explorer(dynamics)
    assert {int(mbe.act(frames(100))[0]) for _ in range(60)} == {0, 1, 2, 3}
    dynamics.num_fits = 0
    for value in (100, 101, 99):
        mbe.observe(frames(value), frames(value))
    assert len({int(mbe.act(frames(100))[0]) for _ in range(60)}) == 4


def held_memory() -> FrameReplay:
    """Return steps of one lane in which actions are held for four and action a moves by a."""
    memory = FrameReplay(200, 1, n_step=5)
    rng, none = np.random.default_rng(1), np.zeros(1, np.bool_)
    value = 10
    for row in range(120):
        if row % 4 == 0:
            a_L = rng.integers(0, 3, 1)
        before = frames(value)
        value += int(a_L[0])
        memory.add(before, a_L, np.zeros(1, np.float32), frames(value), none, none)
    return memory


def test_the_model_is_fitted_to_whole_holds() -> None:
    dynamics = Steps([0, 0, 0])
    mbe, memory = explorer(dynamics), held_memory()
    mbe.act(frames(100))
    mbe.learn(FrameReplay(200, 1, n_step=5), 1)  # nothing to sample yet, and no error
    for step in range(1, 21):
        mbe.act(frames(100))
        mbe.learn(memory, step)
    assert len(dynamics.batches) == 20
    for z_BD, a_B, next_BD in dynamics.batches:
        assert torch.equal(next_BD[:, 0] - z_BD[:, 0], 4.0 * a_B)


def test_the_model_is_fitted_once_for_each_action_chosen() -> None:
    dynamics = Steps([0, 0, 0])
    mbe, memory = explorer(dynamics), held_memory()
    mbe.learn(memory, 1)
    assert not dynamics.batches
    mbe.act(frames(100, 100, 100))
    mbe.act(frames(100))
    mbe.learn(memory, 2)
    assert len(dynamics.batches) == 4
    mbe.learn(memory, 3)
    assert len(dynamics.batches) == 4


def test_actions_chosen_before_the_first_fit_are_not_made_up_for() -> None:
    dynamics = Steps([0, 0, 0])
    mbe, memory = explorer(dynamics), held_memory()
    mbe.act(frames(100))
    mbe.learn(memory, 0)  # fit_from_steps is 1
    mbe.learn(memory, 1)
    assert not dynamics.batches


@pytest.mark.parametrize(
    ("name", "kind"), [("neighbours", Neighbours), ("low_rank", LowRankGaussian)]
)
def test_the_settings_name_the_density(name: Any, kind: type) -> None:
    assert isinstance(make_density(LatentMbeConfig(density=name), 8), kind)
