"""From dataclass to flags: precedence, types, near misses, help, and limits on every command."""

import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import typer

from mlscale.cli import main
from mlscale.cli.options import Common, read_count, takes
from mlscale.core.config import Seeded, check_fields, opt, to_dict
from mlscale.core.files import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Optim:
    lr: float = opt(0.1, help="Step size.", gt=0)
    weight_decay: float = opt(0.0, help="Weight decay.")
    nesterov: bool = opt(True, help="Look ahead.")
    milestones: tuple[int, ...] = opt((), help="When to slow down.")
    rule: Literal["sgd", "adam"] = opt("sgd", help="Rule.")
    slack: float = opt(0.0, help="Slack.", flag=False)

    def __post_init__(self) -> None:
        check_fields(self)


SURROUNDINGS: dict[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Seeded):
    file: Path = opt(help="A table.", argument=True)
    name: str = opt(help="Who.")
    num_steps: int = opt(10, help="Steps.", ge=1)
    cap: int | None = opt(None, help="A cap.")
    rate: float = opt(0.5, help="A rate.")
    fast: bool = opt(False, help="Hurry.")
    kind: Literal["saber", "nature"] = opt("saber", help="A kind.")
    power: Literal[1, 2] = opt(1, help="A power.")
    num_ranks: int = opt(1, help="Ranks.", found=lambda: SURROUNDINGS.get("num_ranks"))
    widths: tuple[int, ...] = opt((8, 16), help="Widths.", ge=1)
    names: tuple[str, ...] | None = opt(None, help="Names.")
    where: Path = opt(Path("here"), help="A path.")
    optim: Optim = opt(Optim(lr=0.2, weight_decay=0.3), help="The optimizer.")


PRESETS = {
    "tiny": lambda: Config(
        file=Path("tiny.csv"), name="tiny", num_steps=2, widths=(4,), optim=Optim(lr=0.7)
    )
}

