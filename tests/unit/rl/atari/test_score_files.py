"""Score tables that users hand in: what is read, and the text of every error."""

import gzip
import io
import itertools
import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.rl.atari import score_fast, score_files, score_sums, tabular
from mlscale.rl.atari.games import Game, all_games
from mlscale.rl.atari.score_json import SHAPES_HINT
from mlscale.rl.atari.score_layout import _FORMS_HINT as FORMS_HINT

LEAVE_OUT = "leave the row out where there is no score; a missing score is not counted as zero"
PLAIN_NUMBER = "write a plain number, as in 1234.5, without separators or units"
SAVE_UTF8 = "save it as UTF-8 (in a spreadsheet: CSV UTF-8)"
NUMBER_THEM = "number several seeds in a seed column, several episodes in an episode column"

Plain = dict[str, tuple[dict[str, list[float]], int | None]]


def plain(table: score_files.ScoreTable) -> Plain:
    return {
        agent.agent: ({game: list(score_S) for game, score_S in agent.scores.items()}, agent.frames)
        for agent in table.agents
    }


def read(folder: Path, content: str | bytes, name: str = "t.csv") -> score_files.ScoreTable:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return score_files.read_scores(path)


def error(folder: Path, content: str | bytes, name: str = "t.csv") -> tuple[str, str | None]:
    """Return the error's message, without the folder, and its hint."""
    with pytest.raises(UserError) as caught:
        read(folder, content, name)
    assert "\n" not in caught.value.message
    return caught.value.message.removeprefix(f"{folder}{os.sep}"), caught.value.hint


# What is read


def test_long_form_averages_episodes_and_orders_seeds_and_games(tmp_path: Path) -> None:
    table = read(
        tmp_path,
        "agent,game,seed,episode,score,frames\n"
        "b,Q*bert,10,0,100,2e8\n"
        "b,Q*bert,2,0,10,200000000\n"
        "b,ALE/Qbert-v5,10,1,300,2e8\n"
        "a,Pong,0,0,-21,\n"
        "b,pong,0,0,21,2e8\n",
    )
    assert plain(table) == {
        "b": ({"pong": [21.0], "qbert": [10.0, 200.0]}, 200_000_000),
        "a": ({"pong": [-21.0]}, None),
    }
    assert list(table.agents[0].scores) == ["pong", "qbert"]
    assert table.agents[0].scores["qbert"].dtype == np.float64
    assert table.source == str(tmp_path / "t.csv")


def test_agent_and_seed_may_be_left_out(tmp_path: Path) -> None:
    assert plain(read(tmp_path, "game,score\npong,3\n", "my agent.csv.gz")) == {
        "my agent": ({"pong": [3.0]}, None)
    }


@pytest.mark.parametrize(
    "header",
    [
        "agent,game,seed,score",
        "Agent,GAME,Seed,Score",
        " Algorithm , Env ID , run_id , Episodic Return ",
        '"model","rom","run","scores"',
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_are_matched_forgivingly(tmp_path: Path, header: str, delimiter: str) -> None:
    content = f"{header}\na,pong,4,1.5\n".replace(",", delimiter)
    assert plain(read(tmp_path, content)) == {"a": ({"pong": [1.5]}, None)}


def test_other_columns_are_ignored_and_named(tmp_path: Path) -> None:
    table = read(tmp_path, ",game,score,date,note\n0,pong,1,2024-01-01,\n")
    assert plain(table) == {"t": ({"pong": [1.0]}, None)}
    assert table.ignored_columns == ("date", "note")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("game,a,b\nPong,1,2\nBreakout,,3\n", "t.csv"),
        (",a,b\nPong,1,2\nBreakout,,3\n", "t.csv"),
        ("agent,Pong,Breakout\na,1,\nb,2,3\n", "t.csv"),
        ("\tPong\tBreakout\na\t1\t\nb\t2\t3\n", "t.tsv"),
        ('{"a": {"Pong": 1}, "b": {"Pong": [2], "Breakout": 3}}', "t.json"),
        ('[{"game":"pong","a":1,"b":2},{"game":"breakout","a":null,"b":3}]', "t.json"),
        (
            '[{"agent":"a","game":"pong","score":1},{"agent":"b","game":"pong","score":"2"},'
            '{"agent":"b","game":"breakout","score":3}]',
            "t.txt",
        ),
    ],
)
def test_wide_forms_and_json_say_the_same(tmp_path: Path, content: str, name: str) -> None:
    assert plain(read(tmp_path, content, name)) == {
        "a": ({"pong": [1.0]}, None),
        "b": ({"breakout": [3.0], "pong": [2.0]}, None),
    }


