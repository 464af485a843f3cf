"""Branches and loops in artifacts: C by gcc with sanitizers, both routes on emulated boards, quantized models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.artifact.emit import Emit
from ccml.emulation.run import DEFAULT_BUILD, Build
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import SANITIZED, WARNINGS, run_artifact
from tests.frontend_onnx.compiled import onnxruntime, reference
from tests.frontend_onnx.flow_models import CASES, N, body, choice
from tests.frontend_onnx.graphs import checked_import, model, value
from tests.tools import needs


def check(names: Sequence[str], machine: Machine, route: Emit, folder: Path, how: Build = DEFAULT_BUILD) -> None:
    """The artifact of each case against ONNX Runtime."""
    for name in names:
        proto, samples = CASES[name]()
        program = lower_graph(optimize(checked_import(proto)), machine)
        found = run_artifact(program, machine, route, folder / name.replace(" ", "_"), samples, how)
        for feeds, results in zip(samples, found, strict=True):
            expected = (reference if name == "plain results" else onnxruntime)(proto, feeds)
            for output, wanted in zip(proto.graph.output, expected, strict=True):
                np.testing.assert_allclose(results[output.name], wanted, rtol=2e-5, atol=2e-5, err_msg=name)


@needs("gcc")
@pytest.mark.parametrize("name", CASES)
def test_sanitized(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    check([name], select("generic"), Emit.C, tmp_path, SANITIZED)


@needs("gcc")
def test_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    check(["nested", "search", "loops in loops"], select("generic"), Emit.C, tmp_path, WARNINGS)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_on_a_board(route: Emit, target: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    check(["rate", "search", "swap", "nested"], select(target), route, tmp_path)


def voice() -> onnx.ModelProto:
    """Two layers, one of two by a flag, and a last one: what is around the branch is quantized."""
    rng = np.random.default_rng(0)
    w = {name: rng.standard_normal((16, 16)).astype(np.float32) / 4 for name in ("a", "b", "c", "d")}
    nodes = [
        N("MatMul", ["x", "a"], ["p"]), N("Relu", ["p"], ["h"]),
        choice("flag", ["t"], body([N("MatMul", ["h", "b"], ["q"]), N("Relu", ["q"], ["r"])], ["r"], b=w["b"]),
               body([N("MatMul", ["h", "c"], ["s"])], ["s"], c=w["c"])),
        N("MatMul", ["t", "d"], ["y"]),
    ]  # fmt: skip
    inputs = [value("x", [4, 16]), value("flag", [], onnx.TensorProto.BOOL)]
    return model(nodes, inputs, ["y"], {"a": w["a"], "d": w["d"]})


def test_quantized(tmp_path: Path) -> None:
    """Layers around a branch become integers, those in it stay floats; the QDQ model is the same for ONNX Runtime."""
    pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20, 4, 16)).astype(np.float32)
    flags = np.arange(20) % 2 == 0
    onnx.save(voice(), tmp_path / "voice.onnx")
    np.savez(tmp_path / "data.npz", x=x, flag=flags)
    options = ccml.Quantization(tmp_path / "data.npz")
    result = ccml.quantize(tmp_path / "voice.onnx", options, tmp_path / "voice_int8.onnx")
    assert result.accuracy.outputs[0].sqnr_db > 25
    quantized = onnx.load(tmp_path / "voice_int8.onnx")
    assert {"QuantizeLinear", "If"} <= {node.op_type for node in quantized.graph.node}
    loaded = ccml.load(tmp_path / "voice_int8.onnx")
    for sample, flag in zip(x[:4], flags[:4]):
        feeds = {"x": sample, "flag": np.array(flag)}
        found = loaded.run(feeds)["y"]
        (wanted,) = onnxruntime(quantized, feeds)
        np.testing.assert_allclose(found, wanted, atol=0.03)
        (exact,) = onnxruntime(voice(), feeds)
        assert np.linalg.norm(found - exact) < 0.05 * np.linalg.norm(exact)


def quantized_branches() -> onnx.ModelProto:
    """A QDQ model whose branches hold layers of their own: these are integers inside."""
    rng = np.random.default_rng(3)

    def quantizing(source: str, result: str, scale: str) -> list[onnx.NodeProto]:
        return [N("QuantizeLinear", [source, scale, "zero"], [f"{result}_q"]),
                N("DequantizeLinear", [f"{result}_q", scale, "zero"], [result])]  # fmt: skip

    def layer(stem: str) -> onnx.GraphProto:
        weights = rng.integers(-100, 100, (8, 8)).astype(np.int8)
        nodes = [N("DequantizeLinear", [f"{stem}w", "ws"], [f"{stem}f"]), N("MatMul", ["xd", f"{stem}f"], [f"{stem}m"]),
                 *quantizing(f"{stem}m", f"{stem}y", "ys")]  # fmt: skip
        return body(nodes, [f"{stem}y"], **{f"{stem}w": weights})

    nodes = [*quantizing("x", "xd", "xs"), choice("flag", ["y"], layer("t"), layer("e"))]
    constants = {"zero": np.int8(3), "xs": np.float32(0.02), "ys": np.float32(0.05), "ws": np.float32(0.01)}
    return model(nodes, [value("x", [4, 8]), value("flag", [], onnx.TensorProto.BOOL)], ["y"], constants)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_quantized_branches_on_a_board(tmp_path: Path) -> None:
    """The same bits here and there, which are those of ONNX Runtime."""
    pytest.importorskip("onnxruntime")
    proto = quantized_branches()
    machine = select("cortex-m55")
    program = lower_graph(optimize(checked_import(proto)), machine)
    assert any(call.macs and "requantize" in call.summary for call in program.calls)
    rng = np.random.default_rng(4)
    x = rng.standard_normal((4, 8)).astype(np.float32)
    samples = [{"x": x, "flag": np.array(flag)} for flag in (True, False)]
    found = run_artifact(program, machine, Emit.C, tmp_path, samples)
    for feeds, results in zip(samples, found, strict=True):
        np.testing.assert_array_equal(results["y"], onnxruntime(proto, feeds)[0])


def test_the_report_tells_of_branches(tmp_path: Path) -> None:
    onnx.save(voice(), tmp_path / "voice.onnx")
    compiled = ccml.compile_model(tmp_path / "voice.onnx", select("cortex-m4"))
    report = compiled.report(compiled.costs())
    assert [layer.within for layer in report.layers] == ["", "then of choice", "else of choice", ""]
    assert report.layers[1].ops == ["matmul", "relu"] and report.model.parameters == 4 * 16 * 16
    one, then, orelse, last = (layer.instructions for layer in report.layers)
    assert one and then and orelse and last and report.totals.instructions is not None
    assert one + max(then, orelse) + last <= report.totals.instructions < one + then + orelse + last
    assert report.totals.macs == 3 * 4 * 16 * 16
