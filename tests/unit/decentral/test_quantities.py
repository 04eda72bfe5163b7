"""Numbers with units: what is read, and what is said of what cannot be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.decentral.quantities import read_bandwidth, read_count, read_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25557032", 25_557_032), ("25_557_032", 25_557_032), ("25.6M", 25_600_000),
        ("7B", 7 * 10**9), ("1.3 B", 1_300_000_000), ("400k", 400_000), ("1T", 10**12),
        ("1e6", 10**6), ("1", 1),
    ],
)  # fmt: skip
def test_counts(text: str, expected: int) -> None:
    assert read_count(text) == expected


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("25Gb/s", 3.125e9), ("100GB/s", 1e11), ("100 Gb/s", 1.25e10), ("8b/s", 1), ("1B/s", 1),
        ("10Gbps", 1.25e9), ("10GBps", 1e10), ("800Mbit/s", 1e8), ("1kB/s", 1e3), ("1KB/s", 1e3),
        ("1KiB/s", 1024), ("1GiB/s", 2**30), ("1.6Tb/s", 2e11), ("2.5Gbits/s", 3.125e8),
        ("900Gbytes/s", 9e11),
    ],
)  # fmt: skip
def test_bandwidths(text: str, bytes_per_s: float) -> None:
    assert read_bandwidth(text) == bytes_per_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10us", 1e-5), ("10µs", 1e-5), ("10\u03bcs", 1e-5), ("1ms", 1e-3), ("0.5 ms", 5e-4),
        ("250ns", 2.5e-7), ("2s", 2), ("0s", 0), ("1.s", 1),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@given(st.integers(1, 10**15))
def test_whole_numbers_are_exact(number: int) -> None:
    assert read_count(str(number)) == number
    assert read_count(f"{number}k") == 1000 * number


@pytest.mark.parametrize("text", ["", "M", "0", "-5", "1.5", "25.6 m", "1G", "nan", "inf", "1e999"])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(UserError) as caught:
        read_count(text)
    assert caught.value.message == f"{text!r} is not a number of parameters"
    assert caught.value.hint == "a whole number, as in 25557032, 25.6M or 7B"


@pytest.mark.parametrize("text", ["", "25", "25G", "25Gb", "25gb/s", "Gb/s", "-1Gb/s", "25Gb/m"])
def test_what_is_no_bandwidth(text: str) -> None:
    with pytest.raises(UserError) as caught:
        read_bandwidth(text)
    assert caught.value.message == f"{text!r} is not a bandwidth"
    assert caught.value.hint == "a small b is bits, a large B bytes: 25Gb/s or 100GB/s"


def test_a_bandwidth_of_nothing() -> None:
    with pytest.raises(UserError, match="a bandwidth of 0Gb/s sends nothing"):
        read_bandwidth("0Gb/s")


@pytest.mark.parametrize("text", ["", "10", "us", "-1us", "10 m", "10US", "10min", "nans"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UserError) as caught:
        read_duration(text)
    assert caught.value.message == f"{text!r} is not a duration"
    assert caught.value.hint == "with ns, us, ms or s: 10us or 1.5ms"
