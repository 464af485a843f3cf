"""A model of one operator, what it is given, and what TensorFlow Lite's reference kernel makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.frontend_tflite.build import G, Op, T, build

KIND_OF = {
    "ABS": "AbsOptions", "ADD": "AddOptions", "ADD_N": "AddNOptions", "ARG_MAX": "ArgMaxOptions",
    "ARG_MIN": "ArgMinOptions", "AVERAGE_POOL_2D": "Pool2DOptions", "BATCH_MATMUL": "BatchMatMulOptions",
    "CAST": "CastOptions", "CONCATENATION": "ConcatenationOptions", "CONV_2D": "Conv2DOptions",
    "CUMSUM": "CumsumOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "DIV": "DivOptions", "FULLY_CONNECTED": "FullyConnectedOptions", "GATHER": "GatherOptions", "GELU": "GeluOptions",
    "L2_NORMALIZATION": "L2NormOptions", "L2_POOL_2D": "Pool2DOptions", "LEAKY_RELU": "LeakyReluOptions",
    "MAX_POOL_2D": "Pool2DOptions", "MEAN": "ReducerOptions", "MIRROR_PAD": "MirrorPadOptions", "MUL": "MulOptions",
    "PACK": "PackOptions", "REDUCE_ALL": "ReducerOptions", "REDUCE_ANY": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions", "REDUCE_MIN": "ReducerOptions", "REDUCE_PROD": "ReducerOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions", "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "SOFTMAX": "SoftmaxOptions", "SPACE_TO_DEPTH": "SpaceToDepthOptions", "SPLIT": "SplitOptions",
    "SPLIT_V": "SplitVOptions", "STRIDED_SLICE": "StridedSliceOptions", "SUB": "SubOptions", "SUM": "ReducerOptions",
    "SVDF": "SVDFOptions", "TRANSPOSE_CONV": "TransposeConvOptions", "UNPACK": "UnpackOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
}  # fmt: skip
SEED = 7


@dataclass(frozen=True, eq=False)
class Case:
    """``steps``: how far integers may be apart; floats go by a relative error of 1e-5."""

    op: str
    label: str
    content: bytes
    feeds: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]
    steps: int = 0

    def __str__(self) -> str:
        return f"{self.op}-{self.label}"


@dataclass
class Maker:
    """Cases of a file, with random operands out of one generator for each."""

    cases: list[Case] = field(default_factory=list)

    def add(
        self,
        op: str,
        label: str,
        operands: Sequence[T | None],
        results: Sequence[T],
        feeds: Mapping[str, np.ndarray],
        expected: Sequence[np.ndarray],
        *,
        steps: int = 0,
        custom: bytes = b"",
        **options: object,
    ) -> None:
        """``expected`` are the results, and then the new states, in order."""
        tensors = [*(t for t in operands if t is not None), *results]
        inputs = [t.name for t in operands if t is not None and t.data is None and not t.variable]
        kind = KIND_OF.get(op) if options or op in KIND_OF else None
        node = Op(op, [t.name if t else "" for t in operands], [t.name for t in results], kind, options, custom)
        content = build(G(list({t.name: t for t in tensors}.values()), [node], list(dict.fromkeys(inputs)),
                          [t.name for t in results]))  # fmt: skip
        states = [f"{name}_next" for name in feeds if name not in inputs]
        names = [*(t.name for t in results), *states]
        self.cases.append(Case(op, label, content, feeds, dict(zip(names, expected, strict=True)), steps))


def random(shape: Sequence[int], dtype: type = np.float32, low: float = -1, high: float = 1) -> np.ndarray:
    """Floats within bounds, or integers of the whole type where it has 8 or 16 bits."""
    rng = np.random.default_rng([SEED, *shape, np.dtype(dtype).num])
    if np.dtype(dtype).kind == "f":
        return rng.uniform(low, high, tuple(shape)).astype(dtype)
    if np.dtype(dtype) == np.bool_:
        return rng.random(tuple(shape)) < 0.5
    info = np.iinfo(dtype)
    if info.bits > 16:
        return rng.integers(int(low), int(high), tuple(shape)).astype(dtype)
    return rng.integers(info.min, info.max + 1, tuple(shape)).astype(dtype)


def real(stored: np.ndarray, tensor: T) -> np.ndarray:
    """What a quantized array stands for, in float64; anything else as it is."""
    if tensor.scale is None:
        return stored.astype(np.float64) if stored.dtype.kind == "f" else stored
    scale, zero = (np.asarray(p, np.float64) for p in (tensor.scale, tensor.zero))
    if scale.size > 1:
        shape = [-1 if d == tensor.axis else 1 for d in range(stored.ndim)]
        scale, zero = scale.reshape(shape), np.broadcast_to(zero, scale.shape).reshape(shape)
    return (stored.astype(np.float64) - zero) * np.float64(np.float32(scale) if scale.size == 1 else scale)


def stored(numbers: np.ndarray, tensor: T) -> np.ndarray:
    """Real numbers as a tensor has them: halves away from zero where it is quantized."""
    dtype = np.dtype(tensor.dtype)
    if tensor.scale is None:
        return numbers.astype(dtype)
    info = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        steps = numbers / np.float64(np.float32(tensor.scale))
        rounded = np.where(steps >= 0, np.floor(steps + 0.5), np.ceil(steps - 0.5)) + tensor.zero  # type: ignore[operator]
    return np.clip(np.nan_to_num(rounded), info.min, info.max).astype(dtype)
