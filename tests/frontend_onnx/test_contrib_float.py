"""Float operators and attention of ONNX Runtime's domain, compiled, against ONNX Runtime.

Both compute in float32 in another order: sums over k elements differ by about k * 2^-24 of their terms, which is below
1e-5 for the tens of elements here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from ccml import onnx_backend
from ccml.errors import CcmlError
from onnx import helper, numpy_helper

from tests.frontend_onnx.graphs import run_compiled, value

RNG = np.random.default_rng(5)
MICROSOFT = "com.microsoft"


def floats(seed: int) -> Callable[..., np.ndarray]:
    """What gives float32 of a shape, for a module's cases: those of others do not change them."""
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.standard_normal(shape).astype(np.float32)


f = floats(5)


def i(*numbers: Any, dtype: type = np.int32) -> np.ndarray:
    return np.array(numbers, dtype)


KINDS: dict[str, dict[int, int]] = {
    "BiasDropout": {1: onnx.TensorProto.BOOL},
    "EmbedLayerNormalization": {1: onnx.TensorProto.INT32},
    "IsAllFinite": {0: onnx.TensorProto.BOOL},
    "MatMulInteger16": {0: onnx.TensorProto.INT32},
    "MulInteger": {0: onnx.TensorProto.INT32},
    "NGramHashMapping": {0: onnx.TensorProto.INT64, 1: onnx.TensorProto.INT64},
    "QEmbedLayerNormalization": {1: onnx.TensorProto.INT32},
    "ReduceSumInteger": {0: onnx.TensorProto.INT32},
    "Unique": {1: onnx.TensorProto.INT64, 2: onnx.TensorProto.INT64},
}
"""Types of outputs that are not float."""