def test_json_of_one_agent_with_seeds(tmp_path: Path) -> None:
    table = read(tmp_path, '{"Pong": [20.5, 19], "qbert": 1e3}', "mine.json")
    assert plain(table) == {"mine": ({"pong": [20.5, 19.0], "qbert": [1000.0]}, None)}


GOOD = "game,score\npong,1\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        gzip.compress(GOOD.encode()),
        GOOD.replace("\n", "\r\n").encode(),
        b"\n\n" + GOOD.encode() + b"\n\n",
        GOOD.rstrip("\n").encode(),
        b'game,score,note\npong,1,"two\nlines"\n',
    ],
)
def test_harmless_differences_of_files(tmp_path: Path, content: bytes) -> None:
    assert plain(read(tmp_path, content)) == {"t": ({"pong": [1.0]}, None)}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    table = score_files.read_scores(Path("-"))
    assert plain(table) == {"stdin": ({"pong": [1.0]}, None)}
    assert table.source == "stdin"


def test_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(GOOD,))
    writer.start()
    assert plain(score_files.read_scores(path)) == {"pipe": ({"pong": [1.0]}, None)}
    writer.join()


# Errors


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("", "t.csv: is empty", None),
        (" \n\n", "t.csv: is empty", None),
        ("game,score\n", "t.csv: holds no scores", "write rows with scores under the header"),
        ("game,a\npong,\n", "t.csv: holds no scores", "write rows with scores under the header"),
        (
            "agent,game,seed\na,pong,0\n",
            "t.csv, line 1: no column 'score'",
            f"{FORMS_HINT}; columns found: agent, game, seed",
        ),
        (
            "\npong,21\nqbert,3\n",
            "t.csv, line 2: no column 'game'",
            f"{FORMS_HINT}; columns found: pong, 21",
        ),
        (
            "game,scoer\npong,1\n",
            "t.csv, line 1: column 'scoer' looks like 'score'",
            "rename it to 'score', or drop it if it is something else",
        ),
        (
            "game,sed,score\npong,0,1\n",
            "t.csv, line 1: column 'sed' looks like 'seed'",
            "rename it to 'seed', or drop it if it is something else",
        ),
        (
            "game,score,Return\npong,0,1\n",
            "t.csv, line 1: columns 'score' and 'Return' both mean 'score'",
            "keep one of them",
        ),
        (
            "game,a,a\npong,0,1\n",
            "t.csv, line 1: agent 'a' has two columns",
            "keep one of them",
        ),
        (
            "agent,pong,Pong\na,0,1\n",
            "t.csv, line 1: game 'pong' has two columns",
            "keep one of them",
        ),
        (
            "game,a,\npong,0,1\n",
            "t.csv, line 1: column 3 has no name",
            "write the agent's name",
        ),
        (
            "agent,pong,brekout\na,0,1\n",
            "t.csv, line 1: unknown game 'brekout'",
            "did you mean 'breakout'? mlscale atari games lists them",
        ),
        (
            "agent,seed,pong\na,0,1\n",
            "t.csv, line 1: a wide table has no 'seed' column",
            FORMS_HINT,
        ),
        (
            "game,score\npong,1\npnog,1\n",
            "t.csv, line 3: unknown game 'pnog'",
            "did you mean 'pong'? mlscale atari games lists them",
        ),
        (
            "game,score\nCarnival,1\n",
            "t.csv, line 2: game 'Carnival' is not one of the 57",
            "no random, human or record score ships for it; leave it out",
        ),
        ("game,score\n,1\n", "t.csv, line 2: blank game", "write the game's name"),
        ("agent,game,score\n ,pong,1\n", "t.csv, line 2: blank agent", "write the agent's name"),
        ("game,score\npong,\n", "t.csv, line 2: blank score", LEAVE_OUT),
        ("game,score\npong,abc\n", "t.csv, line 2: score 'abc' is not a number", PLAIN_NUMBER),
        ("game,score\npong,1_0\n", "t.csv, line 2: score '1_0' is not a number", PLAIN_NUMBER),
        ('game,score\npong,"1,5"\n', "t.csv, line 2: score '1,5' is not a number", PLAIN_NUMBER),
        ("game,score\npong,NaN\n", "t.csv, line 2: score 'NaN' is not finite", LEAVE_OUT),
        ("game,score\npong,-inf\n", "t.csv, line 2: score '-inf' is not finite", LEAVE_OUT),
        ("game,a\npong,1e999\n", "t.csv, line 2: score '1e999' is not finite", LEAVE_OUT),
        (
            "game,score\npong,1e16\n",
            "t.csv, line 2: score '1e16' is larger than any game's",
            "is it game points?",
        ),
        (
            "game,seed,score\npong,,1\n",
            "t.csv, line 2: blank seed",
            "write a whole number, or drop the seed column",
        ),
        (
            "game,seed,score\npong,first,1\n",
            "t.csv, line 2: seed 'first' is not a whole number",
            None,
        ),
        (
            "game,episode,score\npong,0.5,1\n",
            "t.csv, line 2: episode '0.5' is not a whole number",
            None,
        ),
        (
            "game,seed,score\npong,8796093022208,1\n",
            "t.csv, line 2: seed '8796093022208' is too large",
            "number the seeds from 0; the limit is 8,796,093,022,208",
        ),
        ("game,seed,score\npong,nan,1\n", "t.csv, line 2: seed 'nan' is not a whole number", None),
        (
            "game,score,frames\npong,1,lots\n",
            "t.csv, line 2: frames 'lots' is not a count",
            "write a whole number, as in 200000000 or 2e8, or leave it blank",
        ),
        (
            "agent,game,score,frames\na,pong,1,2e8\na,qbert,1,2e6\n",
            "t.csv, line 3: frames 2e6 for agent 'a', 2e8 before",
            "training frames are one number per agent; name another budget another agent",
        ),
        (
            "agent,game,score,frames\na,pong,1,2e8\na,qbert,1,\n",
            "t.csv, line 3: frames (blank) for agent 'a', 2e8 before",
            "training frames are one number per agent; name another budget another agent",
        ),
        (
            "game,score\npong,1\npong,1,2\n",
            "t.csv, line 3: 3 cells where the header has 2",
            "write a cell that holds a delimiter in double quotes",
        ),
        (
            'note,game,score\n"a\nb",pong,1\npong\n',
            "t.csv, line 4: 1 cell where the header has 3",
            "write a cell that holds a delimiter in double quotes",
        ),
        (
            "game,score\npong,1\nqbert,2\nPong,3\n",
            "t.csv: lines 2 and 4 both give agent 't', game 'pong', seed 0",
            NUMBER_THEM,
        ),
        (
            "agent,game,seed,score\na,pong,1,1\nb,pong,1,1\na,pong,1.0,3\n",
            "t.csv: lines 2 and 4 both give agent 'a', game 'pong', seed 1",
            NUMBER_THEM,
        ),
        (
            "game,episode,score\npong,0,1\npong,1,1\npong,1,1\n",
            "t.csv: lines 3 and 4 both give agent 't', game 'pong', seed 0, episode 1",
            "remove one of them",
        ),
        (
            "game,a,b\npong,,1\nPong,2,3\n",
            "t.csv: lines 2 and 3 both give agent 'b', game 'pong'",
            "a wide table holds one score of each; write long form with a seed column for more",
        ),
        ("game,score\npong,1\0\n", "t.csv, line 2: holds a NUL byte", "the file may be damaged"),
        (
            b"game,score\npong,1\nqb\xe9rt,2\n",
            "t.csv, line 3: byte 0xe9 is not UTF-8",
            SAVE_UTF8,
        ),
        ("game,score\npong,1\n".encode("utf-16"), "t.csv: is UTF-16, not UTF-8", SAVE_UTF8),
        (
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            "t.csv: is a binary file, not a table",
            "a table is CSV, TSV or JSON text",
        ),
        (
            gzip.compress(b"game,score\npong,1\n")[:-9],
            "t.csv: is damaged: it cannot be unpacked",
            "gzip --test says more",
        ),
        (
            "game,score\rpong,1\r",
            "t.csv, line 1: cannot be read as a row of cells",
            "is a quote never closed, or do the lines end without a line feed?",
        ),
        (
            "game,score\n" + "x" * (tabular.MAX_LINE_BYTES + 1),
            "t.csv, line 2: longer than 1,000,000 bytes; is this a table?",
            None,
        ),
        (
            'game,score\npong,"1\n' + "pong,1\n" * 20_000,
            "t.csv, line 2: cannot be read as a row of cells",
            "is a quote never closed, or do the lines end without a line feed?",
        ),
    ],
)
def test_csv_errors(tmp_path: Path, content: str | bytes, message: str, hint: str | None) -> None:
    assert error(tmp_path, content) == (message, hint)


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("", "t.json: is empty", None),
        ('[{"game": "pong",\n]', "t.json, line 2: not JSON (Expecting property name enclosed in "
         "double quotes)", None),
        ("3", "t.json: not a score table", SHAPES_HINT),
        ("[]", "t.json: not a score table", SHAPES_HINT),
        ("{}", "t.json: not a score table", SHAPES_HINT),
        ("[1]", "t.json, entry 1: not an object", SHAPES_HINT),
        ('{"a": {"pong": "x"}}', "t.json: 'a', 'pong': not a number or a list of numbers",
         SHAPES_HINT),
        ('{"pong": []}', "t.json: 't', 'pong': not a number or a list of numbers", SHAPES_HINT),
        ('{"pong": true}', "t.json: 't', 'pong': not a number or a list of numbers", SHAPES_HINT),
        ('{"pong": [1, NaN]}', "t.json, score 2: score 'nan' is not finite", LEAVE_OUT),
        ('{"pong": 1' + "0" * 9999 + "}", "t.json, score 1: score 'inf' is not finite", LEAVE_OUT),
        ('{"pong": 1, "pong": 2}', "t.json: key 'pong' is given twice in one object", None),
        ('{"pong": 1, "Pong": 2}',
         "t.json: scores 1 and 2 both give agent 't', game 'pong', seed 0", NUMBER_THEM),
        ('[{"game": "pong", "score": 1}, {"game": "pong", "score": 1}]',
         "t.json: entries 1 and 2 both give agent 't', game 'pong', seed 0", NUMBER_THEM),
        ('[{"game": "pong", "score": 1}, {"game": "qbert"}]', "t.json, entry 2: blank score",
         LEAVE_OUT),
        ('[{"game": "pong", "score": false}]', "t.json, entry 1: score 'False' is not a number",
         PLAIN_NUMBER),
        ('[{"game": "pong"}]', "t.json: no column 'score'", f"{FORMS_HINT}; columns found: game"),
        (b'{"p\xe9": 1}', "t.json, line 1: byte 0xe9 is not UTF-8", SAVE_UTF8),
        ("[" * 100_000, "t.json: JSON is nested too deeply", None),
    ],
)  # fmt: skip
def test_json_errors(tmp_path: Path, content: str | bytes, message: str, hint: str | None) -> None:
    assert error(tmp_path, content, "t.json") == (message, hint)


