"""Linear Resize of integers, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import trunc

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError
from ccml.frontend_onnx import Range, import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import helper

from tests.frontend_onnx.graphs import model, value


def exact(row: list[int], count: int) -> list[int]:
    """``row`` resized to ``count`` elements with aligned corners; what is between integers is cut off."""
    found = []
    for n in range(count):
        place = Fraction(n * (len(row) - 1), count - 1)
        before = trunc(place)
        after = min(before + 1, len(row) - 1)
        found.append(trunc(row[before] + (row[after] - row[before]) * (place - before)))
    return found


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32])
@pytest.mark.parametrize("ranged", [False, True])
def test_linear(dtype: type[np.integer], ranged: bool) -> None:
    node = helper.make_node(
        "Resize", ["x", "", "", "sizes"], ["y"], mode="linear", coordinate_transformation_mode="align_corners", axes=[1]
    )
    given = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    info = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    x = rng.integers(info.min, info.max, (6, 7), endpoint=True).astype(dtype)
    x[0] = info.max
    x[1] = info.min
    x[2] = 7
    made = model([node], [value("x", ["n" if ranged else 6, 7], given)], ["y"], {"sizes": np.array([19])}, opset=21)
    graph = optimize(import_model(made, {"n": Range(1, 8)} if ranged else {}))
    found = JitModel(lower_graph(graph, host_machine())).run({"x": x})["y"]
    assert found.dtype == dtype
    assert found.tolist() == [exact([int(entry) for entry in row], 19) for row in x]


def test_other_modes_are_refused() -> None:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="cubic")
    with pytest.raises(CcmlError) as caught:
        import_model(model([node], [value("x", [4], 2)], ["y"], {"scales": np.array([2], np.float32)}))
    assert "cubic interpolation of u8[4]" in caught.value.reason
