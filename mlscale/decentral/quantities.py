"""Numbers with units as people write them: 25Gb/s, 10us, 25.6M. Standard library only."""

from __future__ import annotations

import re
from decimal import Decimal

from mlscale.core.errors import UserError

NUMBER = r"(?P<number>\d+(?:_\d+)*(?:\.\d*)?(?:[eE][+-]?\d{1,2})?)"
COUNT = re.compile(NUMBER + r"\s*(?P<prefix>[kKMBT]?)")
BANDWIDTH = re.compile(NUMBER + r"\s*(?P<prefix>(?:[kKMGT]i?)?)(?P<unit>bits?|bytes?|b|B)(?:/s|ps)")
DURATION = re.compile(NUMBER + r"\s*(?P<unit>ns|us|\u00b5s|\u03bcs|ms|s)")

COUNTS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
BITS = ("b", "bit", "bits")
SECONDS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "\u00b5s": Decimal("1e-6"),
    "\u03bcs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
}


def read_count(text: str) -> int:
    """Return a number of parameters, as in 25.6M, 7B or 25_557_032.

    Raises:
        UserError: It is no whole number above zero.
    """
    found = COUNT.fullmatch(text.strip())
    value = Decimal(found["number"]) * COUNTS[found["prefix"]] if found else Decimal(0)
    if value < 1 or value != value.to_integral_value():
        raise UserError(
            f"{text!r} is not a number of parameters", "a whole number, as in 25557032, 25.6M or 7B"
        )
    return int(value)


def read_bandwidth(text: str) -> float:
    """Return a bandwidth in bytes per second, as in 25Gb/s (bits) or 100GB/s (bytes).

    Prefixes are decimal, save Ki, Mi, Gi and Ti.

    Raises:
        UserError: It is no bandwidth, or zero.
    """
    found = BANDWIDTH.fullmatch(text.strip())
    if not found:
        raise UserError(
            f"{text!r} is not a bandwidth", "a small b is bits, a large B bytes: 25Gb/s or 100GB/s"
        )
    prefix = found["prefix"]
    base = 1024 if prefix.endswith("i") else 1000
    value = Decimal(found["number"]) * base ** POWERS[prefix.removesuffix("i")]
    if value == 0:
        raise UserError(f"a bandwidth of {text} sends nothing", "as in 25Gb/s or 100GB/s")
    return float(value / 8 if found["unit"] in BITS else value)


def read_duration(text: str) -> float:
    """Return a duration in seconds, as in 10us, 1ms or 0s.

    Raises:
        UserError: It is no duration.
    """
    found = DURATION.fullmatch(text.strip())
    if not found:
        raise UserError(f"{text!r} is not a duration", "with ns, us, ms or s: 10us or 1.5ms")
    return float(Decimal(found["number"]) * SECONDS[found["unit"]])
