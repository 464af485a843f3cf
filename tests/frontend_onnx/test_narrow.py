"""Models with narrow types, compiled by both routes, against ONNX's reference, which computes with ml_dtypes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from ccml.emit_c.artifact import write_c
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from ccml.ir.graph_text import parse_graph, print_graph
from ccml.ir.types import DType
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.c_batch import run_batch
from tests.frontend_onnx.graphs import checked_import, model, one_node, run_compiled, value
from tests.tools import needs

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FLOATS = {
    name: getattr(TensorProto, name)
    for name in ("BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")
}
ALL = {**FLOATS, "FLOAT8E8M0": TensorProto.FLOAT8E8M0, "FLOAT4E2M1": TensorProto.FLOAT4E2M1, "INT4": TensorProto.INT4,
       "UINT4": TensorProto.UINT4}  # fmt: skip


def casts() -> onnx.ModelProto:
    """x to each float type, with and without saturation, and each of these to float32."""
    nodes, outputs = [], []
    for name, to in FLOATS.items():
        for saturate in (0, 1):
            stem = f"{name}_{saturate}"
            nodes.append(helper.make_node("Cast", ["x"], [stem], to=to, saturate=saturate))
            nodes.append(helper.make_node("Cast", [stem], [f"{stem}_wide"], to=TensorProto.FLOAT))
            outputs += [stem, f"{stem}_wide"]
    return model(nodes, [value("x", HALVES.shape, TensorProto.FLOAT16)], outputs, opset=23)


def same_numbers(result: np.ndarray, expected: np.ndarray) -> None:
    """Equal with their signs; NaN is NaN."""
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    wide = [array.astype(np.float32) for array in (result, expected)]
    np.testing.assert_array_equal(*wide)
    there = ~np.isnan(wide[0])
    np.testing.assert_array_equal(*(np.signbit(array[there]) for array in wide))


def test_every_half_float_in_every_float_type() -> None:
    proto = casts()
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(proto).run(None, {"x": HALVES})
    for result, wanted in zip(run_compiled(proto, {"x": HALVES}), expected, strict=True):
        same_numbers(result, wanted)


@needs("gcc")
def test_c_has_the_bits_of_the_jit(tmp_path: Path) -> None:
    machine = host_machine()
    program = lower_graph(optimize(checked_import(casts())), machine)
    jit = JitModel(program, machine).run({"x": HALVES})
    (by_c,) = run_batch([program], machine, [{"x": HALVES}], tmp_path)
    for name, array in jit.items():
        assert array.tobytes() == by_c[name].tobytes(), name  # type: ignore[index]


@pytest.mark.parametrize("name", ALL)
def test_elements_are_moved(name: str) -> None:
    """Constants, views of several kinds, and outputs that are the input itself."""
    dtype = helper.tensor_dtype_to_np_dtype(ALL[name])
    x = np.arange(12).reshape(3, 4).astype(np.float32).astype(dtype)
    nodes = [
        helper.make_node("Transpose", ["x"], ["turned"]),
        helper.make_node("Concat", ["x", "c"], ["both"], axis=0),
        helper.make_node("Slice", ["both", "begin", "end"], ["part"]),
        helper.make_node("Pad", ["x", "pads"], ["padded"]),
        helper.make_node("Identity", ["x"], ["alias"]),
        helper.make_node("Shape", ["x"], ["shape"]),
    ]
    integers = {"begin": [1, 1], "end": [4, 3], "pads": [0, 1, 1, 0]}
    constants = {"c": x[:1], **{key: np.array(entries) for key, entries in integers.items()}}
    outputs = ["turned", "part", "padded", "alias", "shape"]
    proto = model(nodes, [value("x", x.shape, ALL[name])], outputs, constants, opset=24)
    both = np.concatenate([x, x[:1]])
    padded = np.pad(x, ((0, 1), (1, 0)), constant_values=np.float32(2.0**-127 if "E8M0" in name else 0).astype(dtype))
    results = run_compiled(proto, {"x": x})
    for result, expected in zip(results, [x.T, both[1:4, 1:3], padded, x, np.array([3, 4])], strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.astype(np.float32), expected.astype(np.float32))


def test_bfloat16_is_computed_in_float32_and_rounded_once() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((4, 5)).astype(ml_dtypes.bfloat16) for _ in range(2))
    for op, function in {"Add": np.add, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum}.items():
        (result,) = run_compiled(*one_node(op, [a, b], opset=22))
        expected = function(a.astype(np.float32), b.astype(np.float32)).astype(ml_dtypes.bfloat16)
        assert result.dtype == ml_dtypes.bfloat16 and result.tobytes() == expected.tobytes(), op
    (less,) = run_compiled(*one_node("Less", [a, b], opset=22))
    np.testing.assert_array_equal(less, a.astype(np.float32) < b.astype(np.float32))


def test_a_type_that_the_operator_does_not_take_is_refused() -> None:
    x = np.ones(3, ml_dtypes.float8_e4m3fn)
    with pytest.raises(CcmlError, match=r"Add \(opset 22\) does not take float8e4m3fn") as error:
        import_model(one_node("Add", [x, x], opset=22)[0])
    assert error.value.kind is ErrorCode.INVALID_MODEL


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn, ml_dtypes.int4, ml_dtypes.uint2])
@pytest.mark.parametrize("frozen", [(), (1, 2)])
def test_quantization_in_blocks(dtype: type, frozen: tuple[int, ...]) -> None:
    """Also where scales and zero points are operands."""
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((3, 8)) * 4).astype(np.float32)
    scale = rng.uniform(0.5, 1.5, (3, 2)).astype(np.float32)
    zero = np.zeros((3, 2), dtype)
    proto, feeds = one_node("QuantizeLinear", [x, scale, zero], 25, frozen, axis=1, block_size=4)
    (stored,) = run_compiled(proto, feeds)
    (expected,) = ReferenceEvaluator(proto).run(None, feeds)
    same_numbers(stored, expected)
    proto, feeds = one_node("DequantizeLinear", [stored, scale, zero], 25, frozen, axis=1, block_size=4)
    (real,) = run_compiled(proto, feeds)
    np.testing.assert_array_equal(real, stored.astype(np.float32) * np.repeat(scale, 4, axis=1))


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2])
@pytest.mark.parametrize("frozen", [(), (1, 2)])
def test_quantization_saturates_at_the_ends_of_the_type(dtype: type, frozen: tuple[int, ...]) -> None:
    x = np.array([-100, -4.2, -0.75, -0.25, 0, 0.25, 0.75, 1, 3.9, 100], np.float32)
    proto, feeds = one_node("QuantizeLinear", [x, np.float32(0.5), dtype(1)], 25, frozen)
    (result,) = run_compiled(proto, feeds)
    (expected,) = ReferenceEvaluator(proto).run(None, feeds)
    same_numbers(result, expected)


def test_scales_of_powers_of_two() -> None:
    """MXFP4: elements E2M1, scales E8M0."""
    codes = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).reshape(2, 8)
    scale = np.array([[0.25], [8]], np.float32).astype(ml_dtypes.float8_e8m0fnu)
    proto, feeds = one_node(
        "DequantizeLinear", [codes, scale], 28, axis=1, block_size=8, output_dtype=TensorProto.FLOAT
    )
    (real,) = run_compiled(proto, feeds)
    np.testing.assert_array_equal(real, codes.astype(np.float32) * np.array([[0.25], [8]], np.float32))


@pytest.mark.parametrize("name", ALL)
def test_text_has_the_constants_and_reads_back(name: str) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(ALL[name])
    x = np.arange(3).astype(np.float32).astype(dtype)
    graph = import_model(model([helper.make_node("Concat", ["x", "c"], ["y"], axis=0)],
                               [value("x", [3], ALL[name])], ["y"], {"c": x}, opset=24))  # fmt: skip
    text = print_graph(graph, constants="full")
    assert parse_graph(text) == graph and f" {DType.from_numpy(dtype).value}[" in text


def test_the_header_says_how_elements_are_stored(tmp_path: Path) -> None:
    machine = host_machine()
    nodes = [helper.make_node("Cast", ["x"], [name], to=to) for name, to in ALL.items()]
    graph = checked_import(model(nodes, [value("x", [3])], list(ALL), opset=24))
    write_c(replace(lower_graph(optimize(graph), machine), name="model"), machine, tmp_path)
    header = (tmp_path / "model.h").read_text()
    for wanted in (
        "BFLOAT16, bf16[3], row-major, the bits of bfloat16.", "BFLOAT16_TYPE uint16_t",
        "INT4, i4[3], row-major, integers, one element a byte, in its 4 low bits.", "INT4_TYPE int8_t",
        "FLOAT4E2M1, f4e2m1[3], row-major, the bits of float4 E2M1, one element a byte, in its 4 low bits.",
        "FLOAT8E5M2, f8e5m2[3], row-major, the bits of float8 E5M2.", "FLOAT8E5M2_TYPE uint8_t",
    ):  # fmt: skip
        assert wanted in header
