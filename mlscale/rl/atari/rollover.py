"""Repair of score counters that roll over.

The emulator's reward is the change of the score that it reads from the game's memory. When that
counter passes its largest value and starts again, the reward is the true one less the counter's
modulus: minus 999,950 instead of 50. An evaluation without a frame cap must add the modulus back.

Each modulus below follows from how the emulator reads the score of that game, and was confirmed
on the cartridge in ale-py 0.12.1: the counter was set just below its limit and played across it.
The 23 games that are not in the table:

- `assault`, `beam_rider`: the score stays at 999,999 and the game goes on;
- `chopper_command`, `seaquest`: the game ends at 999,900 and 999,999;
- `hero`, `kung_fu_master`: past 999,999 the score is replaced by marks that read as 1,222,221 and
  1,666,665 and never changes again. `without_marks` takes away what the marks add beyond 999,999;
- `asteroids`, `space_invaders`: the emulator repairs the roll-over itself;
- `centipede`, `crazy_climber`: it turns negative rewards into 0, so that a roll-over costs the
  reward of one frame, which is lost;
- `enduro`: its day counter is binary-coded decimal but read as binary, so that every tenth day
  adds 1,800 too much, and after day 99 the score starts again at 0; no modulus describes that;
- `bowling`, `boxing`, `breakout`, `double_dunk`, `fishing_derby`, `freeway`, `pitfall`, `pong`,
  `private_eye`, `skiing`, `surround`, `tennis`: a game ends before its counter does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_STEP_FRAC = 0.1
"""Largest true reward of one step that is told from a loss, as a share of the modulus."""

COUNTER_MODULUS: dict[str, int] = {
    "alien": 1_000_000,  # five digits, one a byte, x 10
    "amidar": 1_000_000,  # six BCD digits
    "asterix": 1_000_000,  # six BCD digits
    "atlantis": 100_000_000,  # six BCD digits x 100
    "bank_heist": 1_000_000,  # six BCD digits
    "battle_zone": 1_000_000,  # three digits x 1,000
    "berzerk": 1_000_000,  # six BCD digits
    "defender": 1_000_000,  # six digits, one a byte; clears all six, so points past 0 are lost
    "demon_attack": 1_000_000,  # six BCD digits
    "frostbite": 1_000_000,  # six BCD digits
    "gopher": 1_000_000,  # six BCD digits
    "gravitar": 1_000_000,  # six BCD digits
    "ice_hockey": 100,  # own goals scored, two BCD digits, in a difference that moves by 1
    "jamesbond": 1_000_000,  # six BCD digits
    "kangaroo": 1_000_000,  # four BCD digits x 100
    "krull": 1_000_000,  # six BCD digits
    "montezuma_revenge": 1_000_000,  # six BCD digits
    "ms_pacman": 1_000_000,  # six BCD digits; the last one turns 1 past 10,000, worth one point
    "name_this_game": 1_000_000,  # six BCD digits
    "phoenix": 1_000_000,  # five BCD digits x 10
    "qbert": 1_000_000,  # six BCD digits
    "riverraid": 1_000_000,  # six digits; shows marks that read as 0, then the game is over
    "road_runner": 1_000_000,  # four digits, one a byte, x 100
    "robotank": 3_072,  # squadrons of 12 tanks, counted in one binary byte
    "solaris": 10_000_000,  # six BCD digits x 10
    "star_gunner": 1_000_000,  # four digits, one a byte, x 100
    "time_pilot": 1_000_000,  # four BCD digits x 100
    "tutankham": 10_000,  # four BCD digits
    "up_n_down": 1_000_000,  # six BCD digits
    "venture": 1_000_000,  # four BCD digits x 100
    "video_pinball": 1_000_000,  # six BCD digits
    "wizard_of_wor": 200_000,  # four BCD digits x 100; from 10,000 on the top bit is only a flag
    "yars_revenge": 1_000_000,  # six BCD digits
    "zaxxon": 1_000_000,  # four BCD digits x 100
}
"""Points after which a game's counter starts again, by ROM id; absent where nothing is to repair.

Source: Arcade-Learning-Environment, `src/ale/games/supported`: `step()` of each game.
"""


MARKS_READ_AS: dict[str, int] = {"hero": 1_222_221, "kung_fu_master": 1_666_665}
"""What the emulator reads from the marks that replace a full counter, by ROM id, game points."""

FULL_COUNTER = 999_999


def without_marks(reward: int, score_before: int, marks_read_as: int) -> int:
    """Return the reward of a step, without the points that only the marks of a full counter give.

    Args:
        reward: Reward of the step, game points.
        score_before: Score of the episode before the step, game points.
        marks_read_as: `MARKS_READ_AS` of the game.

    Source: measured on the cartridges, as told in this file's docstring.
    """
    if score_before + reward == marks_read_as:
        return FULL_COUNTER - score_before
    return reward


def unwrap(reward: ArrayLike, modulus: ArrayLike) -> NDArray[np.float64]:
    """Return the rewards with the modulus added back where a counter rolled over.

    A reward is a roll-over when adding the modulus leaves something between 0 and a tenth of it.
    No game of the table gives so much in one agent step of four frames (in random play at most 1%
    of the modulus, one goal in `ice_hockey`; elsewhere up to 0.6%, mostly under 0.1%). None takes
    90% of its counter away: the only negative rewards seen were goals against in `ice_hockey`,
    and no score was set back at game over. All other rewards pass through.

    Args:
        reward: (...), game points of one step. Must not be clipped: a clipped roll-over is -1.
        modulus: scalar or any shape that broadcasts against `reward`, game points:
            `COUNTER_MODULUS.get(game, 0)`. 0 stands for a counter that does not roll over.

    Returns:
        (...), the repaired rewards.

    Raises:
        ValueError: A modulus is negative.

    Source: Toromanoff et al. 2019, "Is Deep Reinforcement Learning Really Superhuman on Atari?",
        whose code repairs rewards near -10^k; the rule and its threshold are ours.
    """
    raw = np.asarray(reward, dtype=np.float64)
    full = np.asarray(modulus, dtype=np.float64)
    if np.any(full < 0):
        raise ValueError(f"modulus must not be negative, got {modulus!r}")
    repaired = raw + full
    rolled_over = (repaired >= 0) & (repaired <= MAX_STEP_FRAC * full)
    return np.where(rolled_over, repaired, raw)