def test_large_json_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "MAX_JSON_BYTES", 10)
    assert error(tmp_path, '{"pong":  1}', "t.json") == (
        "t.json: too large to be read as JSON",
        "write it as CSV, which is streamed",
    )


def test_a_missing_file_with_a_near_miss(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(GOOD)
    with pytest.raises(UserError, match=r"scroes.csv: no such file$") as caught:
        score_files.read_scores(tmp_path / "scroes.csv")
    assert caught.value.hint == "did you mean 'scores.csv'?"


def test_a_missing_file_in_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"t.csv: no such file$") as caught:
        score_files.read_scores(tmp_path / "nowhere" / "t.csv")
    assert caught.value.hint is None


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape(f"{tmp_path}: is a folder")) as caught:
        score_files.read_scores(tmp_path)
    assert caught.value.hint == "name the table inside it"


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match=r"t.csv: cannot be read \(Permission denied\)$"):
        score_files.read_scores(tmp_path / "t.csv")


def test_too_many_agents(tmp_path: Path) -> None:
    rows = "".join(f"{place},pong,1\n" for place in range(score_sums.MAX_AGENTS + 1))
    assert error(tmp_path, "agent,game,score\n" + rows) == (
        "t.csv, line 10002: more than 10,000 agents",
        "is the agent column the right one?",
    )


