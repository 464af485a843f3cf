"""What can be wrong with a custom operator, as the command line says it."""

from __future__ import annotations

import sys
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from onnx import TensorProto

from tests.custom_ops.cases import DOMAIN, SAME, SCALE, Case, by_declaration, declared, node, several
from tests.frontend_onnx.graphs import model, value
from tests.tools import needs

SWISH = f"{DOMAIN}::Scale"


def error(case: Case, folder: Path, **options: object) -> str:
    path, own = case.write(folder)
    with pytest.raises(CcmlError) as caught:
        ccml.load(path, ccml.ModelOptions(custom_ops=own.custom_ops, **options))  # type: ignore[arg-type]
    return str(caught.value)


def scale(code: str = SCALE, toml: str | None = SAME, proto: onnx.ModelProto | None = None) -> Case:
    whole = proto or model([node("Scale", ["x"], ["y"])], [value("x", [2])], ["y"])
    return Case(whole, {"Scale": (code, toml)}, {}, lambda a: [])


def test_operator_that_the_model_has_not(tmp_path: Path) -> None:
    case = scale(proto=model([node("Scales", ["x"], ["y"])], [value("x", [2])], ["y"]))
    text = error(case, tmp_path)
    assert "the model has no node of that operator" in text and "did you mean 'com.acme::Scales'?" in text


def test_function_that_the_file_has_not(tmp_path: Path) -> None:
    assert "defines no function 'Scale'" in error(scale(SCALE.replace("Scale", "Other")), tmp_path)


def test_shape_that_nobody_knows(tmp_path: Path) -> None:
    text = error(scale(toml=None), tmp_path)
    assert "my_Scale: com.acme::Scale: the model does not declare the shape of y" in text and "scale.toml" in text


@needs("gcc")
def test_c_that_does_not_compile(tmp_path: Path) -> None:
    """The user's file and line, and the function that was expected."""
    text = error(scale(SCALE.replace("float *y", "double *y")), tmp_path)
    assert "scale.c:2:6: error" in text and "void Scale(const float *, float *)" in text
    text = error(scale('#error "not for matrices"\n' + SCALE), tmp_path)
    assert "not for matrices" in text


def test_too_many_outputs_or_inputs(tmp_path: Path) -> None:
    proto = model([node("Scale", ["x"], ["y", "z"])], [value("x", [2])], ["y"])
    assert "has 2 outputs, scale.toml says 1" in error(scale(proto=proto), tmp_path)
    proto = model([node("Scale", ["x", "x"], ["y"])], [value("x", [2])], ["y"])
    assert "has 2 inputs, scale.toml says 1" in error(scale(proto=proto), tmp_path)


def test_input_that_is_left_out(tmp_path: Path) -> None:
    toml = SAME.replace('["x"]', '["x", "b"]')
    assert "the input b is left out" in error(scale(toml=toml), tmp_path)


def test_shape_that_has_no_value(tmp_path: Path) -> None:
    text = error(scale(toml=SAME.replace('"x.shape"', '"x.shape[4]"')), tmp_path)
    assert "scale.toml: shape = 'x.shape[4]': [2] has no element 4" in text


def test_strings(tmp_path: Path) -> None:
    proto = model([node("Scale", ["x"], ["y"])], [value("x", [2], TensorProto.STRING)], ["y"])
    assert "custom operators take no strings" in error(scale(proto=proto), tmp_path)


def test_attribute_that_is_a_graph(tmp_path: Path) -> None:
    graph = onnx.helper.make_graph([], "g", [], [])
    proto = model([node("Scale", ["x"], ["y"], body=graph)], [value("x", [2])], ["y"])
    assert "attribute 'body' is of type graph" in error(scale(proto=proto), tmp_path)


def test_unsupported_operators_name_the_option(tmp_path: Path) -> None:
    path, _ = scale().write(tmp_path)
    with pytest.raises(CcmlError, match=r"--custom-op DOMAIN::NAME=FILE\.c") as caught:
        ccml.load(path)
    assert caught.value.kind is ErrorCode.UNSUPPORTED_OPERATOR


