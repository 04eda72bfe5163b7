"""The 57 games: their names, and the random, human and record scores that ship with mlscale.

Standard library only, since the command line imports this for its help.
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
import re
from dataclasses import dataclass

from mlscale.core.errors import UserError, unknown_name

BASELINE_SOURCES = {
    "random": "no-op-start random play, 30 minutes; google-deepmind/dqn_zoo atari_data.py "
    "(Video Pinball: 0, as in the Agent57 paper)",
    "human": "professional tester, 30-minute cap; google-deepmind/dqn_zoo atari_data.py",
    "record": "human world records of SABER (Toromanoff et al. 2019), as listed by DreamerV2",
}

GAME_LISTING = "mlscale atari games lists them"

ATARI_5 = ("battle_zone", "double_dunk", "name_this_game", "phoenix", "qbert")
"""Source: Aitchison et al. 2022, "Atari-5: Distilling the Arcade Learning Environment"."""

# Where the printed name is more than the ROM id with its words capitalised.
_DISPLAY_NAMES = {
    "hero": "H.E.R.O.",
    "jamesbond": "James Bond",
    "kung_fu_master": "Kung-Fu Master",
    "montezuma_revenge": "Montezuma's Revenge",
    "ms_pacman": "Ms. Pac-Man",
    "pitfall": "Pitfall!",
    "qbert": "Q*bert",
    "riverraid": "River Raid",
    "up_n_down": "Up'n Down",
    "wizard_of_wor": "Wizard of Wor",
    "yars_revenge": "Yars' Revenge",
}

# Spellings that papers use and that no rule leads back to the ROM id.
_ALIASES = {
    "jamesbond007": "jamesbond",
    "montezuma": "montezuma_revenge",
    "robottank": "robotank",
    "upanddown": "up_n_down",
}

# ROM ids of the other games of the emulator, to tell them from misspellings.
_OTHER_ROMS = frozenset((
    "adventure", "air_raid", "atlantis2", "backgammon", "basic_math", "blackjack", "carnival",
    "casino", "combat", "crossbow", "darkchambers", "donkey_kong", "earthworld",
    "elevator_action", "entombed", "et", "flag_capture", "frogger", "galaxian", "hangman",
    "haunted_house", "human_cannonball", "journey_escape", "joust", "kaboom", "keystone_kapers",
    "king_kong", "klax", "koolaid", "laser_gates", "lost_luggage", "mario_bros", "maze_craze",
    "miniature_golf", "mr_do", "othello", "pacman", "pitfall2", "pooyan", "sir_lancelot",
    "space_war", "superman", "tetris", "tic_tac_toe_3d", "trondead", "turmoil",
    "video_checkers", "video_chess", "video_cube", "warlords", "word_zapper",
))  # fmt: skip

_PREFIX = re.compile(r"^ALE/", re.IGNORECASE)
_SUFFIX = re.compile(r"(-ram)?(NoFrameskip|Deterministic)?-v\d+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Game:
    """One game of the 57.

    Attributes:
        rom_id: The emulator's name, as in `up_n_down`.
        ale_id: The Gymnasium id, as in `ALE/UpNDown-v5`.
        display_name: The name in print, as in `Up'n Down`.
        random: Score of random play, in game points.
        human: Score of the human tester, in game points.
        record: Human world record in game points, or None where none is registered.
    """

    rom_id: str
    ale_id: str
    display_name: str
    random: float
    human: float
    record: float | None


@functools.cache
def all_games() -> tuple[Game, ...]:
    """Return the 57 games in alphabetical order of their ROM ids."""
    return tuple(
        Game(
            rom_id=row["game"],
            ale_id=row["ale_id"],
            display_name=_display_name(row["game"]),
            random=float(row["random"]),
            human=float(row["human_average"]),
            record=float(row["human_world_record"]) if row["human_world_record"] else None,
        )
        for row in shipped_rows()
    )


@functools.cache
def shipped_rows() -> tuple[dict[str, str], ...]:
    """Return the rows of the shipped `data/scores.csv` as text by column name."""
    text = (importlib.resources.files(__package__) / "data" / "scores.csv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _display_name(rom_id: str) -> str:
    return _DISPLAY_NAMES.get(rom_id) or rom_id.replace("_", " ").title()


def fold_name(name: str) -> str:
    """Return what two spellings of one name share: lower-case letters and digits.

    The environment's prefix and version (`ALE/`, `NoFrameskip-v4`) go first.
    """
    bare = _SUFFIX.sub("", _PREFIX.sub("", name.strip()))
    return re.sub(r"[^a-z0-9]", "", bare.lower())


@functools.cache
def _games_by_folded_name() -> dict[str, Game]:
    games = {game.rom_id: game for game in all_games()}
    by_name = {
        fold_name(name): game
        for game in games.values()
        for name in (game.rom_id, game.ale_id, game.display_name)
    }
    return by_name | {alias: games[rom_id] for alias, rom_id in _ALIASES.items()}


def is_game(name: str) -> bool:
    """Say whether `name` is a spelling of one of the 57 games."""
    return fold_name(name) in _games_by_folded_name()


def find_game(name: str) -> Game:
    """Return the game that `name` spells.

    Args:
        name: ROM id, Gymnasium id of any version, or a name as papers print it.

    Raises:
        UserError: No such game, or an Atari game outside the 57.
    """
    game = _games_by_folded_name().get(fold_name(name))
    if game is not None:
        return game
    if fold_name(name) in {fold_name(rom) for rom in _OTHER_ROMS}:
        raise UserError(
            f"game {name!r} is not one of the 57",
            "no random, human or record score ships for it; leave it out",
        )
    choices = [game.rom_id for game in all_games()]
    raise unknown_name("game", name, choices, listing=GAME_LISTING)


def parse_games(text: str) -> tuple[Game, ...]:
    """Return the games that `text` names, each once, in the order given.

    Args:
        text: Names separated by commas; `atari57` and `atari5` stand for those sets.

    Raises:
        UserError: A name is unknown or no name is given.
    """
    chosen: dict[str, Game] = {}
    for name in filter(None, (part.strip() for part in text.split(","))):
        for game in _game_set(name):
            chosen.setdefault(game.rom_id, game)
    if not chosen:
        raise UserError("no game is named", f"write atari57, atari5 or names; {GAME_LISTING}")
    return tuple(chosen.values())


def _game_set(name: str) -> tuple[Game, ...]:
    match fold_name(name):
        case "atari57":
            return all_games()
        case "atari5":
            return tuple(find_game(rom_id) for rom_id in ATARI_5)
        case _:
            return (find_game(name),)
