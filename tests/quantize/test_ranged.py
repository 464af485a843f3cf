"""Quantized models of which each run has extents of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml import ModelOptions, Quantization, QuantizeOptions, Range
from ccml.errors import CcmlError
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(7)
WEIGHTS = {
    "w": RNG.standard_normal((6, 16)), "v": RNG.standard_normal((16, 4)), "k": RNG.standard_normal((8, 3, 3, 3)),
    "table": RNG.standard_normal((32, 6)), "u": RNG.standard_normal((8, 4)),
}  # fmt: skip

Node = tuple[str, list[str], list[str], dict[str, object]]
PLACES: list[Node] = [
    ("Shape", ["x"], ["shape"], {}), ("Gather", ["shape", "one"], ["length"], {}),
    ("Range", ["zero", "length", "one"], ["places"], {}), ("Gather", ["table", "places"], ["rows"], {}),
    ("Add", ["x", "rows"], ["h"], {}),
]  # fmt: skip
LAYERS: list[Node] = [
    ("MatMul", ["h", "w"], ["a"], {}), ("Relu", ["a"], ["b"], {}), ("MatMul", ["b", "v"], ["y"], {}),
]  # fmt: skip
POOLED: list[Node] = [
    ("Conv", ["x", "k"], ["f"], {"pads": [1] * 4}), ("Relu", ["f"], ["r"], {}),
    ("GlobalAveragePool", ["r"], ["g"], {}), ("Flatten", ["g"], ["s"], {}), ("MatMul", ["s", "u"], ["y"], {}),
]  # fmt: skip


def written(folder: Path, nodes: list[Node], shape: list[str | int]) -> Path:
    made = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in nodes]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", shape), ("y", None)))
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in WEIGHTS.items()]
    constants += [numpy_helper.from_array(np.array(number), name) for name, number in (("zero", 0), ("one", 1))]
    graph = helper.make_graph(made, "g", [x], [y], constants)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def saved(folder: Path, *shape: int) -> Path:
    path = folder / "data.npz"
    np.savez(path, x=np.random.default_rng(1).standard_normal(shape).astype(np.float32))
    return path


def loaded(path: Path, dims: Mapping[str, int | Range], data: Path, **options: object) -> ccml.LoadedModel:
    given = Quantization(data, QuantizeOptions(**options))  # type: ignore[arg-type]
    return ccml.load(path, ModelOptions(dims=dims), given)


def noise(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.square(found - wanted).sum() / np.square(wanted).sum())


@pytest.mark.parametrize("places", [False, True])
def test_lengths_other_than_that_of_the_samples(tmp_path: Path, places: bool) -> None:
    """A token has the same bytes in sequences of all lengths, and they are those of the model of its length alone."""
    head = PLACES if places else [("Identity", ["x"], ["h"], {})]
    path, data = written(tmp_path, [*head, *LAYERS], [1, "seq", 6]), saved(tmp_path, 12, 1, 7, 6)
    model = loaded(path, {"seq": Range(1, 20)}, data)
    x = np.random.default_rng(2).standard_normal((1, 20, 6)).astype(np.float32)
    whole = model.run({"x": x})["y"]
    for length in (1, 2, 7, 13):
        np.testing.assert_array_equal(model.run({"x": x[:, :length]})["y"], whole[:, :length])
    alone = loaded(path, {"seq": 7}, data)
    np.testing.assert_array_equal(alone.run({"x": x[:, :7]})["y"], whole[:, :7])
    wanted = ccml.load(path, ModelOptions(dims={"seq": Range(1, 20)})).run({"x": x})["y"]
    assert noise(whole, wanted) < 1e-3


def test_samples_of_one_image(tmp_path: Path) -> None:
    """The first axis of the data counts samples, of which a batch has one."""
    path, data = written(tmp_path, POOLED, ["batch", 3, 8, 8]), saved(tmp_path, 16, 3, 8, 8)
    model, alone = loaded(path, {"batch": Range(1, 4)}, data), loaded(path, {"batch": 1}, data)
    x = np.random.default_rng(2).standard_normal((4, 3, 8, 8)).astype(np.float32)
    rows = [alone.run({"x": x[n : n + 1]})["y"] for n in range(4)]
    for count in (1, 3, 4):
        np.testing.assert_array_equal(model.run({"x": x[:count]})["y"], np.concatenate(rows[:count]))


def test_samples_of_one_image_are_judged_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report compares the scores of an image, and a metric sees as many rows as there are labels."""
    path, data = written(tmp_path, POOLED, ["batch", 3, 8, 8]), tmp_path / "data.npz"
    images = np.random.default_rng(1).standard_normal((20, 3, 8, 8)).astype(np.float32)
    np.savez(data, x=images, label=np.arange(20) % 4)
    (tmp_path / "rows_of_scores.py").write_text(
        "def share(outputs, data):\n    return len(outputs['y']) / len(data['label'])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    given = Quantization(data, metric="rows_of_scores:share")
    accuracy = ccml.quantize(path, given, options=ModelOptions(dims={"batch": Range(1, 4)})).accuracy
    assert accuracy.outputs[0].top1_agreement is not None
    assert accuracy.metric is not None
    assert accuracy.metric.quantized_value == 1.0


def test_images_of_other_sizes(tmp_path: Path) -> None:
    path, data = written(tmp_path, POOLED, [1, 3, "h", "w"]), saved(tmp_path, 16, 3, 8, 6)
    dims = {"h": Range(2, 12), "w": Range(2, 9)}
    model, exact = loaded(path, dims, data), ccml.load(path, ModelOptions(dims=dims))
    for shape in ((8, 6), (12, 9), (3, 2), (5, 7)):
        x = np.random.default_rng(3).standard_normal((1, 3, *shape)).astype(np.float32)
        assert noise(model.run({"x": x})["y"], exact.run({"x": x})["y"]) < 1e-2


def test_weights_alone(tmp_path: Path) -> None:
    path, data = written(tmp_path, [("Identity", ["x"], ["h"], {}), *LAYERS], [1, "seq", 6]), saved(tmp_path, 8, 7, 6)
    model = loaded(path, {"seq": Range(1, 9)}, data, mode="weights8")
    exact = ccml.load(path, ModelOptions(dims={"seq": Range(1, 9)}))
    x = np.random.default_rng(2).standard_normal((1, 4, 6)).astype(np.float32)
    assert noise(model.run({"x": x})["y"], exact.run({"x": x})["y"]) < 1e-3


def test_refused(tmp_path: Path) -> None:
    path = written(tmp_path, [("Identity", ["x"], ["h"], {}), *LAYERS], [1, "seq", 6])
    with pytest.raises(CcmlError, match=r"the samples have seq = 7, which is not in 8\.\.20"):
        loaded(path, {"seq": Range(8, 20)}, saved(tmp_path, 12, 1, 7, 6))
    with pytest.raises(CcmlError, match="expected 3 dimensions"):
        loaded(path, {"seq": Range(1, 20)}, saved(tmp_path, 6))
    options = ModelOptions(dims={"seq": Range(1, 20)})
    with pytest.raises(CcmlError, match="export: seq is chosen in a run"):
        ccml.quantize(path, Quantization(saved(tmp_path, 12, 7, 6)), tmp_path / "q.onnx", options=options)
    with pytest.raises(CcmlError, match=r"cycles [\d,]+ of 1,000"):
        ccml.quantize(
            path, Quantization(saved(tmp_path, 12, 7, 6)), options=options, target="cortex-m4",
            budget=ccml.Budget(max_cycles=1000),
        )  # fmt: skip
