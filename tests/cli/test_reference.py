"""docs/cli.md is what the commands say themselves."""

from pathlib import Path

from mlscale.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run: python -m mlscale.cli.reference > docs/cli.md"
    )


def test_every_command_has_its_section() -> None:
    text = reference()
    for path in ("mlscale", "mlscale doctor", "mlscale atari eval", "mlscale runs resume"):
        assert f"\n## {path}\n\n```\nUsage: {path} " in text
    assert max(map(len, text.split("\n## mlscale\n")[1].splitlines())) <= 80
