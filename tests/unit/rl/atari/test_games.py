"""The 57 games and the forgiving match of their names."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.rl.atari import games

LISTING = "mlscale atari games lists them"


def spellings(game: games.Game) -> list[str]:
    camel = game.ale_id.removeprefix("ALE/").removesuffix("-v5")
    return [
        game.rom_id,
        game.ale_id,
        game.display_name,
        camel,
        game.ale_id.lower(),
        game.rom_id.upper(),
        game.rom_id.replace("_", " "),
        f"{camel}NoFrameskip-v4",
        f"{camel}Deterministic-v4",
        f"{camel}-ramDeterministic-v0",
        f"{camel}-v0",
        f"  {game.display_name} ",
    ]


def test_there_are_57_games_and_all_but_surround_have_a_record() -> None:
    all_games = games.all_games()
    assert len({game.rom_id for game in all_games}) == 57
    assert [game.rom_id for game in all_games if game.record is None] == ["surround"]
    assert all(game.human > game.random for game in all_games)
    assert all(game.record > game.random for game in all_games if game.record is not None)


def test_a_game_is_read_as_the_table_has_it() -> None:
    assert games.find_game("jamesbond") == games.Game(
        "jamesbond", "ALE/Jamesbond-v5", "James Bond", 29.0, 302.8, 45550.0
    )
    assert games.find_game("video_pinball").random == 0.0


@pytest.mark.parametrize("game", games.all_games(), ids=lambda game: game.rom_id)
def test_every_spelling_finds_its_game_and_folding_is_idempotent(game: games.Game) -> None:
    for name in spellings(game):
        assert games.find_game(name) is game
        assert games.fold_name(games.fold_name(name)) == games.fold_name(name)


@given(st.text())
def test_folding_is_idempotent_on_any_text(name: str) -> None:
    assert games.fold_name(games.fold_name(name)) == games.fold_name(name)


@pytest.mark.parametrize(
    ("name", "rom_id"),
    [
        ("Up'n Down", "up_n_down"),
        ("Up\u2019n Down", "up_n_down"),
        ("Up and Down", "up_n_down"),
        ("Q*Bert", "qbert"),
        ("H.E.R.O.", "hero"),
        ("JamesBond", "jamesbond"),
        ("James Bond 007", "jamesbond"),
        ("Stargunner", "star_gunner"),
        ("Robot Tank", "robotank"),
        ("Battlezone", "battle_zone"),
        ("Beamrider", "beam_rider"),
        ("Yars' Revenge", "yars_revenge"),
        ("Ms. Pac-Man", "ms_pacman"),
        ("Montezuma's Revenge", "montezuma_revenge"),
        ("montezuma", "montezuma_revenge"),
        ("Kung-Fu Master", "kung_fu_master"),
        ("River Raid", "riverraid"),
        ("RiverRaid", "riverraid"),
        ("Private Eye", "private_eye"),
        ("Pitfall!", "pitfall"),
        ("Wizard Of Wor", "wizard_of_wor"),
    ],
)
def test_printed_names(name: str, rom_id: str) -> None:
    assert games.find_game(name).rom_id == rom_id
    assert games.is_game(name)


def test_ids_are_the_emulators() -> None:
    roms = pytest.importorskip("ale_py.roms")
    ours = {game.rom_id for game in games.all_games()}
    assert ours <= set(roms.get_all_rom_ids())
    assert set(roms.get_all_rom_ids()) - ours == games._OTHER_ROMS


def test_an_unknown_game_is_an_error_with_a_near_miss() -> None:
    with pytest.raises(UserError, match=r"^unknown game 'Brekout'$") as caught:
        games.find_game("Brekout")
    assert caught.value.hint == f"did you mean 'breakout'? {LISTING}"


def test_a_name_like_none_is_an_error_that_says_where_they_are_listed() -> None:
    with pytest.raises(UserError, match=r"^unknown game '12345'$") as caught:
        games.find_game("12345")
    assert caught.value.hint == LISTING


def test_a_game_outside_the_57_is_no_misspelling() -> None:
    with pytest.raises(
        UserError, match=r"^game 'ALE/MarioBros-v5' is not one of the 57$"
    ) as caught:
        games.find_game("ALE/MarioBros-v5")
    assert caught.value.hint == "no random, human or record score ships for it; leave it out"


@pytest.mark.parametrize(
    ("text", "rom_ids"),
    [
        ("pong,breakout", ["pong", "breakout"]),
        (" Pong , ALE/Pong-v5,, breakout,PONG", ["pong", "breakout"]),
        ("atari5", ["battle_zone", "double_dunk", "name_this_game", "phoenix", "qbert"]),
        ("qbert,Atari-5", ["qbert", "battle_zone", "double_dunk", "name_this_game", "phoenix"]),
    ],
)
def test_lists_of_games_keep_their_order_and_lose_repeats(text: str, rom_ids: list[str]) -> None:
    assert [game.rom_id for game in games.parse_games(text)] == rom_ids


def test_atari57_is_all_of_them() -> None:
    assert games.parse_games("atari57") == games.all_games()


@pytest.mark.parametrize("text", ["", " ", ",,"])
def test_an_empty_list_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match=r"^no game is named$") as caught:
        games.parse_games(text)
    assert caught.value.hint == f"write atari57, atari5 or names; {LISTING}"


def test_games_records_and_published_agents_do_without_numpy() -> None:
    code = (
        "import sys; from mlscale.rl.atari import games, published, records, export; "
        "records.shipped_reference(); published.published_agents(); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