@needs("gcc")
def test_python_meaning(tmp_path: Path) -> None:
    """It is the reference; where C and Python differ, verify says so, and wrong types are an error."""
    case = by_declaration()
    path, own = case.write(tmp_path)
    (tmp_path / "scale.py").write_text(
        "import numpy as np\n"
        "def right(x, alpha): return x * np.float32(alpha)\n"
        "def wrong(x, alpha): return x * np.float32(alpha + 1)\n"
        "def double(x, alpha): return x.astype(np.float64)\n"
        "def fails(x): pass\n"
    )

    def options(function: str) -> ccml.ModelOptions:
        meanings = {SWISH: f"{tmp_path}/scale.py:{function}"}
        return ccml.ModelOptions(custom_ops=own.custom_ops, custom_ops_python=meanings)

    assert ccml.verify(path, options("right"), samples=1).ok
    found = ccml.verify(path, options("wrong"), samples=1)
    assert found.first_layer is not None and found.first_layer.node == "my_Scale"
    for function, reason in (
        ("double", r"gives float64\[2, 3\] as output 0, not f32\[2,3\]"), ("fails", "failed: TypeError"),
        ("missing", "no function 'missing'"),
    ):  # fmt: skip
        with pytest.raises(CcmlError, match=reason):
            ccml.verify(path, options(function), samples=1)


@needs("gcc", "nm")
def test_visible_helpers(tmp_path: Path) -> None:
    """What another model's library may define as well has to be static."""
    path, own = scale("int helper(void) { return 1; }\n" + SCALE).write(tmp_path)
    with pytest.raises(CcmlError, match="helper would be visible"):
        ccml.compile(path, "generic", tmp_path / "out", options=own)


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects go without the operator, whose C is written; running needs a compiler."""
    path, own = several().write(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "ziglang", None)
    ccml.compile(path, "cortex-m4", tmp_path / "out", emit=["lib"], options=own)
    header = (tmp_path / "out" / "relu.h").read_text()
    assert "librelu is WITHOUT them" in " ".join(header.split())
    assert {"relu_custom_0.c", "relu_splitsum.inc"} <= {file.name for file in (tmp_path / "out").iterdir()}
    with pytest.raises(CcmlError, match="no C compiler for the custom operator") as caught:
        ccml.load(path, own)
    assert caught.value.kind is ErrorCode.TOOLCHAIN


@needs("gcc")
def test_report_says_what_is_not_counted(tmp_path: Path) -> None:
    path, own = by_declaration().write(tmp_path)
    (artifact,) = ccml.compile(path, "cortex-m4", tmp_path / "out", options=own).artifacts
    assert artifact.report.totals.uncounted == [SWISH]
    assert artifact.report.totals.instructions is None
    assert f"without those of {SWISH}" in (tmp_path / "out" / "relu.h").read_text()


@needs("gcc")
def test_quantized_around(tmp_path: Path) -> None:
    """The operator stays as it is between layers of integers; the QDQ model has the node, too."""
    rng = np.random.default_rng(0)
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["a"]), node("Scale", ["a"], ["b"], alpha=0.5),
        onnx.helper.make_node("MatMul", ["b", "v"], ["y"]),
    ]  # fmt: skip
    weights = {name: rng.standard_normal((8, 8)).astype(np.float32) for name in ("w", "v")}
    proto = declared(model(nodes, [value("x", [4, 8])], ["y"], weights))
    path, own = scale(proto=proto).write(tmp_path)
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((20, 4, 8)).astype(np.float32))
    quantization = ccml.Quantization(tmp_path / "data.npz")
    quantized = ccml.quantize(path, quantization, tmp_path / "q.onnx", own)
    assert quantized.accuracy is not None and min(o.sqnr_db for o in quantized.accuracy.outputs) > 25
    assert ccml.verify(tmp_path / "q.onnx", own, samples=2).ok
