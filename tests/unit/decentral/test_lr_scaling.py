"""Learning rates for many replicas, by hand."""

import pytest

from mlscale.decentral.lr_scaling import lr_at, scaled_lr, warmed_up


@pytest.mark.parametrize(
    ("rule", "replicas", "expected"),
    [
        ("none", 16, 0.1), ("sqrt", 16, 0.4), ("linear", 16, 1.6),
        ("none", 1, 0.1), ("sqrt", 1, 0.1), ("linear", 1, 0.1),
    ],
)  # fmt: skip
def test_scaled_lr(rule: str, replicas: int, expected: float) -> None:
    assert scaled_lr(0.1, replicas, rule) == pytest.approx(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(("replicas", "rule", "text"), [(0, "none", "got 0"), (2, "cube", "cube")])
def test_what_is_no_rule_is_refused(replicas: int, rule: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        scaled_lr(0.1, replicas, rule)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("epoch", "expected"), [(0, 0.1), (1, 0.4), (2.5, 0.85), (5, 1.6), (5.1, 1.6), (90, 1.6)]
)
def test_warm_up_is_a_line(epoch: float, expected: float) -> None:
    assert warmed_up(epoch, 5, 0.1, 1.6) == pytest.approx(expected)
    found = lr_at(epoch, base_lr=0.1, num_replicas=16, rule="linear", warmup_epochs=5)
    assert found == pytest.approx(expected)


def test_no_warm_up_begins_with_the_whole() -> None:
    assert warmed_up(0, 0, 0.1, 1.6) == 1.6


@pytest.mark.parametrize("epoch", [0, 2, 9])
def test_an_unscaled_rate_needs_no_warm_up(epoch: float) -> None:
    assert lr_at(epoch, base_lr=0.1, num_replicas=16, rule="none", warmup_epochs=5) == 0.1
