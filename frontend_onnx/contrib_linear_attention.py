"""Linear attention of ONNX Runtime's own domain, and what stands around it in hybrid language models.

B, T, Q, H, K and V below are sequences, their length, heads of queries, heads of the state, and the sizes of keys and
of values. A head has a state S ``[K, V]``, to which each token adds the outer product of its key and its value
(https://arxiv.org/abs/2412.06464 has the rule with decay and delta).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper

from ..record import record
from .contrib_body import Body, Rule, Unsupported
from .node_writer import NodeWriter

_RULES = frozenset({"linear", "gated", "delta", "gated_delta"})
_FLOAT = np.dtype(np.float32)
_LAST = np.iinfo(np.int64).max


@record
class _Tokens:
    """Operands of the recurrence, with T as their second dimension: queries ``[B, T, H, Q / H, K]``, or ``[B, T, H, 1,
    K]`` where there are more heads of the state; keys ``[B, T, H, K, 1]``, values ``[B, T, H, 1, V]``, factors of the
    state ``[B, T, H, K or 1, 1]`` and of what is added ``[B, T, H or 1, 1, 1]``; the latter two are empty where the
    rule has none."""

    queries: str
    keys: str
    values: str
    decay: str
    rate: str


def _linear_attention(body: Body) -> tuple[str, str]:
    """q ``[B, T, Q * K]``, k ``[B, T, H * K]``, v ``[B, T, H * V]``, state ``[B, H, K, V]``?, decay?, rate?"""
    heads, of_state = (int(body.attributes[name]) for name in ("q_num_heads", "kv_num_heads"))
    size, wide = _parts(body, 0, heads), _parts(body, 2, of_state)
    rule, window = body.text("update_rule", "gated_delta"), int(body.attributes.get("state_window", 0))
    decay = body.input(4) and body.reshape(body.wide(4), 0, 0, of_state, _parts(body, 4, of_state))
    q = body.reshape(body.wide(0), 0, 0, heads, size)
    k, of_keys = body.reshape(body.wide(1), 0, 0, -1, size), body.shape(1)[2] // size
    v = body.reshape(body.wide(2), 0, 0, of_state, wide)
    tokens = _tokens(body, rule, q, k, v, decay, body.wide(5), (heads, of_keys, of_state), size)
    state = body.wide(3)
    if state and window:
        state = body.emit("Squeeze", body.slice(state, 0, window - 1, window), body.integers(0))
    elif not state:
        state = _zeros(body, (of_state, size, wide))
    y, last, states = _recurrence(body, tokens, state, _scaling(body, size), bool(window))
    y = body.emit("CastLike", body.reshape(y, 0, 0, max(heads, of_state) * wide), body.input(0))
    last = _window(body, states, window, (of_state, size, wide)) if window else last
    return y, body.emit("CastLike", last, body.input(3) or body.input(0))


def _parts(body: Body, place: int, count: int) -> int:
    """How wide each of ``count`` parts of the last dimension is."""
    width = body.shape(place)[-1]
    if count < 1 or width % count:
        raise ValueError(f"{count} heads of {list(body.shape(place))}")
    return width // count


def _scaling(body: Body, size: int) -> float:
    return float(body.attributes.get("scale", 0.0)) or 1 / math.sqrt(size)


def _zeros(body: Body, shape: tuple[int, ...], dtype: np.dtype = _FLOAT) -> str:
    """A first state of zeros, of as many sequences as there are."""
    batch = body.emit("Shape", body.input(0), start=0, end=1)
    extents = body.emit("Concat", batch, body.integers(*shape), axis=0)
    return body.emit("Expand", body.constant(np.zeros((), dtype)), extents)


def _repeated(body: Body, x: str, heads: int, wanted: int, axis: int) -> str:
    """Each of ``heads`` for as many neighbours of those that are ``wanted``."""
    if heads == wanted:
        return x
    if heads > wanted or wanted % heads:
        raise ValueError(f"{heads} heads for {wanted}")
    return body.emit("Gather", x, body.constant(np.arange(wanted) // (wanted // heads)), axis=axis)


def _queries(body: Body, x: str, heads: int, of_state: int, size: int) -> str:
    """``[B, T, Q, K]`` grouped by heads of the state."""
    if heads < of_state:
        x, heads = _repeated(body, x, heads, of_state, 2), of_state
    if heads % of_state:
        raise ValueError(f"{heads} heads of queries for {of_state} of the state")
    return body.reshape(x, 0, 0, of_state, heads // of_state, size)


def _tokens(
    body: Body, rule: str, q: str, k: str, v: str, decay: str, rate: str, heads: tuple[int, int, int], size: int
) -> _Tokens:
    """``[B, T, heads, size]`` of queries, keys and values, with ``heads`` of queries, of keys and of the state;
    logarithms of factors of the state ``[B, T, H, K or 1]``, factors of what is added ``[B, T, H or 1]``."""
    if rule not in _RULES:
        raise Unsupported(f"update_rule {rule!r}")
    if ("gated" in rule and not decay) or ("delta" in rule and not rate):
        raise ValueError(f"update_rule {rule!r} needs decay and beta for what it is called after")
    of_queries, of_keys, of_state = heads
    return _Tokens(
        _queries(body, q, of_queries, of_state, size),
        body.emit("Unsqueeze", _repeated(body, k, of_keys, of_state, 2), body.integers(4)),
        body.emit("Unsqueeze", v, body.integers(3)),
        body.emit("Unsqueeze", body.emit("Exp", decay), body.integers(4)) if "gated" in rule else "",
        body.emit("Unsqueeze", rate, body.integers(3, 4)) if "delta" in rule else "",
    )


def _recurrence(body: Body, tokens: _Tokens, state: str, scale: float, keep: bool) -> tuple[str, str, str]:
    """Results ``[B, T, H, Q / H, V]``, the last state, and where they are to be kept the states of all tokens ``[T, B,
    H, K, V]``.

    A step reads the state once for what it holds for the key and for the queries, which see what is added by their
    products with the key, and once to change it; what does not need the state is in front of all steps.
    """
    keys = body.transpose(tokens.keys, 0, 1, 2, 4, 3)
    q = body.emit("Mul", tokens.queries, body.constant(np.asarray(scale, np.float32)))
    seen = body.emit("ReduceSum", body.emit("Mul", q, keys), body.integers(4), keepdims=1)
    asked = body.emit("Concat", keys, q, axis=3) if tokens.rate else q
    if tokens.decay:
        asked = body.emit("Mul", asked, body.transpose(tokens.decay, 0, 1, 2, 4, 3))
    given = {"asked": asked, "seen": seen, "k": tokens.keys, "v": tokens.values}
    given |= {name: x for name, x in (("decay", tokens.decay), ("rate", tokens.rate)) if x}
    found = body.emit_all(
        "Scan", [state, *given.values()], 3 if keep else 2, body=_step(body, list(given), keep),
        num_scan_inputs=len(given), scan_input_axes=[1] * len(given), scan_output_axes=[1, 0] if keep else [1],
    )  # fmt: skip
    last, y, *states = found
    return y, last, states[0] if keep else ""


def _step(body: Body, given: list[str], keep: bool) -> onnx.GraphProto:
    """S and what is ``given`` of a token -> S, what its queries find in it, and S again to ``keep``."""
    step = NodeWriter("token")
    y, v = step.emit("MatMul", "asked", "S"), "v"
    if "rate" in given:
        known, y = step.slice(y, 2, 0, 1), step.slice(y, 2, 1, _LAST)
        v = step.emit("Mul", step.emit("Sub", v, known), "rate")
    y = step.emit("Add", y, step.emit("Mul", "seen", v))
    kept = step.emit("Mul", "S", "decay") if "decay" in given else "S"
    state = step.emit("Add", kept, step.emit("Mul", "k", v))
    results = [state, y, *([step.emit("Identity", state)] if keep else [])]
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ends]
        for ends in (["S", *given], results)
    )
    return helper.make_graph(step.nodes, "token", inputs, outputs)


def _window(body: Body, states: str, window: int, shape: tuple[int, ...]) -> str:
    """The last of all states, zeros in front of them where there are fewer."""
    first = body.emit("Unsqueeze", _zeros(body, shape), body.integers(0))
    first = body.emit("Expand", first, body.integers(window, 1, *[1] * len(shape)))
    whole = body.emit("Concat", first, states, axis=0)
    return body.slice(whole, 0, -window, _LAST)


# ---------------------------------------------------------------- with gates and norms of its own


def _gated_delta_net(body: Body) -> tuple[str, str]:
    """q ``[B * T, Q, K]`` or ``[B, T, Q, K]``, k, v with as many heads as the state, or fewer; sequences' bounds?,
    decay?, rate?, state ``[B, H, V, K]``?, A_log?, dt_bias?"""
    if body.attributes.get("state_update_capacity", 0) or body.has(2):
        raise Unsupported("state_update")
    _one_sequence_length(body)
    q, k, v, (heads, of_keys, of_state, size, wide) = _queries_keys_values(body)
    if body.attributes.get("qk_l2_norm", 0):
        q, k = (_unit(body, x) for x in (q, k))
    rule = body.text("update_rule", "gated_delta")
    decay = _log_decay(body, of_state, size) if body.input(4) else ""
    rate = _rate(body, of_state) if body.input(5) else ""
    tokens = _tokens(body, rule, q, k, v, decay, rate, (heads, of_keys, of_state), size)
    if body.input(6):
        state = body.transpose(body.input(6), 0, 1, 3, 2)
    else:
        state = body.constant(np.zeros((body.shape(0)[0], of_state, size, wide), np.float32))
    y, last, _ = _recurrence(body, tokens, state, _scaling(body, size), False)
    most = max(heads, of_state)
    whole = len(body.shape(0)) == 4
    y = body.reshape(y, *((0, 0) if whole else (-1,)), most, wide)
    return body.emit("CastLike", y, body.input(0)), body.transpose(last, 0, 1, 3, 2)


def _one_sequence_length(body: Body) -> None:
    """Raises :class:`Unsupported` where sequences of several lengths stand behind each other."""
    if body.input(3) and body.shape(3)[0] != 2:
        raise Unsupported("cu_seqlens of several sequences")
    if len(body.shape(0)) < 4 and not body.input(6):
        raise ValueError("sequences behind each other need initial_state, which tells how many there are")


def _by_sequence(body: Body, x: str, *shape: int) -> str:
    """``[B, T, *shape]``"""
    if len(body.shape(0)) == 4:
        return body.reshape(x, 0, 0, *shape)
    return body.reshape(x, body.shape(6)[0], -1, *shape)


def _queries_keys_values(body: Body) -> tuple[str, str, str, tuple[int, int, int, int, int]]:
    """``[B, T, heads, size]`` each; heads of q, of k, of the state, the sizes of keys and of values."""
    if body.input(1):
        (heads, size), of_keys, (of_state, wide) = body.shape(0)[-2:], body.shape(1)[-2], body.shape(2)[-2:]
        q, k, v = (body.wide(place) for place in range(3))
    else:
        _, of_state, wide, size = body.shape(6)
        heads = of_keys = (body.shape(0)[-1] - of_state * wide) // (2 * size)
        ends = np.cumsum([0, heads * size, heads * size, of_state * wide])
        q, k, v = (body.slice(body.wide(0), -1, int(a), int(b)) for a, b in pairwise(ends))
    shapes = ((heads, size), (of_keys, size), (of_state, wide))
    q, k, v = (_by_sequence(body, x, *shape) for x, shape in zip((q, k, v), shapes))
    return q, k, v, (heads, of_keys, of_state, size, wide)


def _unit(body: Body, x: str) -> str:
    """``x`` by the root of its sum of squares along the last dimension, as the kernels have it."""
    total = body.emit("ReduceSum", body.emit("Mul", x, x), body.integers(-1), keepdims=1)
    return body.emit("Div", x, body.emit("Sqrt", body.emit("Add", total, body.constant(np.asarray(1e-12, np.float32)))))


def _log_decay(body: Body, heads: int, size: int) -> str:
    """Logarithms of factors of the state ``[B, T, H, K or 1]``, behind the activation."""
    shape = body.shape(4)[2 if len(body.shape(0)) == 4 else 1 :]
    each = int(np.prod(shape)) // heads
    if each not in (1, size):
        raise ValueError(f"a decay of {list(shape)} for each token, {heads} heads and keys of {size}")
    x = _by_sequence(body, body.wide(4), heads, each)
    kind = body.text("gate_activation", "none")
    if kind == "none":
        return x
    if kind not in ("softplus", "qwen", "sigmoid", "kda"):
        raise Unsupported(f"gate_activation {kind!r}")
    if body.input(8):
        x = body.emit("Add", x, body.reshape(body.input(8), heads, -1))
    slope = body.reshape(body.emit("Exp", body.input(7)), heads, 1)
    if kind in ("softplus", "qwen"):
        return body.emit("Neg", body.emit("Mul", slope, body.emit("Softplus", x)))
    bound = body.constant(np.asarray(body.attributes.get("gate_lower_bound", -5.0), np.float32))
    return body.emit("Mul", bound, body.emit("Sigmoid", body.emit("Mul", slope, x)))


def _rate(body: Body, heads: int) -> str:
    x = _by_sequence(body, body.wide(5), heads)
    match body.text("beta_activation", "none"):
        case "none":
            return x
        case "sigmoid":
            return body.emit("Sigmoid", x)
        case other:
            raise Unsupported(f"beta_activation {other!r}")


def _gate(body: Body) -> tuple[str, str]:
    """a ``[B, T, H]``, bias, scale, b? -> scale * softplus(a + bias), sigmoid(b)"""
    opened = body.emit("Softplus", body.emit("Add", body.wide(0), body.input(1)))
    rate = body.emit("CastLike", body.emit("Sigmoid", body.wide(3)), body.input(0)) if body.input(3) else ""
    return body.emit("CastLike", body.emit("Mul", body.input(2), opened), body.input(0)), rate


# ---------------------------------------------------------------- the convolution in front of it

_ELSEWHERE = ("input_channels", "input_channel_offset", "state_length", "state_update_capacity")
"""Attributes that ONNX Runtime has for other devices alone."""


def _causal_convolution(body: Body) -> tuple[str, str]:
    """x ``[B, C, T]``, or ``[B, T, ..]`` with channels last; weights ``[C, 1, k]``, bias?, what was before x?"""
    if int(body.attributes.get("ndim", 1)) != 1:
        raise Unsupported("ndim above 1")
    if any(body.attributes.get(name, 0) for name in _ELSEWHERE) or body.has(2):
        raise Unsupported(f"one of {', '.join(_ELSEWHERE)}")
    channels, _, kernel = body.shape(1)
    dilation, window = int(body.attributes.get("dilation", 1)), int(body.attributes.get("state_window", 0))
    last, before = bool(body.attributes.get("channels_last", 0)), (kernel - 1) * dilation
    x, past = body.input(0), body.input(3)
    if past and window:
        past = body.emit("Squeeze", body.slice(past, 0, window - 1, window), body.integers(0))
    if last:
        x, past = (_channels_first(body, each, channels) if each else "" for each in (x, past))
    whole = body.emit("Concat", past or _zeros(body, (channels, before), body.dtype(0)), x, axis=2)
    y = body.emit("Conv", whole, body.input(1), body.input(2), group=channels, dilations=[dilation])
    kind = body.text("activation", "none")
    if kind in ("silu", "swish"):
        y = body.silu(y)
    elif kind != "none":
        raise Unsupported(f"activation {kind!r}")
    states = [_history(body, whole, before, back) for back in reversed(range(window or 1))]
    if last:
        tail = body.shape(0)[2:]
        y, *states = (body.reshape(body.transpose(each, 0, 2, 1), 0, -1, *tail) for each in (y, *states))
    if not window:
        return y, states[0]
    parts = [body.emit("Unsqueeze", state, body.integers(0)) for state in states]
    return y, body.emit("Concat", *parts, axis=0)


def _channels_first(body: Body, x: str, channels: int) -> str:
    """``[B, T, ..]`` as ``[B, C, T]``"""
    return body.transpose(body.reshape(x, 0, 0, channels), 0, 2, 1)


def _history(body: Body, whole: str, before: int, back: int) -> str:
    """What the convolution would need ``before`` the token that is ``back`` tokens behind the last one; zeros where
    that is no token of this run."""
    if not back:
        return body.slice(whole, 2, -before or _LAST, _LAST)
    room = body.emit("Pad", whole, body.integers(0, 0, back, 0, 0, 0))
    state = body.slice(room, 2, -before - back, -back)
    tokens = body.emit("Sub", body.emit("Shape", whole, start=2, end=3), body.integers(before + back))
    here = body.emit("Greater", tokens, body.integers(0))
    return body.emit("Where", here, state, body.number(0.0))


# ---------------------------------------------------------------- the norm behind it


def _gated_norm(body: Body) -> str:
    """x ``[.., n * C]``, scale ``[C]``, gate of the shape of x; in float32."""
    x, scale, gate = (body.wide(place) for place in range(3))
    width = body.shape(1)[0]
    grouped = body.reshape(x, *[0] * (len(body.shape(0)) - 1), -1, width)
    body.opset = 23
    y = body.emit("RMSNormalization", grouped, scale, axis=-1, epsilon=body.attributes.get("epsilon", 1e-5))
    y = body.reshape(y, *[0] * (len(body.shape(0)) - 1), -1)
    match body.text("activation", "silu"):
        case "silu" | "swish":
            opened = body.silu(gate)
        case "sigmoid":
            opened = body.emit("Sigmoid", gate)
        case other:
            raise Unsupported(f"activation {other!r}")
    return body.emit("CastLike", body.emit("Mul", y, opened), body.input(0))


RULES: Mapping[str, Rule] = {
    "CausalConvWithState": _causal_convolution,
    "GatedDeltaNet": _gated_delta_net,
    "GatedRMSNorm": _gated_norm,
    "LinearAttention": _linear_attention,
    "LinearAttentionGate": _gate,
}
"""By name."""
