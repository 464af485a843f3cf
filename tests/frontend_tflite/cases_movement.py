"""Operators that move elements, and those that choose them."""

from __future__ import annotations

import numpy as np

from tests.frontend_tflite.build import T, const
from tests.frontend_tflite.case import Maker, random, real, stored

M = Maker()
_S = (2, 4, 6, 3)
_F = random(_S)
_Q = random(_S, np.int8)
_I8: dict[str, object] = {"dtype": np.int8, "scale": 0.05, "zero": -7}


def _moved(op: str, label: str, f, *more: T, shape: tuple[int, ...] = _S, **options: object) -> None:  # type: ignore[no-untyped-def]
    """``f`` of floats, and of quantized elements, which stay what they are."""
    a, q = random(shape), random(shape, np.int8)
    y, z = f(a), f(q)
    M.add(op, f"f32{label}", [T("x", shape), *more], [T("y", y.shape)], {"x": a}, [y], **options)
    M.add(op, f"i8{label}", [T("x", shape, **_I8), *more], [T("y", z.shape, **_I8)], {"x": q}, [z], **options)  # type: ignore[arg-type]


_moved("RESHAPE", "", lambda x: x.reshape(8, 18), const("s", [8, -1]))
_moved("SQUEEZE", "", lambda x: x[:, 0], shape=(2, 1, 5))
_moved("EXPAND_DIMS", "", lambda x: x[:, None], const("a", 1))
_moved("TRANSPOSE", "", lambda x: x.transpose(0, 3, 1, 2), const("p", [0, 3, 1, 2]))
_moved("SLICE", "", lambda x: x[1:, 1:3, :, 2:], const("b", [1, 1, 0, 2]), const("s", [-1, 2, 6, -1]))
_moved("TILE", "", lambda x: np.tile(x, (1, 2, 1, 3)), const("m", [1, 2, 1, 3]))
_moved("BROADCAST_TO", "", lambda x: np.broadcast_to(x, (3, 2, 5)).copy(), const("s", [3, 2, 5]), shape=(2, 1))
_moved("REVERSE_V2", "", lambda x: x[:, ::-1, :, ::-1].copy(), const("a", [1, -1]))
_moved("GATHER_ND", "", lambda x: x[[1, 0], [3, 2]], const("i", [[1, 3], [0, 2]]))
_moved("GATHER", "", lambda x: x[:, :, [5, 0, 2]], const("i", [5, 0, 2]), Axis=2)
_moved("GATHER", "-negative", lambda x: x[..., [[2, 0]]], const("i", [[2, 0]]), Axis=-1)
_i = np.int32([[0, 3], [2, 2]])
_moved("GATHER", "-batch", lambda x: np.stack([x[n][_i[n]] for n in range(2)]), const("i", _i), Axis=1, BatchDims=1)
_moved(
    "GATHER",
    "-batch-behind",
    lambda x: np.stack([x[n][:, _i[n]] for n in range(2)]),
    const("i", _i),
    Axis=2,
    BatchDims=1,
)


def _slices(*entries: tuple[int, int, int]) -> tuple[T, T, T]:
    begin, end, step = zip(*entries)
    return const("b", begin), const("e", end), const("s", step)


_moved("STRIDED_SLICE", "", lambda x: x[:, 1:4:2, 5:0:-2, -2:], *_slices((0, 2, 1), (1, 4, 2), (5, 0, -2), (-2, 3, 1)))
_moved(
    "STRIDED_SLICE",
    "-masks",
    lambda x: x[:, :3, ::-1],
    *_slices((1, 0, 1), (2, 3, 1), (4, 2, -1)),
    BeginMask=0b111,
    EndMask=0b101,
)
_moved(
    "STRIDED_SLICE",
    "-shrink",
    lambda x: x[-1, ..., None, 1:],
    *_slices((-1, 0, 1), (0, 0, 1), (0, 0, 1), (1, 9, 1)),
    ShrinkAxisMask=1,
    EllipsisMask=2,
    NewAxisMask=4,
)


def _space_to_depth(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)], axis=-1)


