"""Reference scores, shipped and the user's own."""

from pathlib import Path

import pytest

from mlscale.core.errors import UserError
from mlscale.rl.atari import records


def read(folder: Path, text: str, name: str = "mine.csv") -> records.Reference:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return records.read_reference(path)


def test_the_shipped_list_has_56_records_and_names_its_sources() -> None:
    reference = records.shipped_reference("saber-2019")
    assert reference.name == "saber-2019"
    assert (len(reference.random), len(reference.human), len(reference.record)) == (57, 57, 56)
    assert "surround" not in reference.record
    assert reference.record["video_pinball"] == 89218328.0
    assert "SABER (Toromanoff et al. 2019)" in reference.source


def test_an_unknown_list_is_an_error_with_a_near_miss() -> None:
    with pytest.raises(UserError, match=r"^unknown record list 'saber2019'$") as caught:
        records.shipped_reference("saber2019")
    assert caught.value.hint == "did you mean 'saber-2019'? record lists: saber-2019"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("game,record\nPong,20\nBreakout,864\n", "mine.csv"),
        ("Game\tWorld Record\nPong\t20\nBreakout\t864\n", "mine.tsv"),
        ('[{"game": "Pong", "record": 20}, {"game": "Breakout", "record": 864}]', "mine.json"),
        ('{"Pong": 20, "Breakout": 864}', "mine.json"),
    ],
)
def test_records_of_ones_own_in_every_form(tmp_path: Path, text: str, name: str) -> None:
    reference = read(tmp_path, text, name)
    shipped = records.shipped_reference()
    assert reference.name == str(tmp_path / name)
    assert reference.record == {"pong": 20.0, "breakout": 864.0}
    assert (reference.random, reference.human) == (shipped.random, shipped.human)
    assert reference.source.startswith(f"record: {tmp_path / name} (2 games); random: no-op-start")


def test_own_random_and_human_scores_replace_the_shipped_ones(tmp_path: Path) -> None:
    reference = read(tmp_path, "game,record,random,human\nalien,9000,100,\nqbert,,,20000\n")
    shipped = records.shipped_reference()
    assert reference.record == {"alien": 9000.0}
    assert reference.random == {**shipped.random, "alien": 100.0}
    assert reference.human == {**shipped.human, "qbert": 20000.0}
    assert f"human: {tmp_path / 'mine.csv'} (1 games), else" in reference.source


def test_the_shipped_table_reads_back_as_itself() -> None:
    path = Path(records.__file__).parent / "data" / "scores.csv"
    shipped, reread = records.shipped_reference(), records.read_reference(path)
    assert reread.record == shipped.record
    assert (reread.random, reread.human) == (shipped.random, shipped.human)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", ": is empty", None),
        ("game,record\n", ": holds no records", "write game,record[,random][,human]"),
        (
            "game,points\npong,21\n",
            ": no column 'record'",
            "write game,record[,random][,human]; columns found: game, points",
        ),
        (
            "game,recrod\npong,21\n",
            ", line 1: column 'recrod' looks like 'record'",
            "rename it to 'record', or drop it if it is something else",
        ),
        (
            "game,record\npong,21\npnog,21\n",
            ", line 3: unknown game 'pnog'",
            "did you mean 'pong'? mlscale atari games lists them",
        ),
        ("game,record\npong,21\n\nPong,20\n", ", line 4: game 'pong' is also in line 2", None),
        (
            "game,record\npong,many\n",
            ", line 2: record 'many' is not a finite number",
            "write a plain number, as in 1234.5, or leave the cell blank",
        ),
        (
            "game,record\npong,inf\n",
            ", line 2: record 'inf' is not a finite number",
            "write a plain number, as in 1234.5, or leave the cell blank",
        ),
        (
            "game,record\nbreakout,864\npong,-21\n",
            ", line 3: record -21 of 'pong' is not above its random score -20.7",
            "scores are game points; normalised scores divide by the difference",
        ),
        (
            "game,record,human\npong,21,-20.7\n",
            ", line 2: human -20.7 of 'pong' is not above its random score -20.7",
            "scores are game points; normalised scores divide by the difference",
        ),
    ],
)
def test_errors(tmp_path: Path, text: str, message: str, hint: str | None) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, text)
    assert caught.value.message == f"{tmp_path / 'mine.csv'}{message}"
    assert caught.value.hint == hint


@pytest.mark.parametrize("text", ["3", "[1]", '"pong"'])
def test_json_of_another_shape(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"mine.json: not a list of records$") as caught:
        read(tmp_path, text, "mine.json")
    assert caught.value.hint == 'write [{"game": "pong", "record": 21}, ...] or {"pong": 21, ...}'


def test_errors_in_json_name_the_entry(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mine.json, entry 2: unknown game 'x'$"):
        read(tmp_path, '[{"game": "pong", "record": 21}, {"game": "x", "record": 1}]', "mine.json")