@dataclass(frozen=True)
class Case:
    """One node. ``outputs`` are those that it has, by place, with the type where that is not float; ``valid``: how much
    of the third dimension of those behind the first is compared; ``in_place``: the outputs that ONNX Runtime writes
    into an input."""

    op_type: str
    operands: Sequence[np.ndarray | None]
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[int, ...] = (0,)
    domain: str = MICROSOFT
    valid: int | None = None
    opset: int = 17
    shapes: dict[int, list[int]] = field(default_factory=dict)
    in_place: dict[str, str] = field(default_factory=dict)

    def model(self) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        feeds = {f"x{n}": np.asarray(array) for n, array in enumerate(self.operands) if array is not None}
        names = [f"x{n}" if array is not None else "" for n, array in enumerate(self.operands)]
        results = [f"y{n}" if n in self.outputs else "" for n in range(max(self.outputs) + 1)]
        node = helper.make_node(self.op_type, names, results, domain=self.domain, name="node", **self.attrs)
        inputs = [value(n, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for n, a in feeds.items()]
        kinds = KINDS.get(self.op_type, {})
        outputs = [
            value(f"y{n}", self.shapes.get(n), kinds.get(n, onnx.TensorProto.FLOAT)) for n in self.outputs
        ]  # fmt: skip
        graph = helper.make_graph([node], "g", inputs, outputs)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


def qkv(length: int, total: int, heads: int = 2, size: int = 4, batch: int = 2) -> list[np.ndarray]:
    return [f(batch, rows, heads * size) for rows in (length, total, total)]


MASK = i([1, 1, 0, 1, 1], [1, 1, 1, 1, 0])
ATTENTION = [f(2, 5, 6), f(6, 24), f(24)]
COS, SIN = (np.cos(np.arange(12)[:, None] * [1, 0.3]), np.sin(np.arange(12)[:, None] * [1, 0.3]))
CACHES = [COS.astype(np.float32), SIN.astype(np.float32)]
WIDE = [np.concatenate([cache, cache[::-1]] * 2, 1) for cache in CACHES]
PLACES = RNG.integers(0, 12, (3, 2, 5))
GROUPED = {"num_heads": 4, "kv_num_heads": 2}


def byte_embeddings(segments: bool, mask: np.ndarray | None) -> list[np.ndarray | None]:
    """Tables of words, places and segments, gamma and beta of eight bytes a row, with scales and zero points."""
    extents = ((5, 8), (4, 8), (2, 8) if segments else None, (8,), (8,))
    tables = [None if extent is None else RNG.integers(0, 256, extent).astype(np.uint8) for extent in extents]
    scales = [None if table is None else np.float32(0.01 * (n + 1)) for n, table in enumerate(tables)]
    zeros = [None if table is None else np.uint8(120 + n) for n, table in enumerate(tables)]
    ids = i([1, 3, 0], [2, 2, 1])
    return [ids, i([0, 0, 1], [1, 1, 1]) if segments else None, *tables, mask, *scales, *zeros]


def grouped(length: int, past: int, lengths: Sequence[int], total: int, *more: np.ndarray | None, room: int = 9,
            packed: bool = False) -> list[np.ndarray | None]:  # fmt: skip
    """Queries of four heads of sixteen, and a cache of two."""
    q = [f(2, length, 128), None, None] if packed else [f(2, length, 64), f(2, length, 32), f(2, length, 32)]
    cache = [f(2, 2, room, 16), f(2, 2, room, 16)]
    return [*q, *cache, i(*(n - 1 for n in lengths)), i(total), *more]


CASES: dict[str, Case] = {
    "Gelu": Case("Gelu", [f(3, 5)]),
    "BiasGelu": Case("BiasGelu", [f(3, 5), f(5)]),
    "FastGelu": Case("FastGelu", [f(3, 5)]),
    "FastGelu, bias": Case("FastGelu", [f(3, 5), f(5)]),
    "QuickGelu": Case("QuickGelu", [f(3, 5)], {"alpha": 1.5}),
    "FusedConv": Case("FusedConv", [f(1, 3, 6, 6), f(4, 3, 3, 3), f(4)], {"activation": "Relu", "pads": [1] * 4}),
    "FusedConv, sum": Case(
        "FusedConv", [f(1, 3, 6, 6), f(4, 3, 3, 3), f(4), f(1, 4, 4, 4)], {"activation": "Relu"},
    ),
    "FusedConv, LeakyRelu": Case(
        "FusedConv", [f(1, 3, 6, 6), f(4, 3, 3, 3)], {"activation": "LeakyRelu", "activation_params": [0.2]}
    ),
    "FusedConv, Clip": Case(
        "FusedConv", [f(1, 3, 6, 6), f(4, 3, 3, 3)], {"activation": "Clip", "activation_params": [-0.5, 1.0]}
    ),
    "FusedConv, HardSigmoid": Case(
        "FusedConv", [f(1, 2, 6, 6), f(4, 1, 3, 3)],
        {"activation": "HardSigmoid", "activation_params": [0.3, 0.4], "group": 2, "strides": [2, 2]},
    ),
    "FusedGemm": Case("FusedGemm", [f(4, 3), f(4, 5), f(5)], {"activation": "Relu", "transA": 1, "alpha": 0.5}),
    "FusedGemm, LeakyRelu": Case(
        "FusedGemm", [f(3, 4), f(4, 5)], {"activation": "LeakyRelu", "activation_alpha": 0.3}
    ),
    "FusedMatMul": Case("FusedMatMul", [f(2, 4, 3), f(2, 5, 4)], {"transA": 1, "transB": 1, "alpha": 0.25}),
    "FusedMatMul, batch": Case("FusedMatMul", [f(3, 2, 4), f(2, 4, 5)], {"transBatchA": 1}),
    "FusedMatMul, both batches": Case(
        "FusedMatMul", [f(4, 2, 3), f(5, 2, 4)], {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1}
    ),
    "TransposeMatMul": Case("TransposeMatMul", [f(3, 4), f(5, 4)], {"transB": 1}),
    "Affine": Case("Affine", [f(2, 3)], {"alpha": 2.0, "beta": 0.5}, domain="", opset=6),
    "Crop": Case("Crop", [f(2, 3, 6, 8)], {"border": [1, 2, 3, 1]}, domain="", opset=6),
    "Crop to a size": Case("Crop", [f(2, 3, 6, 8)], {"border": [1, 2, 0, 0], "scale": [3, 5]}, domain="", opset=6),
    "ImageScaler": Case("ImageScaler", [f(2, 3, 4, 5)], {"scale": 2.0, "bias": [1.0, 2.0, 3.0]}, domain="", opset=6),
    "normalization, first form": Case("MeanVarianceNormalization", [f(2, 3, 4, 5)], domain="", opset=8),
    "normalization, first form, across channels": Case(
        "MeanVarianceNormalization", [f(2, 3, 4, 5)], {"across_channels": 1, "normalize_variance": 0}, domain="",
        opset=6,
    ),
    "ParametricSoftplus": Case("ParametricSoftplus", [f(2, 3)], {"alpha": 2.0, "beta": 0.5}, domain="", opset=6),
    "Scale": Case("Scale", [f(2, 3)], {"scale": 2.0}, domain="", opset=6),
    "ScaledTanh": Case("ScaledTanh", [f(2, 3)], {"alpha": 2.0, "beta": 0.5}, domain="", opset=6),
    "ThresholdedRelu of operator set 1": Case("ThresholdedRelu", [f(2, 3)], {"alpha": 0.5}, domain="", opset=6),
    "SimplifiedLayerNormalization": Case(
        "SimplifiedLayerNormalization", [f(2, 3, 8), f(8)], {"epsilon": 1e-6}, domain=""
    ),
    "LayerNormalization before 17": Case(
        "LayerNormalization", [f(2, 3, 8), f(8), f(8)], {"epsilon": 1e-6, "axis": -1}, domain="", opset=13
    ),
    "SkipLayerNormalization": Case(
        "SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], {"epsilon": 1e-5}, (0, 3)
    ),
    "SkipLayerNormalization, plain": Case("SkipLayerNormalization", [f(2, 3, 8), f(1, 3, 8), f(8)]),
    "SkipSimplifiedLayerNormalization": Case(
        "SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(3, 8), f(8), f(8)], {"epsilon": 1e-5}, (0, 3)
    ),
    "EmbedLayerNormalization": Case(
        "EmbedLayerNormalization",
        [i([1, 3, 0], [2, 2, 1]), i([0, 0, 1], [1, 1, 1]), f(5, 8), f(4, 8), f(2, 8), f(8), f(8),
         i([1, 1, 0], [1, 0, 0])], {"epsilon": 1e-5}, (0, 1, 2),
    ),
    "EmbedLayerNormalization, places": Case(
        "EmbedLayerNormalization",
        [i([1, 3, 0]), None, f(5, 8), f(4, 8), None, f(8), f(8), None, i([3, 1, 2])], {}, (0, 1),
    ),
    "QEmbedLayerNormalization": Case(
        "QEmbedLayerNormalization", byte_embeddings(True, i([1, 1, 0], [1, 0, 0])), {"epsilon": 1e-5}, (0, 1)
    ),
    "QEmbedLayerNormalization, words": Case("QEmbedLayerNormalization", byte_embeddings(False, None), {}, (0, 1)),
    "GridSample": Case("GridSample", [f(2, 3, 4, 5), f(2, 3, 2, 2)], {"mode": "bilinear", "padding_mode": "border"}),
    "GridSample, bicubic": Case("GridSample", [f(1, 1, 4, 5), f(1, 3, 2, 2)], {"mode": "bicubic", "align_corners": 1}),
    "UnfoldTensor": Case("UnfoldTensor", [f(2, 9, 3)], {"dim": 1, "size": 3, "step": 2}),
    "UnfoldTensor, last": Case("UnfoldTensor", [f(2, 4)], {"size": 4}),
    "Inverse": Case("Inverse", [f(2, 3, 4, 4)]),
    "Inverse, zeros in front": Case(
        "Inverse", [np.array([[0, 2, 1], [0, 0, 3], [4, 1, 1]], np.float32)]
    ),
    "MatMulInteger16": Case("MatMulInteger16", [i([300, -400], dtype=np.int16), i([500], [7], dtype=np.int16)]),
    "NGramRepeatBlock": Case(
        "NGramRepeatBlock", [i([1, 2, 3, 1, 2], [4, 4, 4, 4, 4], dtype=np.int64), f(2, 6)], {"ngram_size": 3}
    ),
    "NGramRepeatBlock, words": Case("NGramRepeatBlock", [i([1, 2], dtype=np.int64), f(1, 6)], {"ngram_size": 1}),
    "CDist": Case("CDist", [f(3, 4), f(5, 4)], {"metric": "euclidean"}),
    "Attention": Case("Attention", ATTENTION, {"num_heads": 2}),
    "Attention, past": Case(
        "Attention", [*ATTENTION, None, f(2, 2, 2, 3, 4)], {"num_heads": 2, "unidirectional": 1}, (0, 1)
    ),
    "Attention, mask": Case("Attention", [*ATTENTION, MASK], {"num_heads": 2, "scale": 0.3}),
    "Attention, mask and causal": Case("Attention", [*ATTENTION, MASK], {"num_heads": 2, "unidirectional": 1}, (0, 1)),
    "Attention, mask of pairs": Case("Attention", [*ATTENTION, np.repeat(MASK[:, None], 5, 1)], {"num_heads": 2}),
    "Attention, ends": Case("Attention", [*ATTENTION, i(3, 5)], {"num_heads": 2, "mask_filter_value": -1000.0}),
    "Attention, ends and starts": Case("Attention", [*ATTENTION, i(3, 5, 0, 2)], {"num_heads": 2}),
    "Attention, bias": Case("Attention", [*ATTENTION, None, None, f(1, 2, 5, 5)], {"num_heads": 2}),
    "Attention, sizes": Case(
        "Attention", [f(2, 5, 6), f(6, 20), f(20)], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]}
    ),
    "MultiHeadAttention": Case("MultiHeadAttention", qkv(3, 5), {"num_heads": 2}),
    "MultiHeadAttention, bias": Case("MultiHeadAttention", [*qkv(5, 5), f(24)], {"num_heads": 2}, (0, 1, 2)),
    "MultiHeadAttention, mask": Case(
        "MultiHeadAttention", [*qkv(3, 5), None, MASK, f(1, 2, 3, 5)], {"num_heads": 2, "scale": 0.7}
    ),
    "MultiHeadAttention, past": Case(
        "MultiHeadAttention", [*qkv(2, 2), None, None, None, f(2, 2, 3, 4), f(2, 2, 3, 4)],
        {"num_heads": 2, "unidirectional": 1}, (0, 1, 2),
    ),
    "MultiHeadAttention, ready keys": Case(
        "MultiHeadAttention", [f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)], {"num_heads": 2}
    ),
    "MultiHeadAttention, scores": Case(
        "MultiHeadAttention", [*qkv(3, 5), None, None, f(1, 2, 3, 5)], {"num_heads": 2}, (0, 3)
    ),
    "MultiHeadAttention, wide values": Case(
        "MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 12)], {"num_heads": 2}
    ),
    "GroupQueryAttention": Case("GroupQueryAttention", grouped(3, 0, [3, 3], 3), GROUPED, (0, 1, 2), valid=3),
    "GroupQueryAttention, one more": Case(
        "GroupQueryAttention", grouped(1, 4, [5, 4], 5), GROUPED, (0, 1, 2), valid=4
    ),
    "GroupQueryAttention, rotary": Case(
        "GroupQueryAttention", grouped(1, 4, [5, 4], 5, *WIDE), {**GROUPED, "do_rotary": 1}, (0, 1, 2), valid=4
    ),
    "GroupQueryAttention, rotary first": Case(
        "GroupQueryAttention", grouped(3, 0, [3, 3], 3, *WIDE),
        {**GROUPED, "do_rotary": 1, "rotary_interleaved": 1}, (0, 1, 2), valid=3,
    ),
    "GroupQueryAttention, packed": Case(
        "GroupQueryAttention", grouped(1, 4, [5, 5], 5, packed=True), {**GROUPED, "scale": 0.4}, (0, 1, 2), valid=5
    ),
    "GroupQueryAttention, window": Case(
        "GroupQueryAttention", grouped(1, 6, [7, 7], 7), {**GROUPED, "local_window_size": 3}, (0, 1, 2), valid=7
    ),
    "GroupQueryAttention, softcap": Case(
        "GroupQueryAttention", grouped(3, 0, [3, 3], 3), {**GROUPED, "softcap": 0.7}, (0, 1, 2), valid=3
    ),
    "GroupQueryAttention, smooth": Case(
        "GroupQueryAttention", grouped(3, 0, [3, 3], 3), {**GROUPED, "smooth_softmax": 1}, (0, 1, 2), valid=3
    ),
    "GroupQueryAttention, bias": Case(
        "GroupQueryAttention", grouped(3, 0, [3, 3], 3, None, None, None, f(1, 4, 3, 3)), GROUPED, (0, 1, 2), valid=3
    ),
    "GroupQueryAttention, sinks": Case(
        "GroupQueryAttention", grouped(3, 0, [3, 3], 3, None, None, None, None, f(4)), GROUPED, (0, 1, 2), valid=3
    ),
    "GroupQueryAttention, no past": Case(
        "GroupQueryAttention", [*grouped(3, 0, [3, 3], 3)[:3], None, None, i(2, 2), i(3)], GROUPED, (0, 1, 2)
    ),
    "GroupQueryAttention, growing": Case(
        "GroupQueryAttention", grouped(1, 4, [5, 5], 5, room=4), GROUPED, (0, 1, 2),
        shapes={1: [2, 2, 5, 16], 2: [2, 2, 5, 16]},
    ),
    "GroupQueryAttention, both directions": Case(
        "GroupQueryAttention", grouped(3, 0, [3, 3], 3), {**GROUPED, "causal": 0}, (0, 1, 2), valid=3
    ),
    "GroupQueryAttention, tokens that count": Case(
        "GroupQueryAttention", [*grouped(3, 4, [6, 5], 9), *[None] * 9, i(3, 3)], GROUPED, (0, 1, 2), valid=5
    ),
    **{
        f"GroupQueryAttention, {what} of {name}": Case(
            "GroupQueryAttention", grouped(length, past, ends, max(ends), *more),
            {**GROUPED, **attributes, "qk_output": output}, (0, 1, 2, 3), valid=min(ends),
        )
        for output, what in ((1, "scores"), (2, "shares"))
        for name, length, past, ends, more, attributes in (
            ("a prompt", 3, 0, [3, 3], (), {}), ("one more", 1, 4, [5, 4], (), {"softcap": 0.7}),
            ("a window", 1, 6, [7, 7], (), {"local_window_size": 3}),
            ("a smooth one", 3, 0, [3, 3], (), {"smooth_softmax": 1}),
            ("a bias", 3, 0, [3, 3], (None, None, None, floats(6)(1, 4, 3, 3)), {}),
        )
    },
    "RotaryEmbedding": Case("RotaryEmbedding", [f(2, 3, 8), i([0, 1, 2], [5, 3, 1], dtype=np.int64), *CACHES]),
    "RotaryEmbedding, offset": Case("RotaryEmbedding", [f(2, 2, 3, 4), i(4, dtype=np.int64), *CACHES]),
    "RotaryEmbedding, interleaved": Case(
        "RotaryEmbedding", [f(2, 3, 8), i(0, dtype=np.int64), *CACHES], {"interleaved": 1}
    ),
    "MRotaryEmbedding": Case(
        "MRotaryEmbedding", [f(2, 5, 8), PLACES, *CACHES], {"mrope_section": [1, 1, 0], "num_heads": 2}
    ),
    "MRotaryEmbedding, in turn": Case(
        "MRotaryEmbedding", [f(2, 2, 5, 16), PLACES, *WIDE], {"mrope_section": [3, 3, 2], "mrope_layout": 1}
    ),
    "MRotaryEmbedding, part": Case(
        "MRotaryEmbedding", [f(2, 5, 40), PLACES, *WIDE],
        {"mrope_section": [4, 2, 2], "num_heads": 2, "rotary_embedding_dim": 16, "interleaved": 1},
    ),
    "RotaryEmbedding, part": Case(
        "RotaryEmbedding", [f(2, 3, 12), i(0, dtype=np.int64), *CACHES], {"rotary_embedding_dim": 4, "num_heads": 2}
    ),
}  # fmt: skip


