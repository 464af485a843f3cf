"""Operators of ONNX Runtime's domain on emulated boards: a block of a transformer, in floats and quantized."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import onnx
from onnx import helper

from tests.frontend_onnx.graphs import model, value
from tests.tools import needs

WIDTH, LENGTH, HEADS = 16, 6, 2


def block(folder: Path) -> Path:
    """Attention, its sum and norm, then two layers with their sum and norm, as optimizers fuse them."""
    rng = np.random.default_rng(0)

    def w(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32)

    constants = {
        "wq": w(WIDTH, 3 * WIDTH), "bq": w(3 * WIDTH), "w1": w(WIDTH, 32), "b1": w(32), "w2": w(32, WIDTH),
        "g": np.ones(WIDTH, np.float32), "b": w(WIDTH),
    }  # fmt: skip

    def node(op: str, inputs: list[str], output: str, **attrs: object) -> onnx.NodeProto:
        return helper.make_node(op, inputs, [output], domain="com.microsoft", name=f"{op}_{output}", **attrs)

    nodes = [
        node("Attention", ["x", "wq", "bq"], "a", num_heads=HEADS, unidirectional=1),
        node("SkipLayerNormalization", ["a", "x", "g", "b"], "n"),
        node("FusedMatMul", ["n", "w1"], "h", alpha=0.5), node("BiasGelu", ["h", "b1"], "f"),
        node("FusedMatMul", ["f", "w2"], "m"), node("SkipSimplifiedLayerNormalization", ["m", "n", "g"], "y"),
    ]  # fmt: skip
    proto = model(nodes, [value("x", [1, LENGTH, WIDTH])], ["y"], constants, domains={"com.microsoft": 1})
    onnx.save(proto, folder / "block.onnx")
    return folder / "block.onnx"


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_block_on_a_board(tmp_path: Path) -> None:
    """Floats differ in the last bits."""
    assert ccml.verify(block(tmp_path), samples=1, target="cortex-m4", backend="llvm").ok


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_quantized_block_on_a_board(tmp_path: Path) -> None:
    """What the causal mask hides takes no part of the ranges of integers; these are the same as on this machine."""
    samples = np.random.default_rng(1).standard_normal((24, 1, LENGTH, WIDTH)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=samples)
    quantized = ccml.quantize(block(tmp_path), ccml.Quantization(tmp_path / "data.npz"), tmp_path / "q.onnx")
    assert quantized.accuracy is not None
    (output,) = quantized.accuracy.outputs
    assert output.sqnr_db is not None and output.sqnr_db > 20
    assert ccml.verify(tmp_path / "q.onnx", samples=1, target="cortex-m55", backend="llvm").ok
