"""Puts trained weights into the package.

`python -m mlscale.rl.dqn.atari.ship RUN... --evaluations RUN...`

For developers of mlscale, so it is no command of the toolkit. It lives beside what reads its
output, with which it shares the form of files and manifest. Every number in the manifest is
copied or computed from the runs; those already shipped for other games are kept.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlscale.core.config import from_dict
from mlscale.core.errors import MlscaleError, UserError
from mlscale.core.files import to_json, write_atomic
from mlscale.core.runs import read_run
from mlscale.rl.atari.agents.actions import offered_actions
from mlscale.rl.atari.games import find_game
from mlscale.rl.atari.protocols import PROTOCOLS
from mlscale.rl.dqn.atari import shipped
from mlscale.rl.dqn.atari.command_line import command_line
from mlscale.rl.dqn.atari.config import AtariTrainConfig
from mlscale.rl.dqn.atari.evaluated import read_evaluations
from mlscale.rl.dqn.atari.presets import TRAIN_PRESETS
from mlscale.rl.dqn.atari.trained import read_trained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.core.runs import StoredRun
    from mlscale.rl.dqn.atari.evaluated import Evaluation
    from mlscale.rl.dqn.atari.trained import Trained

FOLDER = Path(__file__).parent / "weights"
MAX_BYTES = 24_000_000
Manifest = dict[str, dict[str, dict[str, Any]]]


def ship(
    runs: Sequence[Path],
    evaluations: Sequence[Path],
    *,
    protocol: str = "saber",
    allow_dirty: bool = False,
    fresh: bool = False,
    folder: Path = FOLDER,
) -> Manifest:
    """Write the weights of some training runs, and the manifest, into the package.

    Args:
        runs: Finished runs of `mlscale atari train`.
        evaluations: Finished runs of `mlscale atari eval` that played them, together all of them.
        protocol: The one protocol trained and evaluated under.
        allow_dirty: Whether runs of uncommitted code are taken.
        fresh: Whether what was shipped before is dropped.
        folder: Where files and manifest go.

    Returns:
        The manifest's entries by agent and game.

    Raises:
        UserError: A run is not fit to ship; nothing was written.
    """
    trained = [read_trained(path) for path in runs]
    played = [evaluation for path in evaluations for evaluation in read_evaluations(path)]
    _check_pairs(trained, played)
    manifest: Manifest = {} if fresh else shipped.read_manifest(folder)
    data = {}
    for one in trained:
        (evaluation,) = (found for found in played if found.sha256 == one.sha256)
        for stored in (read_run(one.run), evaluation.stored):
            _check_run(stored, protocol, allow_dirty=allow_dirty)
        entry = _describe(one, evaluation)
        data[entry["file"]] = one.data
        manifest.setdefault(one.agent, {})[one.game] = entry
    _check_size(manifest)
    _write(folder, manifest, data)
    return manifest


def _check_pairs(trained: Sequence[Trained], played: Sequence[Evaluation]) -> None:
    """Refuse runs without an evaluation of these very weights, and evaluations of none of them.

    Runs of agents that do not ship are refused as well.

    An evaluation may hold further games, which are not shipped.
    """
    names = [(one.agent, one.game) for one in trained]
    for one in trained:
        if one.agent not in shipped.METHODS:
            raise UserError(
                f"{one.run} trained {one.agent}, and only {', '.join(shipped.METHODS)} ship"
            )
    for agent, game in names:
        if names.count((agent, game)) > 1:
            raise UserError(f"two of the runs trained {agent} on {game}")
    known = {one.sha256 for one in trained}
    useful = {evaluation.stored.path for evaluation in played if evaluation.sha256 in known}
    for evaluation in played:
        if evaluation.stored.path not in useful:
            raise UserError(f"{evaluation.stored.path} played other weights than those of the runs")
    digests = [evaluation.sha256 for evaluation in played]
    for one in trained:
        if digests.count(one.sha256) != 1:
            raise UserError(
                f"{one.run} needs one evaluation of its last checkpoint, and has "
                f"{digests.count(one.sha256)}",
                f"mlscale atari eval --ckpt {one.run}",
            )


def _check_run(stored: StoredRun, protocol: str, *, allow_dirty: bool) -> None:
    environment = stored.result["environment"]
    if stored.status != "complete":
        raise UserError(f"{stored.path} is not finished: it is {stored.status}")
    if stored.config["protocol"] != protocol:
        raise UserError(f"{stored.path} is of protocol {stored.config['protocol']}, not {protocol}")
    if (environment["dirty"] or not environment["git"]) and not allow_dirty:
        raise UserError(f"{stored.path} is no run of a clean commit", "--allow-dirty takes it")


def _describe(one: Trained, evaluation: Evaluation) -> dict[str, Any]:
    """Return the manifest's entry."""
    result = read_run(one.run).result
    config = from_dict(AtariTrainConfig, result["config"], where=str(one.run))
    if one.trained_frames < config.frames // 4 * 4:
        raise UserError(
            f"{one.run} was trained for {one.trained_frames:,} of {config.frames:,} frames"
        )
    environment = result["environment"]
    return {
        "file": f"{one.agent}-{one.game}.safetensors",
        "sha256": one.sha256,
        "bytes": len(one.data),
        "network": one.network,
        "action_ids": list(offered_actions(one.game, PROTOCOLS[one.protocol])),
        "protocol": one.protocol,
        "frames": one.trained_frames,
        "seed": one.seed,
        "training": {
            "command": command_line("mlscale atari train", config, TRAIN_PRESETS)
            or "mlscale atari train --config CONFIG.json",
            "config": result["config"],
            **{name: environment[name] for name in ("git", "dirty", "mlscale", "torch")},
            "final_return": result["metrics"].get("final_return"),
        },
        "evaluation": evaluation.described(one.agent),
        "random": find_game(one.game).random,
    }