# The fast reader


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every file go to the fast reader, in small blocks; list how it ended."""
    outcomes: list[str] = []
    read_fast = score_files._read_fast

    def watched(*args: object) -> score_files.ScoreTable:
        try:
            table = read_fast(*args)  # type: ignore[arg-type]
        except score_fast.Doubt:
            outcomes.append("doubt")
            raise
        outcomes.append("read")
        return table

    monkeypatch.setattr(score_files, "FAST_FROM_BYTES", 0)
    monkeypatch.setattr(score_fast, "BLOCK_BYTES", 200)
    monkeypatch.setattr(score_files, "_read_fast", watched)
    return outcomes


def large_table() -> str:
    lines = ["agent,game,seed,episode,score,frames"]
    lines += [
        f"a{agent},{game.display_name},{seed},{episode},{agent + seed * episode},{agent + 1}e6"
        for episode, agent, game, seed in itertools.product(
            range(3), range(2), all_games()[:9], range(2)
        )
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_fast_reader_agrees_with_the_exact_one(
    tmp_path: Path, fast: list[str], monkeypatch: pytest.MonkeyPatch, pack: type
) -> None:
    content = pack(large_table().encode())
    quick = plain(read(tmp_path, content))
    assert fast == ["read"]
    monkeypatch.setattr(score_files, "FAST_FROM_BYTES", 10**9)
    exact = plain(read(tmp_path, content))
    assert list(quick.items()) == list(exact.items())
    assert quick["a1"][0]["alien"] == [1.0, 2.0]
    assert quick["a1"][1] == 2_000_000


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a0,pong,0,0,x,1e6", "t.csv, line 110: score 'x' is not a number"),
        ("a0,pong,0,0,nan,1e6", "t.csv, line 110: score 'nan' is not finite"),
        ("a0,pong,0,0,,1e6", "t.csv, line 110: blank score"),
        ("a0,pong,0x1,0,1,1e6", "t.csv, line 110: seed '0x1' is not a whole number"),
        ("a0,pong,0,0.5,1,1e6", "t.csv, line 110: episode '0.5' is not a whole number"),
        ("a0,pnog,0,0,1,1e6", "t.csv, line 110: unknown game 'pnog'"),
        ("a0,po\0ng,0,0,1,1e6", "t.csv, line 110: holds a NUL byte"),
        (",pong,0,0,1,1e6", "t.csv, line 110: blank agent"),
        ("a0,pong,0,0,1,3e6", "t.csv, line 110: frames 3e6 for agent 'a0', 1e6 before"),
        ("a0,pong,0,0,1", "t.csv, line 110: 5 cells where the header has 6"),
    ],
)
def test_the_fast_reader_leaves_errors_to_the_exact_one(
    tmp_path: Path, fast: list[str], row: str, message: str
) -> None:
    assert error(tmp_path, large_table() + row + "\n")[0] == message
    assert fast == ["doubt"]


def test_rows_given_twice_in_a_large_file(tmp_path: Path, fast: list[str]) -> None:
    content = large_table()
    twice = content.splitlines()[50]
    assert error(tmp_path, content + twice + "\n")[0] == (
        "t.csv: lines 51 and 110 both give agent 'a0', game 'bank_heist', seed 1, episode 1"
    )


def test_equal_hashes_of_unequal_rows_are_no_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = large_table()
    honest = plain(read(tmp_path, content))
    monkeypatch.setattr(score_sums, "_mixed", lambda key_R: key_R * np.uint64(0))
    assert plain(read(tmp_path, content)) == honest


def test_sums_are_the_same_however_often_they_are_merged(
    tmp_path: Path, fast: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rarely = plain(read(tmp_path, large_table()))
    monkeypatch.setattr(score_sums, "_MERGE_AT_ROWS", 1)
    assert plain(read(tmp_path, large_table())) == rarely
    assert fast == ["read", "read"]


# Round trips

AGENTS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x24F, exclude_characters="\x7f"), min_size=1
).filter(lambda name: name.isprintable())
SCORES = st.floats(-1e12, 1e12)
TABLES = st.dictionaries(
    AGENTS,
    st.dictionaries(
        st.sampled_from(all_games()),
        st.lists(SCORES, min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=3,
)


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("fast_from_bytes", [0, 10**9])
@given(tables=TABLES)
@settings(max_examples=25, deadline=None)
def test_what_is_written_in_long_form_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    fast_from_bytes: int,
    tables: dict[str, dict[Game, list[float]]],
) -> None:
    lines = ["agent,game,seed,score"]
    lines += [
        f"{quoted(agent)},{game.ale_id},{seed},{score!r}"
        for agent, by_game in tables.items()
        for game, scores in by_game.items()
        for seed, score in enumerate(scores)
    ]
    expected = {
        agent: ({game.rom_id: scores for game, scores in by_game.items()}, None)
        for agent, by_game in tables.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_files, "FAST_FROM_BYTES", fast_from_bytes)
        table = read(tmp_path_factory.mktemp("t"), "\n".join(lines))
    assert plain(table) == expected


@given(
    games=st.lists(st.sampled_from(all_games()), min_size=1, max_size=5, unique=True),
    data=st.data(),
)
@settings(max_examples=25, deadline=None)
def test_wide_and_long_forms_are_equal(
    tmp_path_factory: pytest.TempPathFactory, games: list[Game], data: st.DataObject
) -> None:
    scores = data.draw(
        st.lists(st.tuples(SCORES, SCORES), min_size=len(games), max_size=len(games))
    )
    rows = list(zip(games, scores, strict=True))
    folder = tmp_path_factory.mktemp("t")
    long = ["agent,game,score"]
    long += [f"x,{g.rom_id},{a!r}" for g, (a, _) in rows]
    long += [f"y,{g.rom_id},{b!r}" for g, (_, b) in rows]
    by_game = ["game,x,y", *(f"{g.display_name},{a!r},{b!r}" for g, (a, b) in rows)]
    by_agent = [
        ",".join(["agent", *(g.rom_id for g in games)]),
        ",".join(["x", *(repr(a) for a, _ in scores)]),
        ",".join(["y", *(repr(b) for _, b in scores)]),
    ]
    read_back = [plain(read(folder, "\n".join(form))) for form in (long, by_game, by_agent)]
    assert read_back[0] == read_back[1] == read_back[2]
