"""States of TensorFlow Lite models, kept from run to run with ``--state``."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import pytest

from tests.frontend_tflite.table import CASES


def test_a_variable_sums_up(tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.op == "READ_VARIABLE")
    (tmp_path / "m.tflite").write_bytes(case.content)
    model = ccml.load(tmp_path / "m.tflite", ccml.ModelOptions(states={"total": "total_next"}))
    x = case.feeds["x"]
    for runs in (1, 2, 3):
        np.testing.assert_allclose(model.run(x)["y"], x * runs, rtol=1e-6)


@pytest.mark.parametrize("label", ["f32", "i8-int8"])
def test_a_filter_goes_on_where_the_run_before_ended(tmp_path: Path, label: str) -> None:
    """The same as with states that are handed on as inputs."""
    (case,) = (case for case in CASES if (case.op, case.label) == ("SVDF", label))
    (tmp_path / "m.tflite").write_bytes(case.content)
    kept = ccml.load(tmp_path / "m.tflite", ccml.ModelOptions(states={"s": "s_next"}))
    handed = ccml.load(tmp_path / "m.tflite")
    x, state = case.feeds["x"], np.zeros_like(case.feeds["s"])
    for turn in range(4):
        given = np.roll(x, turn, axis=1)
        wanted = handed.run({"x": given, "s": state})
        np.testing.assert_array_equal(kept.run(given)["y"], wanted["y"])
        state = wanted["s_next"]