def _check_size(manifest: Manifest) -> None:
    total = sum(entry["bytes"] for games in manifest.values() for entry in games.values())
    if total >= MAX_BYTES:
        raise UserError(f"the weights take {total:,} bytes in all, and {MAX_BYTES:,} is too many")


def _write(folder: Path, manifest: Manifest, data: Mapping[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for file, content in data.items():
        write_atomic(folder / file, content)
    ordered = {agent: dict(sorted(manifest[agent].items())) for agent in sorted(manifest)}
    document = {"schema": shipped.SCHEMA, "agents": ordered}
    write_atomic(folder / shipped.MANIFEST, to_json(document) + "\n")
    wanted = {entry["file"] for games in manifest.values() for entry in games.values()}
    for path in folder.glob("*.safetensors"):
        if path.name not in wanted:
            path.unlink()


def table(manifest: Manifest) -> str:
    """Return the scores as a Markdown table, for the documentation."""
    lines = ["| agent | game | score | 95 % interval | episodes | random |", "| --- " * 6 + "|"]
    for agent, games in sorted(manifest.items()):
        for game, entry in sorted(games.items()):
            evaluation = entry["evaluation"]
            ends = evaluation["ci95"]
            interval = f"{ends[0]:,.1f} to {ends[1]:,.1f}" if ends else "-"
            lines.append(
                f"| {agent} | {find_game(game).display_name} | {evaluation['mean']:,.1f} | "
                f"{interval} | {evaluation['episodes']} | {entry['random']:,.1f} |"
            )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Ship what the command line names, and print the scores; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m mlscale.rl.dqn.atari.ship", description=__doc__.splitlines()[0]
    )
    parser.add_argument("runs", nargs="+", type=Path, help="finished runs of mlscale atari train")
    parser.add_argument(
        "--evaluations", nargs="+", type=Path, required=True, help="evaluations of those runs"
    )
    parser.add_argument("--protocol", default="saber", choices=list(PROTOCOLS))
    parser.add_argument("--allow-dirty", action="store_true", help="take runs of uncommitted code")
    parser.add_argument("--fresh", action="store_true", help="drop what was shipped before")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write")
    given = vars(parser.parse_args(arguments))
    try:
        manifest = ship(**given)
    except MlscaleError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        sys.stderr.write(f"error: {error.message}{hint}\n")
        return error.exit_code
    sys.stdout.write(table(manifest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