def _depth_to_space(x: np.ndarray) -> np.ndarray:
    n, h, w, c = x.shape
    y = np.zeros((n, 2 * h, 2 * w, c // 4), x.dtype)
    for i in (0, 1):
        for j in (0, 1):
            y[:, i::2, j::2] = x[..., (2 * i + j) * (c // 4) : (2 * i + j + 1) * (c // 4)]
    return y


_moved("SPACE_TO_DEPTH", "", _space_to_depth, BlockSize=2)
M.add(
    "DEPTH_TO_SPACE",
    "f32",
    [T("x", (1, 2, 3, 8))],
    [T("y", (1, 4, 6, 2))],
    {"x": random((1, 2, 3, 8))},
    [_depth_to_space(random((1, 2, 3, 8)))],
    BlockSize=2,
)
_d = random((1, 2, 3, 8), np.int8)
M.add(
    "DEPTH_TO_SPACE",
    "i8",
    [T("x", _d.shape, **_I8)],
    [T("y", (1, 4, 6, 2), **_I8)],
    {"x": _d},
    [_depth_to_space(_d)],
    BlockSize=2,
)


def _zero(x: np.ndarray) -> float:
    return 0 if x.dtype.kind == "f" else -7


def _to_batch(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)), constant_values=_zero(x))
    return np.concatenate([padded[:, i::2, j::3] for i in range(2) for j in range(3)])


def _from_batch(x: np.ndarray) -> np.ndarray:
    n, h, w, c = x.shape
    y = np.zeros((n // 6, 2 * h, 3 * w, c), x.dtype)
    for block in range(6):
        y[:, block // 3 :: 2, block % 3 :: 3] = x[block * (n // 6) : (block + 1) * (n // 6)]
    return y[:, 1:, : 3 * w - 2]


_moved("SPACE_TO_BATCH_ND", "", _to_batch, const("b", [2, 3]), const("p", [[1, 1], [0, 0]]))
_moved("BATCH_TO_SPACE_ND", "", _from_batch, const("b", [2, 3]), const("p", [[1, 0], [0, 2]]), shape=(12, 4, 3, 2))

# ---------------------------------------------------------------- borders

_P = ((0, 0), (1, 2), (2, 0), (0, 1))
_moved("PAD", "", lambda x: np.pad(x, _P, constant_values=_zero(x)), const("p", _P))
M.add(
    "PADV2",
    "f32",
    [T("x", _S), const("p", _P), const("v", 0.5, np.float32)],
    [T("y", (2, 7, 8, 4))],
    {"x": _F},
    [np.pad(_F, _P, constant_values=0.5)],
)
M.add(
    "PADV2",
    "i8",
    [T("x", _S, **_I8), const("p", _P), const("v", 99, np.int8, scale=0.05, zero=-7)],
    [T("y", (2, 7, 8, 4), **_I8)],
    {"x": _Q},
    [np.pad(_Q, _P, constant_values=99)],
)
_moved("MIRROR_PAD", "-reflect", lambda x: np.pad(x, _P, "reflect"), const("p", _P), Mode=0)
_moved("MIRROR_PAD", "-symmetric", lambda x: np.pad(x, _P, "symmetric"), const("p", _P), Mode=1)

# ---------------------------------------------------------------- joining and parting

_A, _B, _C, _D = random((2, 3)), random((2, 5)), random((2, 3), np.int8), random((2, 5), np.int8)
M.add(
    "CONCATENATION",
    "f32",
    [T("a", (2, 3)), T("b", (2, 5))],
    [T("y", (2, 8))],
    {"a": _A, "b": _B},
    [np.maximum(np.concatenate([_A, _B], 1), 0)],
    Axis=-1,
    FusedActivationFunction=1,
)
M.add(
    "CONCATENATION",
    "i8",
    [T("a", (2, 3), **_I8), T("b", (2, 5), **_I8)],
    [T("y", (2, 8), **_I8)],
    {"a": _C, "b": _D},
    [np.concatenate([_C, _D], 1)],
    Axis=1,
)
_x, _w, _y = T("a", (2, 3), **_I8), T("b", (2, 5), np.int8, 0.021, 40), T("y", (2, 8), np.int8, 0.0613, 9)
M.add(
    "CONCATENATION",
    "i8-requantized",
    [_x, _w],
    [_y],
    {"a": _C, "b": _D},
    [np.concatenate([stored(real(_C, _x), _y), stored(real(_D, _w), _y)], 1)],
    steps=1,
    Axis=1,
)
_E = random((2, 3), np.int8)[::-1].copy()
M.add(
    "PACK",
    "i8",
    [T("a", (2, 3), **_I8), T("b", (2, 3), **_I8)],
    [T("y", (2, 2, 3), **_I8)],
    {"a": _C, "b": _E},
    [np.stack([_C, _E], 1)],
    Axis=1,
    ValuesCount=2,
)
M.add(
    "PACK",
    "f32-last",
    [T("a", (2, 3)), T("b", (2, 3))],
    [T("y", (2, 3, 2))],
    {"a": _A, "b": _A * 2},
    [np.stack([_A, _A * 2], -1)],
    Axis=-1,
    ValuesCount=2,
)
M.add(
    "UNPACK",
    "f32",
    [T("x", (2, 3))],
    [T(f"y{n}", (2,)) for n in range(3)],
    {"x": _A},
    [_A[:, n] for n in range(3)],
    Axis=1,
    Num=3,
)
M.add(
    "UNPACK",
    "i8",
    [T("x", (2, 3), **_I8)],
    [T(f"y{n}", (3,), **_I8) for n in range(2)],
    {"x": _C},
    [_C[0], _C[1]],
    Axis=0,
    Num=2,
)
M.add(
    "SPLIT",
    "i8",
    [const("a", 2), T("x", _S, **_I8)],
    [T(f"y{n}", (2, 4, 2, 3), **_I8) for n in range(3)],
    {"x": _Q},
    np.split(_Q, 3, axis=2),
    NumSplits=3,
)
M.add(
    "SPLIT_V",
    "f32",
    [T("x", _S), const("s", [1, -1, 2]), const("a", 2)],
    [T(f"y{n}", (2, 4, s, 3)) for n, s in enumerate((1, 3, 2))],
    {"x": _F},
    np.split(_F, [1, 4], axis=2),
    NumSplits=3,
)

# ---------------------------------------------------------------- shapes and fills

M.add("SHAPE", "i32", [T("x", _S)], [T("y", (4,), np.int32)], {"x": _F}, [np.int32(_S)])
M.add("RANK", "i32", [T("x", _S)], [T("y", (), np.int32)], {"x": _F}, [np.asarray(4, np.int32)])
M.add("ZEROS_LIKE", "f32", [T("x", (2, 3))], [T("y", (2, 3))], {"x": _A}, [np.zeros((2, 3), np.float32)])
M.add(
    "FILL",
    "f32",
    [const("d", [2, 3]), T("v", ())],
    [T("y", (2, 3))],
    {"v": np.float32(1.5)},
    [np.full((2, 3), np.float32(1.5))],
)
M.add(
    "BROADCAST_ARGS",
    "i32",
    [const("a", [3, 1]), const("b", [2, 1, 4])],
    [T("y", (3,), np.int32)],
    {},
    [np.int32([2, 3, 4])],
)

# ---------------------------------------------------------------- rows, updates, interpolation

_ids = np.int32([2, 0, 1, 2])
_table = const("w", _A.T, np.float32)
M.add("EMBEDDING_LOOKUP", "f32", [T("i", (4,), np.int32), _table], [T("y", (4, 2))], {"i": _ids}, [_A.T[_ids]])
_table = const("w", _C.T, np.int8, scale=0.02)
M.add(
    "EMBEDDING_LOOKUP",
    "hybrid",
    [T("i", (4,), np.int32), _table],
    [T("y", (4, 2))],
    {"i": _ids},
    [(_C.T[_ids] * np.float32(0.02)).astype(np.float32)],
)
_u = random((1, 2, 2, 3))
for _start in ([1, 1, 3, 0], [5, 3, -2, 1]):
    _at = [min(max(s, 0), e - u) for s, e, u in zip(_start, _S, _u.shape)]
    _new = _F.copy()
    _new[tuple(slice(a, a + u) for a, u in zip(_at, _u.shape))] = _u
    M.add(
        "DYNAMIC_UPDATE_SLICE",
        f"f32-{_start[0]}",
        [T("x", _S), T("u", _u.shape), T("s", (4,), np.int32)],
        [T("y", _S)],
        {"x": _F, "u": _u, "s": np.int32(_start)},
        [_new],
    )


def _places(extent: int, size: int, corners: bool, centres: bool) -> np.ndarray:
    scale = np.float32((extent - 1) / (size - 1) if corners and size > 1 else extent / size)
    return (np.arange(size) + 0.5) * scale if centres else np.arange(size) * scale


def _nearest(x: np.ndarray, size: tuple[int, int], corners: bool, centres: bool) -> np.ndarray:
    for axis, s in ((1, size[0]), (2, size[1])):
        place = _places(x.shape[axis], s, corners, centres)
        place = np.floor(place + 0.5) if corners else np.floor(place)
        x = np.take(x, np.minimum(place.astype(int), x.shape[axis] - 1), axis=axis)
    return x


def _bilinear(x: np.ndarray, size: tuple[int, int], corners: bool, centres: bool) -> np.ndarray:
    for axis, s in ((1, size[0]), (2, size[1])):
        place = np.maximum(_places(x.shape[axis], s, corners, centres) - (0.5 if centres else 0), 0)
        low = np.minimum(np.floor(place).astype(int), x.shape[axis] - 1)
        part = (place - low).reshape([-1 if d == axis else 1 for d in range(4)])
        high = np.minimum(low + 1, x.shape[axis] - 1)
        x = np.take(x, low, axis=axis) * (1 - part) + np.take(x, high, axis=axis) * part
    return x


for _label, _corners, _centres in (("plain", False, False), ("corners", True, False), ("centres", False, True)):
    for _size in ((8, 12), (3, 4), (5, 9)):
        _name, _options = f"{_label}-{_size[0]}", {"AlignCorners": _corners, "HalfPixelCenters": _centres}
        _out, _s = (2, *_size, 3), const("s", _size)
        for _op, _f in (("RESIZE_NEAREST_NEIGHBOR", _nearest), ("RESIZE_BILINEAR", _bilinear)):
            _y = _f(_F.astype(np.float64), _size, _corners, _centres).astype(np.float32)
            M.add(_op, f"f32-{_name}", [T("x", _S), _s], [T("y", _out)], {"x": _F}, [_y], **_options)
            _y = np.floor(_f(_Q.astype(np.float64), _size, _corners, _centres) + 0.5).astype(np.int8)
            M.add(
                _op,
                f"i8-{_name}",
                [T("x", _S, **_I8), _s],
                [T("y", _out, **_I8)],
                {"x": _Q},
                [_y],
                steps=int(_f is _bilinear),
                **_options,
            )

CASES = M.cases
