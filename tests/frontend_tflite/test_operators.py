"""Every operator as a model of its own: compiled, against the reference kernels of TensorFlow Lite as NumPy says them,
and against the QDQ model that the file stands for."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.frontend_tflite import read_tflite
from ccml.frontend_tflite.rules import SUPPORTED
from onnx.reference import ReferenceEvaluator

from tests.frontend_tflite.case import Case
from tests.frontend_tflite.table import CASES


def test_every_operator_has_a_case() -> None:
    assert {case.op for case in CASES} == set(SUPPORTED)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled_against_the_kernels_of_tensorflow_lite(case: Case, tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(case.content)
    found = ccml.load(tmp_path / "m.tflite").run(case.feeds)
    assert set(found) == set(case.expected)
    for name, expected in case.expected.items():
        assert (found[name].dtype, found[name].shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)
        else:
            apart = np.abs(found[name].astype(np.int64) - expected.astype(np.int64))
            assert apart.max(initial=0) <= case.steps, f"{name}: {apart.max()} steps, {np.mean(apart > 0):.1%} differ"


QUANTIZED = [case for case in CASES if any(a.dtype in (np.int8, np.int16, np.uint8) for a in case.expected.values())]


@pytest.mark.parametrize("case", QUANTIZED, ids=str)
def test_compiled_is_the_qdq_model(case: Case, tmp_path: Path) -> None:
    """The same integers as ONNX's reference finds. Means lie on halves, but its sums of floats may not, and those of
    products of 16 bits are beyond what floats hold: they depend on the order in which a machine adds."""
    (tmp_path / "m.tflite").write_bytes(case.content)
    found = ccml.load(tmp_path / "m.tflite").run(case.feeds)
    evaluator = ReferenceEvaluator(read_tflite(tmp_path / "m.tflite"))
    wanted = dict(zip(evaluator.output_names, evaluator.run(None, dict(case.feeds))))
    for name, array in found.items():
        assert array.dtype == wanted[name].dtype
        inexact = case.op == "CONV_2D" and array.dtype == np.int16
        halves = int(case.op in ("AVERAGE_POOL_2D", "RESIZE_BILINEAR") or inexact)
        np.testing.assert_allclose(array.astype(np.int64), wanted[name].astype(np.int64), rtol=0, atol=halves)


KEPT = [
    case for case in CASES if 0 < sum(name.endswith("_next") for name in case.expected) < len(case.expected)
]  # fmt: skip


@pytest.mark.parametrize("case", KEPT, ids=str)
def test_variables_are_states(case: Case, tmp_path: Path) -> None:
    """Kept between runs, they give what they give when the caller feeds them back."""
    (tmp_path / "m.tflite").write_bytes(case.content)
    states = {name.removesuffix("_next"): name for name in case.expected if name.endswith("_next")}
    plain = ccml.load(tmp_path / "m.tflite")
    kept = ccml.load(tmp_path / "m.tflite", ccml.ModelOptions(states=states))
    feeds = {name: array for name, array in case.feeds.items() if name not in states}
    values = {name: array.copy() for name, array in kept.new_state().values.items()}
    for _ in range(3):
        wanted = plain.run({**feeds, **values})
        found = kept.run(feeds)
        assert found.keys() == wanted.keys() - states.values()
        for name, array in found.items():
            np.testing.assert_array_equal(array, wanted[name])
        values = {name: wanted[output] for name, output in states.items()}
