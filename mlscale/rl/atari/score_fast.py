"""The fast reader of large, clean, long-form CSV files, by Arrow's CSV parser.

It either agrees with `score_rows` on every row or raises `Doubt`; it explains nothing, since
Arrow knows no line numbers.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.errors import UserError
from mlscale.rl.atari.score_rows import MAX_SCORE
from mlscale.rl.atari.score_sums import EPISODE_LIMIT, SEED_LIMIT, Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mlscale.rl.atari.score_layout import LongLayout
    from mlscale.rl.atari.score_rows import Names
    from mlscale.rl.atari.tabular import TableFile

BLOCK_BYTES = 1_000_000  # no slower than larger ones, which cost Arrow a hundred megabytes

_TEXT_COLUMNS = ("agent", "game", "frames")


class Doubt(Exception):
    """Something that only the exact reader can judge."""


def read_batches(
    file: TableFile, layout: LongLayout, header: Sequence[str], delimiter: str, names: Names
) -> Iterator[Batch]:
    """Yield the scores of a table whose header is its first line.

    Args:
        file: The table.
        layout: What the columns mean.
        header: Column names.
        delimiter: What parts the cells.
        names: Filled with the agents met.

    Raises:
        Doubt: Anything is out of the ordinary.
    """
    import pyarrow as pa  # type: ignore[import-untyped]  # no stubs
    import pyarrow.csv as pa_csv  # type: ignore[import-untyped]

    places = [str(place) for place in range(len(header))]
    text = pa.dictionary(pa.int32(), pa.string())
    types = {
        str(place): text if meaning in _TEXT_COLUMNS else pa.float64()
        for meaning, place in layout.columns.items()
    }
    try:
        with (
            file.open() as stream,
            pa_csv.open_csv(
                stream,
                read_options=pa_csv.ReadOptions(
                    column_names=places, skip_rows=1, block_size=BLOCK_BYTES
                ),
                parse_options=pa_csv.ParseOptions(delimiter=delimiter),
                convert_options=pa_csv.ConvertOptions(
                    column_types=types, include_columns=list(types), null_values=[]
                ),
            ) as reader,
        ):
            for block in reader:
                if block.num_rows:
                    yield _batch(file, layout, block, names)
    except (pa.ArrowException, UserError, OSError, EOFError, zlib.error) as problem:
        raise Doubt from problem


def _batch(file: TableFile, layout: LongLayout, block: Any, names: Names) -> Batch:
    def column(meaning: str) -> Any:
        return block.column(str(layout.columns[meaning])) if meaning in layout.columns else None

    agent = column("agent")
    if agent is None:
        agent_R = np.full(block.num_rows, names.agent_code(file.stem), np.int64)
    else:
        agent_R = _codes(agent, names.agent_code)
    if column("frames") is not None:
        _note_frames(agent_R, column("frames"), names)
    seed, episode = column("seed"), column("episode")
    return Batch(
        agent_R,
        _codes(column("game"), names.game_code),
        np.zeros(block.num_rows, np.int64) if seed is None else _whole(seed, SEED_LIMIT),
        None if episode is None else _whole(episode, EPISODE_LIMIT),
        _checked(column("score"), MAX_SCORE),
    )


def _codes(column: Any, code_of: Callable[[str], int]) -> NDArray[np.int64]:
    """Return (R,) codes of a dictionary-encoded text column."""
    codes = [code_of(_clean(text)) for text in column.dictionary.to_pylist()]
    return np.array(codes, np.int64)[_indices(column)]


def _clean(text: str) -> str:
    if not text.isprintable():
        raise Doubt
    return text.strip()


def _indices(column: Any) -> NDArray[np.int32]:
    return np.asarray(np.from_dlpack(column.indices), np.int32)


def _note_frames(agent_R: NDArray[np.int64], frames: Any, names: Names) -> None:
    texts = frames.dictionary.to_pylist()
    for pair in np.unique(agent_R * len(texts) + _indices(frames)):
        agent, place = divmod(int(pair), len(texts))
        names.note_frames(agent, _clean(texts[place]))


def _checked(column: Any, limit: float) -> NDArray[np.float64]:
    """Return (R,) finite numbers of size up to `limit`."""
    value_R = np.asarray(np.from_dlpack(column), np.float64)  # Arrow's to_numpy imports pandas
    if not (np.abs(value_R) <= limit).all():  # not "any over it": NaN compares false
        raise Doubt
    return value_R


def _whole(column: Any, limit: int) -> NDArray[np.int64]:
    value_R = _checked(column, limit - 1)
    whole_R = value_R.astype(np.int64)
    if not (whole_R == value_R).all():
        raise Doubt
    return whole_R
