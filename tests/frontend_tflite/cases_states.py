"""Operators with states, variables, control flow."""

from __future__ import annotations

import numpy as np
from flatbuffers import flexbuffers

from tests.frontend_tflite.build import G, Op, T, build, const
from tests.frontend_tflite.case import Case, Maker, random
from tests.frontend_tflite.fixed_point import clamped, f32, multiply

M = Maker()


# ---------------------------------------------------------------- SVDF

_N, _I, _FILTERS, _MEMORY, _RANK = 2, 3, 6, 5, 2
_x, _wf, _wt, _b, _s = (
    random(shape)
    for shape in ((_N, _I), (_FILTERS, _I), (_FILTERS, _MEMORY), (_FILTERS // _RANK,), (_N, _FILTERS * _MEMORY))
)


def _shifted(state: np.ndarray, newest: np.ndarray) -> np.ndarray:
    rows = state.reshape(_N, _FILTERS, _MEMORY)
    return np.concatenate([rows[:, :, 1:], newest[:, :, None]], axis=2)


_rows = _shifted(_s, _x @ _wf.T)
_y = (_rows * _wt).sum(axis=2).reshape(_N, -1, _RANK).sum(axis=2) + _b
M.add(
    "SVDF",
    "f32",
    [
        T("x", _x.shape),
        const("f", _wf, np.float32),
        const("t", _wt, np.float32),
        const("b", _b, np.float32),
        T("s", _s.shape, variable=True),
    ],
    [T("y", _y.shape)],
    {"x": _x, "s": _s},
    [np.maximum(_y, 0), _rows.reshape(_s.shape)],
    Rank=_RANK,
    FusedActivationFunction=1,
)
for _dtype in (np.int8, np.int16):
    _xq, _fq, _tq = random(_x.shape, np.int8), random(_wf.shape, np.int8), random(_wt.shape, _dtype)
    _sq, _bq = random(_s.shape, np.int16), random(_b.shape, np.int32, -9000, 9000)
    _sx, _sf, _st, _ss, _sy = f32(0.05), f32(0.011), f32(0.013 if _dtype is np.int8 else 5e-5), f32(2.1e-3), f32(1.7)
    _features = np.clip(multiply((_xq.astype(np.int64) + 7) @ _fq.astype(np.int64).T, _sx * _sf / _ss), -32768, 32767)
    _rows = _shifted(_sq, _features.astype(np.int16))
    _acc = (_rows.astype(np.int64) * _tq).sum(axis=2).reshape(_N, -1, _RANK).sum(axis=2) + _bq
    _y8 = T("y", _y.shape, np.int8, _sy, 4)
    M.add(
        "SVDF",
        f"i8-{np.dtype(_dtype)}",
        [
            T("x", _x.shape, np.int8, _sx, -7),
            const("f", _fq, np.int8, scale=_sf),
            const("t", _tq, _dtype, scale=_st),
            const("b", _bq, np.int32, scale=_ss * _st),
            T("s", _s.shape, np.int16, _ss, variable=True),
        ],
        [_y8],
        {"x": _xq, "s": _sq},
        [clamped(multiply(_acc, _ss * _st / _sy), np.int8, None, _sy, 4), _rows.reshape(_s.shape)],
        steps=1,
        Rank=_RANK,
    )

# ---------------------------------------------------------------- LSTM

_T, _U = 4, 5


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _lstm(
    x: np.ndarray,
    w: list[np.ndarray],
    r: list[np.ndarray],
    b: list[np.ndarray],
    h: np.ndarray,
    c: np.ndarray,
    clip: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x [t, n, i]; gates in the order i, f, c, o."""
    rows = []
    for row in x.astype(np.float64):
        i, f, g, o = (row @ w[k].T + h @ r[k].T + b[k] for k in range(4))
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        c = np.clip(c, -clip, clip) if clip else c
        h = _sigmoid(o) * np.tanh(c)
        rows.append(h)
    return np.stack(rows), h, c


def _operands(x: T, w: list[T], r: list[T], b: list[T], h: T, c: T) -> list[T | None]:
    return [x, *w, *r, None, None, None, *b, None, None, h, c, *[None] * 4]


_W = [random((_U, _I)) * k for k in (1, 0.7, -1, 1.3)]
_R = [random((_U, _U)) * k for k in (1, 0.7, -1, 1.3)]
_B = [random((_U,)) * k for k in (1, 0.7, -1, 1.3)]
_h, _c = random((_N, _U)), random((_N, _U)) * 0.5
for _major, _clip in ((True, 0.0), (False, 0.4)):
    _a = random((_T, _N, _I))
    _y, _h2, _c2 = _lstm(_a, _W, _R, _B, _h, _c, _clip)
    _turn = (lambda v: v) if _major else (lambda v: v.transpose(1, 0, 2).copy())
    M.add(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        f"f32-{_major}",
        _operands(
            T("x", _turn(_a).shape),
            [const(f"w{k}", v, np.float32) for k, v in enumerate(_W)],
            [const(f"r{k}", v, np.float32) for k, v in enumerate(_R)],
            [const(f"b{k}", v, np.float32) for k, v in enumerate(_B)],
            T("h", _h.shape, variable=True),
            T("c", _c.shape, variable=True),
        ),
        [T("y", _turn(_y).shape)],
        {"x": _turn(_a), "h": _h, "c": _c},
        [_turn(_y).astype(np.float32), _h2.astype(np.float32), _c2.astype(np.float32)],
        TimeMajor=_major,
        CellClip=_clip,
        FusedActivationFunction=4,
    )


def _quantized_lstm() -> None:
    """int8 activations, int16 cells: gates in steps of 2**-12, what they become in steps of 2**-15."""
    sx, zx, sw, sr, sh, zh, sc = f32(0.021), 3, f32(0.007), f32(0.006), f32(1 / 128), -2, 2.0**-11
    x, h = random((_T, _N, _I), np.int8), random((_N, _U), np.int8)
    c = (random((_N, _U), np.int16) // 16).astype(np.int16)
    w = [np.roll(random((_U, _I), np.int8), k) for k in range(4)]
    r = [np.roll(random((_U, _U), np.int8), k) for k in range(4)]
    b = [np.roll(random((_U,), np.int32, -900, 900), k) for k in range(4)]
    h2, c2, rows = h, c.astype(np.int64), []

    def saturated(v: np.ndarray) -> np.ndarray:
        return np.clip(v, -32768, 32767)

    def gate(k: int, row: np.ndarray, function) -> np.ndarray:  # type: ignore[no-untyped-def]
        inner = saturated(multiply((row.astype(np.int64) - zx) @ w[k].T.astype(np.int64) + b[k], sx * sw * 4096))
        outer = saturated(multiply((h2.astype(np.int64) - zh) @ r[k].T.astype(np.int64), sh * sr * 4096))
        return saturated(np.floor(function(saturated(inner + outer) / 4096) * 32768 + 0.5)).astype(np.int64)

    for row in x:
        i, f, g, o = gate(0, row, _sigmoid), gate(1, row, _sigmoid), gate(2, row, np.tanh), gate(3, row, _sigmoid)
        c2 = saturated(saturated(multiply(f * c2, 2.0**-15)) + saturated(multiply(i * g, 2.0**-30 / sc)))
        shown = saturated(np.floor(np.tanh(c2 * sc) * 32768 + 0.5)).astype(np.int64)
        h2 = np.clip(multiply(o * shown, 2.0**-30 / sh) + zh, -128, 127).astype(np.int8)
        rows.append(h2)
    state = {"h": T("h", h.shape, np.int8, sh, zh, variable=True), "c": T("c", c.shape, np.int16, sc, variable=True)}
    M.add(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "i8",
        _operands(
            T("x", x.shape, np.int8, sx, zx),
            [const(f"w{k}", v, np.int8, scale=sw) for k, v in enumerate(w)],
            [const(f"r{k}", v, np.int8, scale=sr) for k, v in enumerate(r)],
            [const(f"b{k}", v, np.int32, scale=sx * sw) for k, v in enumerate(b)],
            state["h"],
            state["c"],
        ),
        [T("y", (_T, _N, _U), np.int8, sh, zh)],
        {"x": x, "h": h, "c": c},
        [np.stack(rows), h2, c2.astype(np.int16)],
        steps=2,
        TimeMajor=True,
        FusedActivationFunction=4,
    )


_quantized_lstm()

# ---------------------------------------------------------------- rings

_ring, _row = random((1, 3, 1, 4), np.int8), random((1, 1, 1, 4), np.int8)
_next = np.concatenate([_ring[:, 1:], _row], axis=1)
_options = flexbuffers.Dumps({"cycles_max": 1})
for _label, _custom in (("i8", b""), ("i8-cycles", bytes(_options))):
    _content = build(
        G(
            [T("x", (1, 1, 1, 4), np.int8, 0.1), T("y", (1, 3, 1, 4), np.int8, 0.1)],
            [Op("CIRCULAR_BUFFER", ["x"], ["y"], custom=_custom)],
            ["x"],
            ["y"],
        )
    )
    M.cases.append(
        Case("CIRCULAR_BUFFER", _label, _content, {"x": _row, "y_ring": _ring}, {"y": _next, "y_ring_next": _next})
    )

# ---------------------------------------------------------------- variables


def _handle(key: str) -> Op:
    return Op("VAR_HANDLE", [], ["v"], "VarHandleOptions", {"SharedName": key})


_v = T("v", (), "RESOURCE")
_a, _total = random((2, 3)), random((2, 3)) * 3
_main = G(
    [_v, T("x", (2, 3)), T("old", (2, 3)), T("y", (2, 3))],
    [
        _handle("total"),
        Op("READ_VARIABLE", ["v"], ["old"]),
        Op("ADD", ["x", "old"], ["y"], "AddOptions"),
        Op("ASSIGN_VARIABLE", ["v", "y"], []),
    ],
    ["x"],
    ["y"],
)
_init = G(
    [_v, const("zero", np.zeros((2, 3)), np.float32)],
    [_handle("total"), Op("ASSIGN_VARIABLE", ["v", "zero"], [])],
    [],
    [],
)
_once = G(
    _main.tensors, [Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}), *_main.ops], ["x"], ["y"]
)
for _op, _files in (
    ("READ_VARIABLE", (_main,)),
    ("ASSIGN_VARIABLE", (_main,)),
    ("VAR_HANDLE", (_main,)),
    ("CALL_ONCE", (_once, _init)),
):
    M.cases.append(
        Case(_op, "sum", build(*_files), {"x": _a, "total": _total}, {"y": _a + _total, "total_next": _a + _total})
    )
_fixed = G(
    [_v, T("x", (2, 3)), T("old", (2, 3)), T("y", (2, 3))],
    [
        Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}),
        _handle("total"),
        Op("READ_VARIABLE", ["v"], ["old"]),
        Op("ADD", ["x", "old"], ["y"], "AddOptions"),
    ],
    ["x"],
    ["y"],
)
_init = G(
    [_v, const("one", np.full((2, 3), 1.5), np.float32)],
    [_handle("total"), Op("ASSIGN_VARIABLE", ["v", "one"], [])],
    [],
    [],
)
M.cases.append(Case("CALL_ONCE", "constant", build(_fixed, _init), {"x": _a}, {"y": _a + np.float32(1.5)}))

# ---------------------------------------------------------------- control flow

_abc = [T(name, (2, 3)) for name in "abc"]
_then = G(_abc, [Op("ADD", ["a", "b"], ["c"], "AddOptions")], ["a", "b"], ["c"])
_else = G(_abc, [Op("MUL", ["a", "b"], ["c"], "MulOptions")], ["a", "b"], ["c"])
_if = G(
    [T("p", (), np.bool_), *_abc],
    [Op("IF", ["p", "a", "b"], ["c"], "IfOptions", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})],
    ["p", "a", "b"],
    ["c"],
)
_b2 = random((2, 3)) * 3
for _p, _c3 in ((True, _a + _b2), (False, _a * _b2)):
    M.cases.append(
        Case("IF", f"f32-{_p}", build(_if, _then, _else), {"p": np.asarray(_p), "a": _a, "b": _b2}, {"c": _c3})
    )
_i = T("i", (), np.int32)
_less = G(
    [_i, T("v", (2, 3)), T("n", (), np.int32, data=np.asarray(4, np.int32)), T("r", (), np.bool_)],
    [Op("LESS", ["i", "n"], ["r"])],
    ["i", "v"],
    ["r"],
)
_body = G(
    [
        _i,
        T("v", (2, 3)),
        T("one", (), np.int32, data=np.asarray(1, np.int32)),
        T("j", (), np.int32),
        T("w", (2, 3)),
        const("half", 0.5, np.float32),
    ],
    [Op("ADD", ["i", "one"], ["j"], "AddOptions"), Op("MUL", ["v", "half"], ["w"], "MulOptions")],
    ["i", "v"],
    ["j", "w"],
)
_while = G(
    [_i, T("v", (2, 3)), T("j", (), np.int32), T("w", (2, 3))],
    [Op("WHILE", ["i", "v"], ["j", "w"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})],
    ["i", "v"],
    ["j", "w"],
)
for _start, _times in ((0, 4), (3, 1), (7, 0)):
    M.cases.append(
        Case(
            "WHILE",
            f"f32-{_start}",
            build(_while, _less, _body),
            {"i": np.asarray(_start, np.int32), "v": _a},
            {"j": np.asarray(_start + _times, np.int32), "w": _a * np.float32(0.5**_times)},
        )
    )

# ---------------------------------------------------------------- detection

_ANCHORS, _MOST, _CLASSES = 40, 8, 3


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    inner = float(np.prod(np.maximum(sides, 0)))
    return inner / (float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])) - inner)


def _detected(encoded: np.ndarray, scores: np.ndarray, anchors: np.ndarray, most: int, each: int) -> list[np.ndarray]:
    """Fast suppression: by the best class of each box, sorted."""
    centre = encoded[:, :2] / 10 * anchors[:, 2:] + anchors[:, :2]
    half = np.exp(encoded[:, 2:] / 5) * anchors[:, 2:] / 2
    boxes = np.concatenate([centre - half, centre + half], axis=1)
    chosen: list[int] = []
    for n in np.argsort(-scores.max(axis=1), kind="stable"):
        good = scores[n].max() >= 0.3 and all(_overlap(boxes[n], boxes[k]) <= 0.4 for k in chosen)
        if good and len(chosen) < most:
            chosen.append(int(n))
    result = [np.zeros((most, each, 4)), np.zeros((most, each)), np.zeros((most, each))]
    for row, n in enumerate(chosen):
        kinds = np.argsort(-scores[n], kind="stable")[:each]
        result[0][row], result[1][row], result[2][row] = boxes[n], kinds, scores[n][kinds]
    shaped = [result[0].reshape(1, -1, 4), result[1].reshape(1, -1), result[2].reshape(1, -1)]
    return [array.astype(np.float32) for array in (*shaped, np.asarray([len(chosen) * each]))]


_anchors = np.concatenate(
    [random((_ANCHORS, 2), np.float32, 0, 1), random((_ANCHORS, 2, 1))[..., 0] * 0.1 + 0.3], axis=1
)
_encoded, _scores = random((1, _ANCHORS, 4)), random((1, _ANCHORS, _CLASSES + 1), np.float32, 0, 1)
_few = _scores * np.float32(0.4)
for _each, _given in ((1, _scores), (2, _scores), (1, _few)):
    _options = {
        "max_detections": _MOST, "max_classes_per_detection": _each, "use_regular_nms": False, "num_classes": _CLASSES,
        "nms_score_threshold": 0.3, "nms_iou_threshold": 0.4, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0,
        "w_scale": 5.0,
    }  # fmt: skip
    M.add(
        "TFLite_Detection_PostProcess",
        f"f32-{_each}-{_given.max():.1f}",
        [T("e", _encoded.shape), T("s", _scores.shape), const("a", _anchors, np.float32)],
        [
            T("boxes", (1, _MOST * _each, 4)),
            T("classes", (1, _MOST * _each)),
            T("scores", (1, _MOST * _each)),
            T("n", (1,)),
        ],
        {"e": _encoded, "s": _given},
        _detected(_encoded[0], _given[0][:, 1:], _anchors, _MOST, _each),
        custom=bytes(flexbuffers.Dumps(_options)),
    )

CASES = M.cases