def by_onnxruntime(
    model: onnx.ModelProto, feeds: dict[str, np.ndarray], in_place: Mapping[str, str] = MappingProxyType({})
) -> list[np.ndarray]:
    """``in_place`` are the outputs that share the memory of an input."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    if not in_place:
        return session.run(None, feeds)
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array.copy()) for name, array in feeds.items()}
    for name, tensor in values.items():
        binding.bind_ortvalue_input(name, tensor)
    for output in session.get_outputs():
        if output.name in in_place:
            binding.bind_ortvalue_output(output.name, values[in_place[output.name]])
        else:
            binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def check_like_onnxruntime(case: Case, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Compiled, against ONNX Runtime."""
    model, feeds = case.model()
    wanted = by_onnxruntime(model, feeds, case.in_place)
    found = run_compiled(model, feeds)
    for number, (y, expected) in enumerate(zip(found, wanted, strict=True)):
        assert y.shape == expected.shape
        kept = slice(None) if case.valid is None or number == 0 else (slice(None), slice(None), slice(case.valid))
        np.testing.assert_allclose(y[kept], expected[kept], rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", CASES)
def test_like_onnxruntime(name: str) -> None:
    check_like_onnxruntime(CASES[name])


def test_values_without_repetition() -> None:
    model, feeds = Case("Unique", [i(2, 1, 1, 3, 4, 3, dtype=np.float32)], {}, (0, 1, 2)).model()
    for y, expected in zip(onnx_backend.run_model(model, feeds.values()), by_onnxruntime(model, feeds), strict=True):
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("form", ["forward", "reverse", "bidirectional", "peepholes", "columns", "lengths"])
def test_lstm_of_bytes(form: str) -> None:
    """States are quantized anew at each step, by the same numbers as in ONNX Runtime on one thread; on several it
    quantizes the parts of a batch apart."""
    d, steps, width, hidden = 2 if form in ("bidirectional", "lengths") else 1, 4, 5, 3
    batch = 1 if form == "lengths" else 2  # states behind an end, which ONNX Runtime quantizes with others, count not
    direction = "bidirectional" if d == 2 else "reverse" if form == "reverse" else "forward"
    n = (d, 4 * hidden) if form == "columns" else (d,)
    # no sums of two products by unsigned bytes beyond 16 bits, which saturate in ONNX Runtime on x86 without VNNI
    weights = [RNG.integers(-64, 65, (d, rows, 4 * hidden)).astype(np.int8) for rows in (width, hidden)]
    operands = [
        f(steps, batch, width), *weights, f(d, 8 * hidden), i(2) if form == "lengths" else None,
        f(d, batch, hidden), f(d, batch, hidden),
        f(d, 3 * hidden) if form == "peepholes" else None,
        *(part for _ in range(2) for part in (np.abs(f(*n)) / 100, np.zeros(n, np.int8))),
    ]  # fmt: skip
    more = {"clip": 0.7, "input_forget": 1} if form == "peepholes" else {}
    case = Case("DynamicQuantizeLSTM", operands, {"hidden_size": hidden, "direction": direction, **more}, (0, 1, 2))
    model, feeds = case.model()
    for place in (1, 2, 8, 9, 10, 11):  # which ONNX Runtime wants as constants
        model.graph.initializer.append(numpy_helper.from_array(feeds.pop(f"x{place}"), f"x{place}"))
    kept = [info for info in model.graph.input if info.name in feeds]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for y, expected in zip(run_compiled(model, feeds), by_onnxruntime(model, feeds), strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("keys_alone", [False, True])
def test_packed_operands(keys_alone: bool) -> None:
    """ONNX Runtime has no kernel for CPUs that takes them: as operands apart."""
    apart = qkv(5, 5)
    split = [array.reshape(2, 5, 2, 4) for array in apart]
    packed = [apart[0], np.stack(split[1:], 3)] if keys_alone else [np.stack(split, 3)]
    (wanted,) = by_onnxruntime(*Case("MultiHeadAttention", apart, {"num_heads": 2}).model())
    (found,) = run_compiled(*Case("MultiHeadAttention", packed, {"num_heads": 2}).model())
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_bias_softmax() -> None:
    """ONNX Runtime has no kernel of it for CPUs: by its definition."""
    x, bias = f(2, 3, 4, 5), f(2, 1, 1, 5)
    model, feeds = Case("BiasSoftmax", [x, bias], {"axis": 3, "is_inner_broadcast": 0}).model()
    e = np.exp(x + bias - (x + bias).max(-1, keepdims=True))
    np.testing.assert_allclose(run_compiled(model, feeds)[0], e / e.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("Attention", ATTENTION, {"num_heads": 5}), "are not queries, keys and values of 5 heads"),
        (Case("Attention", ATTENTION, {"num_heads": 2, "do_rotary": 1}), "not supported is do_rotary"),
        (Case("Attention", [*ATTENTION, i(1, 2, 3)], {"num_heads": 2}), r"a mask of the shape \[3\]"),
        (Case("FusedConv", [f(1, 1, 3, 3), f(1, 1, 3, 3)], {"activation": "Mystery"}), "the activation Mystery"),
        (Case("Attention", ATTENTION), "the attribute num_heads is missing"),
        (Case("FastGelu", [None, f(3)]), "missing"),
    ],
)
def test_refused(case: Case, reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        run_compiled(*case.model())
