"""Result documents: plain JSON, valid against the schema, without NaN."""

import json
import math
from importlib import resources
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core import environment
from mlscale.core.files import to_json
from mlscale.core.results import Metric, Result, clean, to_document

SCHEMA = json.loads((resources.files("mlscale.core") / "result.schema.json").read_text())


def document(result: Result, **config: Any) -> dict[str, Any]:
    return to_document(
        result,
        seed=0,
        config=config,
        artifacts=[],
        elapsed_s=1.23456,
        environment=environment.describe(),
    )


def test_a_full_document_is_valid_and_keeps_what_it_was_given() -> None:
    result = Result(
        study="atari.eval",
        metrics={
            "iqm": Metric(np.float64(0.41), "record-normalised", 5, (0.33, 0.5)),
            "median": Metric(None, "record-normalised", 0),
        },
        protocol={"frame_skip": 4},
        tables={"games": [{"game": "pong", "scores": np.array([1.0, np.nan])}]},
        notes=("said once",),
    )
    made = document(result, steps=3)
    jsonschema.validate(json.loads(to_json(made)), SCHEMA)
    assert made["metrics"] == {
        "iqm": {"value": 0.41, "ci95": [0.33, 0.5], "n": 5, "unit": "record-normalised"},
        "median": {"value": None, "ci95": None, "n": 0, "unit": "record-normalised"},
    }
    assert made["tables"] == {"games": [{"game": "pong", "scores": [1.0, None]}]}
    assert (made["status"], made["elapsed_s"], made["config"]) == ("complete", 1.235, {"steps": 3})


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float32("-inf")])
def test_a_metric_that_diverged_is_null_and_the_result_failed(value: float) -> None:
    made = document(Result(study="a", metrics={"loss": Metric(value, "nats", 1, (value, 0.5))}))
    assert made["status"] == "failed"
    assert made["metrics"]["loss"]["value"] is None
    assert made["metrics"]["loss"]["ci95"] == [None, 0.5]


def test_a_metric_that_could_not_be_had_does_not_fail_the_result() -> None:
    assert document(Result(study="a", metrics={"x": Metric(None, "s", 0)}))["status"] == "complete"
    diverged = {"x": Metric(math.nan, "s", 1)}
    made = document(Result(study="a", metrics=diverged, status="interrupted"))
    assert made["status"] == "interrupted"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.floats().map(np.float64)
    | st.floats(width=32).map(np.float32)
    | st.integers(-5, 5).map(np.int64)
    | st.booleans().map(np.bool_)
    | st.lists(st.floats(), max_size=3).map(np.array),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(anything)
def test_nothing_cleaned_fails_as_strict_json_and_cleaning_twice_changes_nothing(
    value: Any,
) -> None:
    cleaned = clean(value)
    assert json.loads(to_json(cleaned)) == cleaned
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "mlscale.result/2"},
        {"study": "Atari Eval"},
        {"status": "done"},
        {"seed": "0"},
        {"metrics": {"x": {"value": 1.0, "unit": "s", "n": 1}}},
        {"metrics": {"x": {"value": 1.0, "unit": "s", "n": 1, "ci95": [1.0]}}},
        {"elapsed_s": None},
        {"extra": 1},
    ],
)
def test_the_schema_refuses_what_is_no_result(change: dict[str, Any]) -> None:
    made = document(Result(study="a"))
    jsonschema.validate(made, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made | change, SCHEMA)


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
