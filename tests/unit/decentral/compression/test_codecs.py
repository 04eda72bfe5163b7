"""Compressed forms: bytes counted by hand, contraction, and means of many draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch  # noqa: TID253 - every test here needs it
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.decentral.compression.quantise import Quantise
from mlscale.decentral.compression.registry import CODECS
from mlscale.decentral.compression.sign import Sign
from mlscale.decentral.compression.top_k import TopK

if TYPE_CHECKING:
    from mlscale.decentral.compression.codec import Codec


def draws(seed: int = 0) -> torch.Generator:
    rng = torch.Generator()
    rng.manual_seed(seed)
    return rng


def through(codec: Codec, x_P: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return codec.decode(codec.encode(x_P, draws(seed)), len(x_P))


def vector(size: int, seed: int, power: int) -> torch.Tensor:
    """Return values whose largest stand out the more, the higher the power."""
    return torch.randn(size, generator=draws(seed)) ** power


VECTORS = st.builds(vector, st.integers(1, 1200), st.integers(0, 1000), st.sampled_from([1, 3, 9]))


@pytest.mark.parametrize(
    ("codec", "num_parameters", "num_bytes"),
    [
        (TopK(), 100, 80),  # 10 places and values of 4 bytes each
        (TopK(), 3, 8),
        (TopK(share=0.5), 7, 32),
        (Sign(), 100, 17),  # a size, and 13 bytes of signs
        (Sign(), 8, 5),
        (Sign(), 9, 6),
        (Quantise(), 1025, 1037),  # a byte each, and three norms
        (Quantise(), 512, 516),
        (Quantise(), 1, 5),
    ],
)
def test_bytes_counted_by_hand(codec: Codec, num_parameters: int, num_bytes: int) -> None:
    assert codec.num_bytes(num_parameters) == num_bytes
    sent_S = codec.encode(vector(num_parameters, 0, 1), draws())
    assert (sent_S.dtype, tuple(sent_S.shape)) == (torch.uint8, (num_bytes,))


@pytest.mark.parametrize("name", list(CODECS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_decoded_is_float32_and_zero_for_zeros(name: str, dtype: torch.dtype) -> None:
    x_P = torch.zeros(600, dtype=dtype)
    decoded_P = through(CODECS[name], x_P)
    assert decoded_P.dtype == torch.float32
    assert torch.equal(decoded_P, torch.zeros(600))


def test_top_k_keeps_the_largest_exactly() -> None:
    x_P = torch.tensor([0.5, -3.0, 0.1, 2.0, -0.2])
    assert through(TopK(share=0.4), x_P).tolist() == [0, -3, 0, 2, 0]


def test_sign_keeps_signs_and_the_mean_magnitude() -> None:
    x_P = torch.tensor([1.0, -2.0, 3.0, -6.0])
    assert through(Sign(), x_P).tolist() == [3, -3, 3, -3]


@pytest.mark.parametrize("codec", [TopK(), Sign()])
@given(x_P=VECTORS)
@settings(max_examples=30, deadline=None)
def test_coding_again_changes_nothing(codec: Codec, x_P: torch.Tensor) -> None:
    once_P = through(codec, x_P)
    assert torch.allclose(through(codec, once_P), once_P)


@given(x_P=VECTORS)
@settings(max_examples=30, deadline=None)
def test_top_k_loses_no_more_than_the_share_left_out(x_P: torch.Tensor) -> None:
    codec = TopK()
    kept = codec.num_bytes(len(x_P)) // 8 / len(x_P)
    lost = float((x_P - through(codec, x_P)).square().sum())
    assert lost <= (1 - kept) * float(x_P.square().sum()) * (1 + 1e-5) + 1e-6


@given(x_P=VECTORS)
@settings(max_examples=30, deadline=None)
def test_sign_loses_what_the_mean_magnitude_leaves(x_P: torch.Tensor) -> None:
    lost = float((x_P - through(Sign(), x_P)).double().square().sum())
    squares = float(x_P.double().square().sum())
    explained = float(x_P.double().abs().sum()) ** 2 / len(x_P)
    assert lost == pytest.approx(squares - explained, rel=1e-4, abs=1e-4 * squares)


def variance_bound(num_parameters: int) -> float:
    """Return v of QSGD with 127 levels: E|Q(x) - x|^2 <= v |x|^2 before scaling."""
    size = min(512, num_parameters)
    return min(size / 127**2, size**0.5 / 127)


@given(x_P=VECTORS)
@settings(max_examples=15, deadline=None)
def test_quantising_is_a_contraction_in_the_mean(x_P: torch.Tensor) -> None:
    lost = [float((x_P - through(Quantise(), x_P, seed)).square().sum()) for seed in range(20)]
    variance = variance_bound(len(x_P))
    bound = variance / (1 + variance) * float(x_P.square().sum())
    assert sum(lost) / len(lost) <= 1.5 * bound  # of few draws; 1 - d is v / (1 + v)


def test_quantising_is_right_in_the_mean_before_scaling() -> None:
    x_P = vector(40, 3, 3)
    num_draws = 500
    scale = 1 + variance_bound(40)
    mean_P = scale * sum(through(Quantise(), x_P, seed) for seed in range(num_draws)) / num_draws
    step = float(x_P.norm()) / 127
    share_P = (x_P.abs() / step).frac()
    deviation_P = step * (share_P * (1 - share_P) / num_draws).sqrt()
    assert ((mean_P - x_P).abs() <= 5 * deviation_P + 1e-5).all()


def test_quantised_values_are_a_level_off_at_most_block_by_block() -> None:
    x_P = torch.cat((vector(512, 0, 1), 1000 * vector(100, 1, 1)))
    error_P = (1 + variance_bound(612)) * through(Quantise(), x_P) - x_P
    for block in (slice(0, 512), slice(512, 612)):
        assert error_P[block].abs().max() <= x_P[block].norm() / 127 * (1 + 1e-4)


def test_draws_depend_on_the_generator_alone() -> None:
    x_P = vector(300, 0, 1)
    first, same, other = (through(Quantise(), x_P, seed) for seed in (1, 1, 2))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
