"""Reports made by hand for the tests of the page: of many layers, of hostile names, and compiled from small models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ccml
import numpy as np
import onnx
from ccml.report.accuracy import Accuracy, LayerAccuracy, OutputAccuracy
from ccml.report.lifetimes import live_bytes
from ccml.report.schema import (
    File,
    Layer,
    Model,
    Options,
    Placement,
    PoolTotals,
    Report,
    Route,
    TargetInfo,
    Tensor,
    Totals,
)
from onnx import TensorProto, helper, numpy_helper


def long_report(count: int = 300, name: str = "model/block_{0}/conv2d_{0}/BiasAdd;model/block_{0}/Relu") -> Report:
    """A network of ``count`` layers with a shortcut around every third, and all figures there are."""
    tensors = ["input", *(f"{name.format(i)}:0" for i in range(count))]
    layers, memory = [], [Placement("input", 0, 1024, 0, 0)]
    for i in range(count):
        reads = [tensors[i], *([tensors[i - 1]] if i % 3 == 2 else [])]
        last = min(i + 2 if i % 3 == 0 else i + 1, count - 1)
        memory.append(Placement(tensors[i + 1], 1024 * (1 + i % 4), 1024, i, last))
        layers.append(
            Layer(
                i, name.format(i), f"conv_{i}", ["conv", "relu"], tensors[i + 1], "i8", [1, 8, 8, 16], 1000 * (i % 17),
                256, 0, 128 + i, 5000 + i, 9000 + 37 * (i % 23), generator="dsp contraction", reads=reads,
                writes=[tensors[i + 1]], tiles=["gemm_3x2_i8"],
            )
        )  # fmt: skip
    live = live_bytes(memory, count)
    layers = [replace(layer, live_bytes=used) for layer, used in zip(layers, live)]
    cycles = sum(layer.cycles or 0 for layer in layers)
    pool = PoolTotals("arena", 5120, 5120, 16, None, max(live), ["input"], 10)
    flash = Route(40_000, 120_000, 300, sections={".text": 40_000, ".rodata": 80_000})
    noise = [
        LayerAccuracy(i, layer.name, layer.output, "i8", 40.0 - i / 20, 45.0, 0.99, 0.001, 1 / count, "rounding",
                      'precision = "int16"')
        for i, layer in enumerate(layers)
    ]  # fmt: skip
    return Report(
        1, "0.1.0", Model("net", "net.onnx", "0" * 64, 80_000), TargetInfo("cortex-m4", "eabihf", "cortex-m4", "t"),
        Options({}, {}, ["c"]),
        Totals(5120, 5120, 16, max(live), ["input"], 80_000, 40_000, 120_000, 300, 2_000_000, 1_500_000, cycles,
               pools=[pool], routes={"llvm": flash}),
        [Tensor("input", "input", "f32", [1, 256], 1024, "input")],
        [Tensor("scores", "scores", "f32", [1, 10], 1024, tensors[-1])],
        layers, memory, flash.sections, [File("net.h", 10, "0" * 64)],
        Accuracy(100, 20, True, [OutputAccuracy("scores", 31.0, 0.99, 0.1, 0.97)], None, noise, []),
    )  # fmt: skip


HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "'\"><svg onload=document.title='owned'> {{ 7*7 }} &amp; \u202e\u2028\x07 \\u003c {0}"
)
"""A name of a node that tries to be more than a name."""


def hostile_report() -> Report:
    """Every text that comes from a model or a file tries to leave its place."""
    report = long_report(9, HOSTILE)
    bad = HOSTILE.format("z")
    return replace(
        report,
        model=Model(bad, bad, bad, 1), target=TargetInfo(bad, bad, bad, bad),
        options=Options({bad: 3}, {bad: [1]}, [bad], quantize={bad: bad}, optimize=bad, states={bad: bad}),
        inputs=[Tensor(bad, bad, bad, [1], 4, "input")],
        layers=[replace(each, kernel=bad, ops=[bad], generator=bad, within=f"then of {bad}", tiles=[bad])
                for each in report.layers],
        sections={bad: 5}, files=[File(bad, 1, bad)],
    )  # fmt: skip


def compiled_report(path: Path, model: onnx.ModelProto, target: str = "cortex-m4") -> Report:
    """The report of a model as ``ccml compile`` writes it."""
    file = path / "model.onnx"
    onnx.save(model, file)
    ccml.compile(file, target, path / "out", emit=["lib"])
    return ccml.read_reports(path / "out")[0]


def branches_and_loops() -> onnx.ModelProto:
    """x is multiplied by w again and again, as long as a run tells, and then squared or negated."""
    tensor = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["v", "w"], ["m"], "step/matmul"),
            helper.make_node("Tanh", ["m"], ["v_next"], "step/tanh"),
            helper.make_node("Identity", ["go"], ["go_next"], "step/go"),
        ],
        "body",
        [tensor("i", TensorProto.INT64, []), tensor("go", TensorProto.BOOL, []), tensor("v", 1, [1, 8])],
        [tensor("go_next", TensorProto.BOOL, []), tensor("v_next", 1, [1, 8])],
    )
    sides = [
        helper.make_graph([helper.make_node(op, operands, ["r"], f"{op}/r")], op, [], [tensor("r", 1, [1, 8])])
        for op, operands in (("Mul", ["looped", "looped"]), ("Neg", ["looped"]))
    ]
    nodes = [
        helper.make_node("Loop", ["count", "", "x"], ["looped"], "again", body=body),
        helper.make_node("If", ["choice"], ["y"], "choose", then_branch=sides[0], else_branch=sides[1]),
    ]
    inputs = [tensor("x", 1, [1, 8]), tensor("count", TensorProto.INT64, []), tensor("choice", TensorProto.BOOL, [])]
    weights = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    graph = helper.make_graph(nodes, "control", inputs, [tensor("y", 1, [1, 8])], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