Call = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that runs a command of `Config`: exit code, what it got, stderr."""
    got: list[tuple[Config, Common]] = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @takes(Config, PRESETS)
    def command(config: Config, common: Common) -> None:
        """Do it."""
        got.append((config, common))

    monkeypatch.setattr(main, "app", app)

    def run(*arguments: str) -> tuple[int, Any, str]:
        got.clear()
        code = main.run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert out == "" or "--help" in arguments
        return code, (got[0] if got else out), err

    return run


BASE = Config(file=Path("a.csv"), name="x")
GIVEN = ("a.csv", "--name", "x")


def test_what_is_not_given_is_what_the_dataclass_says(call: Call) -> None:
    assert call(*GIVEN) == (0, (BASE, Common()), "")


@pytest.mark.parametrize(
    ("flags", "changes"),
    [
        (["--num-steps", "3", "--cap", "4", "--rate", "2"], {"num_steps": 3, "cap": 4, "rate": 2}),
        (["--fast"], {"fast": True}),
        (["--no-fast"], {}),
        (["--kind", "nature", "--power", "2"], {"kind": "nature", "power": 2}),
        (["--widths", "1, 2,3,"], {"widths": (1, 2, 3)}),
        (["--widths", ""], {"widths": ()}),
        (["--names", "a b,c"], {"names": ("a b", "c")}),
        (["--where", "there/x"], {"where": Path("there/x")}),
        (["--seed", "7"], {"seed": 7}),
        (["--optim.lr", "0.5"], {"optim": Optim(lr=0.5, weight_decay=0.3)}),
        (
            ["--optim.weight-decay", "0", "--optim.no-nesterov"],
            {"optim": Optim(lr=0.2, weight_decay=0.0, nesterov=False)},
        ),
    ],
)
def test_flags_change_their_field_alone(
    call: Call, flags: list[str], changes: dict[str, Any]
) -> None:
    code, got, err = call(*GIVEN, *flags)
    assert (code, err) == (0, "")
    assert got[0] == dataclasses.replace(BASE, **changes)
    assert type(got[0].power) is int


def test_output_options_reach_the_command(call: Call) -> None:
    _, got, _ = call(*GIVEN, "--json", "--out", "d", "-q", "--debug")
    assert got[1] == Common(json=True, out=Path("d"), quiet=True, debug=True)


def test_precedence_is_defaults_preset_file_flags(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"num_steps": 3, "rate": 0.25, "optim": {"weight_decay": 0.9}}))
    _, (preset, _), _ = call("--preset", "tiny")
    assert preset == PRESETS["tiny"]()
    _, (config, _), _ = call(
        "--preset", "tiny", "--config", str(file), "--rate", "1", "--optim.no-nesterov"
    )
    assert config == Config(
        file=Path("tiny.csv"),  # preset
        name="tiny",
        widths=(4,),
        num_steps=3,  # the file, over the preset
        rate=1.0,  # a flag, over the file
        optim=Optim(lr=0.7, weight_decay=0.9, nesterov=False),  # each from another
        cap=None,  # default
    )


def test_surroundings_come_between_presets_and_what_the_user_sets(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SURROUNDINGS, "num_ranks", 4)
    _, (config, _), _ = call("--preset", "tiny")
    assert config == dataclasses.replace(PRESETS["tiny"](), num_ranks=4)
    (tmp_path / "c.json").write_text('{"num_ranks": 3}')
    _, (config, _), _ = call("--preset", "tiny", "--config", str(tmp_path / "c.json"))
    assert config.num_ranks == 3
    _, (config, _), _ = call("--preset", "tiny", "--num-ranks", "2")
    assert config.num_ranks == 2


def test_a_run_replays_from_its_config_alone(call: Call, tmp_path: Path) -> None:
    _, (config, _), _ = call(*GIVEN, "--widths", "1", "--names", "p,q", "--optim.lr", "0.3")
    (tmp_path / "config.json").write_text(to_json(to_dict(config)))
    code, got, _ = call("--config", str(tmp_path / "config.json"))
    assert (code, got[0]) == (0, config)


def test_a_flag_can_set_back_what_the_file_set(call: Call, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"fast": true, "num_steps": 5}')
    _, (config, _), _ = call(
        *GIVEN, "--config", str(tmp_path / "c.json"), "--no-fast", "--num-steps", "10"
    )
    assert config == BASE


def test_what_has_no_flag_is_set_by_a_file(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"optim": {"slack": 0.5}}))
    code, (config, _), _ = call(*GIVEN, "--config", str(file))
    assert (code, config.optim) == (0, Optim(lr=0.2, weight_decay=0.3, slack=0.5))
    assert "slack" not in call("--help")[1]


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["a.csv"], "--name is required", "Who."),
        (["--name", "x"], "FILE is required", "A table."),
        ([*GIVEN, "--nmae", "x"], "no such option: --nmae", "did you mean --name? "),
        ([*GIVEN, "--optim.lrr", "1"], "no such option: --optim.lrr", "did you mean --optim.lr? "),
        (
            [*GIVEN, "--optim.slack", "1"],
            "no such option: --optim.slack",
            "set optim.slack in a --config file",
        ),
        ([*GIVEN, "--zzzzzz"], "no such option: --zzzzzz", "`mlscale --help` shows what there is"),
        ([*GIVEN, "--num-steps", "many"], "invalid value for '--num-steps': ", "`mlscale --help`"),
        ([*GIVEN, "--num-steps", "1.5"], "invalid value for '--num-steps': ", "`mlscale --help`"),
        ([*GIVEN, "--rate", "fast"], "invalid value for '--rate': ", "`mlscale --help`"),
        ([*GIVEN, "--num-steps"], "option '--num-steps' requires an argument", "`mlscale --help`"),
        ([*GIVEN, "--num-steps", "0"], "--num-steps must be at least 1, got 0", ""),
        ([*GIVEN, "--rate", "nan"], "--rate must be a finite number, got nan", ""),
        ([*GIVEN, "--rate", "1e999"], "--rate must be a finite number, got inf", ""),
        ([*GIVEN, "--seed", "-1"], "--seed must be at least 0, got -1", ""),
        ([*GIVEN, "--optim.lr", "0"], "--optim.lr must be more than 0, got 0.0", ""),
        ([*GIVEN, "--optim.milestones", "1,x"], "--optim.milestones: 'x' is not int", ""),
        ([*GIVEN, "--optim.rule", "adm"], "--optim.rule cannot be 'adm'", "did you mean 'adam'? "),
        ([*GIVEN, "--widths", "1,two"], "--widths: 'two' is not int", ""),
        ([*GIVEN, "--widths", "1,0"], "--widths must be at least 1, got 0", ""),
        ([*GIVEN, "--kind", "sabre"], "--kind cannot be 'sabre'", "did you mean 'saber'? "),
        ([*GIVEN, "--power", "3"], "--power cannot be '3'", "choices: 1, 2"),
        ([*GIVEN, "--preset", "tinny"], "unknown preset 'tinny'", "did you mean 'tiny'? "),
        ([*GIVEN, "b.csv"], "got unexpected extra argument", "`mlscale --help`"),
    ],
)
def test_wrong_usage_is_one_line_a_hint_and_exit_2(
    call: Call, arguments: list[str], error: str, hint: str
) -> None:
    code, _, err = call(*arguments)
    lines = err.splitlines()
    assert code == 2
    assert lines[0].startswith(f"error: {error}")
    assert len(lines) == (2 if hint else 1)
    assert not hint or lines[1].startswith(f"hint: {hint}")


@pytest.mark.parametrize(
    ("content", "error", "hint"),
    [
        ('{"num_stepz": 3}', "{file}: unknown key 'num_stepz'", "did you mean 'num_steps'?"),
        ('{"optim": {"l": 3}}', "{file}: optim: unknown key 'l'", "did you mean 'lr'?"),
        ('{"num_steps": "3"}', "{file}: num_steps must be int, got '3'", None),
        ('{"num_steps": true}', "{file}: num_steps must be int, got True", None),
        ('{"widths": 3}', "{file}: widths must be a list, got 3", None),
        ('{"rate": NaN}', "--rate must be a finite number, got nan", None),
        ('{"kind": "natur"}', "--kind cannot be 'natur'", "did you mean 'nature'? "),
        ("[1]", "{file} must hold a JSON object of settings", None),
        ("{", "{file} is not JSON: ", None),
        (b"\xff\xfe", "{file} is not JSON: ", None),
        (None, "cannot read {file}: No such file or directory", None),
    ],
)
def test_a_wrong_config_file_is_named(
    call: Call, tmp_path: Path, content: str | bytes | None, error: str, hint: str | None
) -> None:
    file = tmp_path / "c.json"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, _, err = call(*GIVEN, "--config", str(file))
    lines = err.splitlines()
    assert code == 2
    assert lines[0].startswith(f"error: {error.format(file=file)}")
    assert lines[1:] == [] if hint is None else lines[1].startswith(f"hint: {hint}")


@pytest.mark.parametrize("flags", [(), ("--optim.lr", "0.5")])
@pytest.mark.parametrize(("content", "shown"), [('{"optim": 3}', "3"), ('{"optim": null}', "None")])
def test_a_group_that_is_no_object_is_refused_whatever_the_flags(
    call: Call, tmp_path: Path, flags: tuple[str, ...], content: str, shown: str
) -> None:
    file = tmp_path / "c.json"
    file.write_text(content)
    code, _, err = call(*GIVEN, "--config", str(file), *flags)
    expected = f"error: {file}: optim must be an object of settings, got {shown}\n"
    assert (code, err) == (2, expected)


def test_help_shows_flags_defaults_and_choices(call: Call) -> None:
    code, text, _ = call("--help")
    words = " ".join(text.split())
    assert code == 0
    for shown in (
        "[OPTIONS] [FILE]", "A table. [required]", "Who. [required]", "Steps. [default: 10]",
        "A cap. ", "--fast / --no-fast Hurry. [default: no]", "--kind saber|nature",
        "--power 1|2", "Widths. [default: 8,16]", "--optim.lr", "Step size. [default: 0.2]",
        "--optim.nesterov / --optim.no-nesterov", "--preset", "named set of settings: tiny.",
    ):  # fmt: skip
        assert shown in words, shown
    assert "A cap. [default" not in words


def test_several_words_for_a_tuple_argument(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Many(Seeded):
        counts: tuple[int, ...] = opt(help="Counts.", argument=True, ge=1)

    got: list[Any] = []
    app = typer.Typer(rich_markup_mode=None)
    app.command()(takes(Many)(lambda config, common: got.append(config.counts)))
    monkeypatch.setattr(main, "app", app)
    assert main.run_command(["3", "4"]) == 0
    assert got == [(3, 4)]
    assert main.run_command(["3", "x"]) == 2
    assert main.run_command(["0"]) == 2
    assert main.run_command([]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: --counts: 'x' is not int",
        "error: --counts must be at least 1, got 0",
        "error: COUNTS is required",
        "hint: Counts.",
    ]


def commands() -> list[Any]:
    def walk(command: Any, path: str) -> list[Any]:
        found = [] if hasattr(command, "commands") else [pytest.param(command, id=path)]
        for name, child in getattr(command, "commands", {}).items():
            found += walk(child, f"{path} {name}")
        return found

    return walk(typer.main.get_command(main.app), "mlscale")


@pytest.mark.parametrize("command", commands())
def test_every_command_keeps_the_rules(command: Any) -> None:
    options = [item for item in command.params if item.param_type_name == "option"]
    flags = {flag for item in options for flag in item.opts}
    assert {"--json", "--out", "--seed", "--quiet", "--debug", "--config"} <= flags
    assert len(options) <= 25
    assert command.help
    for item in command.params:
        assert re.fullmatch(r"\S.*\.( \[(required|default: .+)\])?", item.help or ""), item.name


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("400k", 400_000), ("2.5M", 2_500_000), ("1_000", 1_000), ("0.5k", 500), ("-3", -3)],
)
def test_counts_are_written_short_or_in_full(text: str, number: int) -> None:
    assert read_count(text) == number


@pytest.mark.parametrize("text", ["", "k", "1.5", "1.0001k", "3g", "nan", "inf", "1e999999999"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a whole number"):
        read_count(text)
