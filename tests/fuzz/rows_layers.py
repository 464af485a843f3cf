"""Rows of recurrent layers, losses, attention and optimizers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.fuzz.build import FLOATS, Builder, Tensor
from tests.fuzz.row import Row, allowed

# ---- recurrent layers

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(op: str, b: Builder) -> list[Tensor]:
    gates = _GATES[op]
    dtype, shape = b.dtype(allowed(op, 0, b.opset)), b.shape(3, 3, (1, 2, 3, 4, 5))
    direction = b.pick(["forward", "reverse", "bidirectional"])
    count, hidden = (2 if direction == "bidirectional" else 1), b.between(1, 4)
    batch_first = b.opset >= 14 and b.flip(0.3)
    steps, batch, size = (shape[1], shape[0], shape[2]) if batch_first else shape
    x = b.data(dtype, shape)
    w, r = b.weight(dtype, (count, gates * hidden, size)), b.weight(dtype, (count, gates * hidden, hidden))
    bias = b.weight(dtype, (count, 2 * gates * hidden)) if b.flip(0.7) else None
    lengths = b.param(np.full(batch, steps, np.int32)) if b.flip(0.3) else None
    state = (batch, count, hidden) if batch_first else (count, batch, hidden)
    operands: list[Tensor | None] = [x, w, r, bias, lengths]
    operands += [b.data(dtype, state, -1, 1) if b.flip() else None for _ in range(2 if op == "LSTM" else 1)]
    more: dict[str, Any] = {"hidden_size": hidden} | b.some(direction=direction) if count == 1 else {
        "hidden_size": hidden, "direction": direction}  # fmt: skip
    if batch_first:
        more["layout"] = 1
    if op == "LSTM" and b.flip(0.3):
        operands.append(b.weight(dtype, (count, 3 * hidden)))
        more |= b.some(input_forget=0)
    if op == "GRU":
        more |= b.some(linear_before_reset=b.between(0, 1))
    if op != "LSTM" and b.flip(0.2):
        more["clip"] = b.uniform(1.0, 3.0)
    if b.flip(0.2):
        first = {"LSTM": ["Sigmoid", "Tanh", "Relu"], "GRU": ["HardSigmoid", "Tanh"]}
        more["activations"] = first.get(op, [b.pick(["Relu", "Sigmoid"])]) * count
    outputs = [b.flip(0.7) for _ in range(3 if op == "LSTM" else 2)]
    if not any(outputs):
        outputs[0] = True
    while not outputs[-1]:
        outputs.pop()
    return b.node(op, operands, outputs, **more)


def target(b: Builder, shape: tuple[int, ...], classes: int) -> Tensor:
    return b.param(b.values(b.pick(["int64", "int32"]), shape, 0, classes - 1)) if b.flip() else b.data(
        "int64", shape, 0, classes - 1, exact=True)  # fmt: skip


def loss(op: str, b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed(op, 0, b.opset)), b.shape(2, 4)
    x = b.data(dtype, shape)
    labels = target(b, (shape[0], *shape[2:]), shape[1])
    weight = b.param(b.values(dtype, (shape[1],), 0.5, 2)) if b.flip() else None
    more = b.some(reduction=b.pick(["none", "sum", "mean"]))
    if b.flip(0.3):
        more["ignore_index"] = 0
    outputs = b.between(1, 2) if op == "SoftmaxCrossEntropyLoss" else 1
    return b.node(op, [x, labels, weight], outputs, **more)


# ---- attention and its like


def attention(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("Attention", 0, b.opset))
    batch, kv, queries, keys, size = b.between(1, 2), b.between(1, 2), b.between(1, 4), b.between(1, 5), b.between(1, 4)
    heads, width = kv * b.between(1, 2), b.between(1, 4)
    more: dict[str, Any] = {}
    past = b.between(1, 3) if b.flip(0.3) else 0
    flat = b.flip(0.4)
    if flat:
        shapes = [(batch, queries, heads * size), (batch, keys, kv * size), (batch, keys, kv * width)]
        more = {"q_num_heads": heads, "kv_num_heads": kv}
    else:
        shapes = [(batch, heads, queries, size), (batch, kv, keys, size), (batch, kv, keys, width)]
    operands: list[Tensor | None] = [b.data(dtype, shape) for shape in shapes]
    total = past + keys
    mask = None
    if b.flip(0.4):
        shape = b.pick([(queries, total), (batch, 1, queries, total), (batch, heads, queries, total), (1, total)])
        kinds = [dtype, "bool"] if shape != (1, total) else [dtype]
        if shape == (1, total) and queries > 1:  # the reference gives all queries the causal mask of the first
            more["is_causal"] = 0
        mask = b.data(b.pick(kinds), shape)
        if mask.dtype == "bool":
            mask = b.param(np.ones(shape, bool) if b.flip(0.3) else np.tri(*shape[-2:], dtype=bool) | np.zeros(
                shape, bool))  # fmt: skip
    operands.append(mask)
    if past:
        operands += [b.data(dtype, (batch, kv, past, size)), b.data(dtype, (batch, kv, past, width))]
    elif b.opset >= 24 and mask is not None and b.flip(0.2):
        operands += [None, None, b.param(np.full(batch, keys, np.int64))]
    more |= b.some(
        scale=b.uniform(0.2, 1),
        softcap=b.pick([0.0, 2.0]),
        **({} if "is_causal" in more else {"is_causal": b.between(0, 1)}),
    )
    if b.flip(0.2):
        more["softmax_precision"] = TensorProto.FLOAT
    outputs = [True]
    if past or b.flip(0.2):
        outputs = [True, True, True]
        if b.flip():
            outputs.append(True)
            more |= b.some(qk_matmul_output_mode=b.between(0, 3))
    if b.opset >= 25 and b.flip(0.2):
        more |= b.some(left_window_size=b.between(1, 3), right_window_size=b.between(0, 2))
    return b.node("Attention", operands, outputs, **more)


def flex_attention(b: Builder) -> list[Tensor]:
    """With an activation in place of a modification of scores or probabilities."""
    dtype = b.dtype(FLOATS)
    batch, kv, queries, keys, size = b.between(1, 2), b.between(1, 2), b.between(1, 4), b.between(1, 5), b.between(1, 4)
    heads = kv * b.between(1, 2)
    operands = [
        b.data(dtype, (batch, heads, queries, size)), b.data(dtype, (batch, kv, keys, size)),
        b.data(dtype, (batch, kv, keys, b.between(1, 4))),
    ]  # fmt: skip
    kind = TensorProto.DOUBLE if dtype == "float64" else TensorProto.FLOAT
    shape = (batch, heads, queries, keys)
    more: dict[str, Any] = b.some(scale=b.uniform(0.2, 1))
    for name, op in (("score_mod", "Tanh"), ("prob_mod", "Abs")):
        if b.flip(0.4):
            ends = [helper.make_tensor_value_info(f"{b.prefix}{name}{end}", kind, shape) for end in ("_in", "_out")]
            inner = helper.make_node(op, [ends[0].name], [ends[1].name])
            more[name] = helper.make_graph([inner], name, ends[:1], ends[1:])
    return b.node("FlexAttention", operands, domain="ai.onnx.preview", **more)


TRAINING = "ai.onnx.preview.training"


def optimizer(op: str, b: Builder) -> list[Tensor]:
    """A step of training: rate, number of updates, then parameters, gradients and what the optimizer keeps."""
    dtype = b.dtype(("float32", "float64"))
    kept = 2 if op == "Adam" else 1
    rate = b.param(np.asarray(0.1, dtype))
    count = b.param(np.asarray(b.between(0, 3), np.int64))
    shapes = [b.shape(0, 3) for _ in range(b.between(1, 2))]
    operands = [b.data(dtype, shape) for _ in range(2) for shape in shapes]
    operands += [b.data(dtype, shape, 0, 2, exact=True) for _ in range(kept) for shape in shapes]
    more: dict[str, Any] = b.some(norm_coefficient=b.uniform(0, 0.1))
    if op == "Momentum":
        more = {"alpha": 0.9, "beta": 0.1, "mode": b.pick(["standard", "nesterov"]), "norm_coefficient": 0.01}
    elif op == "Adagrad":
        more |= b.some(decay_factor=0.1, epsilon=1e-3)
    else:
        more |= b.some(alpha=0.8, beta=0.9, epsilon=1e-3, norm_coefficient_post=0.01)
    return b.node(op, [rate, count, *operands], (1 + kept) * len(shapes), domain=TRAINING, **more)


def linear_attention(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("LinearAttention", 0, b.opset))
    batch, steps, kv, size, width = b.between(1, 2), b.between(1, 4), b.between(1, 2), b.between(1, 3), b.between(1, 3)
    heads = kv * b.between(1, 2)
    rule = b.pick(["linear", "gated", "delta", "gated_delta"])
    operands: list[Tensor | None] = [
        b.data(dtype, (batch, steps, heads * size), -1, 1), b.data(dtype, (batch, steps, kv * size), -1, 1),
        b.data(dtype, (batch, steps, kv * width), -1, 1),
    ]  # fmt: skip
    operands.append(b.data(dtype, (batch, kv, size, width), -1, 1) if b.flip() else None)
    operands.append(b.data(dtype, (batch, steps, kv), -1, 0, exact=True) if "gated" in rule else None)
    operands.append(b.data(dtype, (batch, steps, kv), 0, 1, exact=True) if "delta" in rule else None)
    more = b.some(scale=b.uniform(0.2, 1), chunk_size=b.pick([1, 2, 64]))
    return b.node("LinearAttention", operands, 2, update_rule=rule, q_num_heads=heads, kv_num_heads=kv, **more)


def causal_conv(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("CausalConvWithState", 0, b.opset)), b.shape(3, 3)
    k = b.between(1, 3)
    x, w = b.data(dtype, shape), b.weight(dtype, (shape[1], 1, k))
    bias = b.weight(dtype, (shape[1],)) if b.flip() else None
    past = b.data(dtype, (shape[0], shape[1], k - 1)) if k > 1 and b.flip() else None
    return b.node("CausalConvWithState", [x, w, bias, past], 2, **b.some(
        activation=b.pick(["none", "silu", "swish"])))  # fmt: skip


def rotary(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("RotaryEmbedding", 0, b.opset))
    batch, steps, heads, half = b.between(1, 2), b.between(1, 4), b.between(1, 3), b.between(1, 3)
    size = 2 * half
    more: dict[str, Any] = b.some(interleaved=b.between(0, 1))
    if b.flip(0.3) and half > 1:
        more["rotary_embedding_dim"] = size - 2
        half -= 1
    flat = b.flip()
    if flat or "rotary_embedding_dim" in more:
        more["num_heads"] = heads
    x = b.data(dtype, (batch, steps, heads * size) if flat else (batch, heads, steps, size))
    if b.flip():
        shape: tuple[int, ...] = (8, half)
        place = b.param(b.values("int64", (batch, steps), 0, 7)) if b.flip() else b.data(
            "int64", (batch, steps), 0, 7, exact=True)  # fmt: skip
        return b.node("RotaryEmbedding", [x, b.weight(dtype, shape), b.weight(dtype, shape), place], **more)
    shape = (batch, steps, half)
    return b.node("RotaryEmbedding", [x, b.weight(dtype, shape), b.weight(dtype, shape)], **more)


def swiglu(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("SwiGLU", 0, b.opset)), b.shape()
    return b.node("SwiGLU", [b.data(dtype, shape), b.data(dtype, shape)], **b.some(alpha=b.uniform(0.5, 2)))


ROWS: dict[str, Row] = {
    **{f"{TRAINING}.{op}": Row(partial(optimizer, op)) for op in ("Adagrad", "Adam", "Momentum")},
    **{op: Row(partial(recurrent, op)) for op in _GATES},
    **{op: Row(partial(loss, op)) for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    "ai.onnx.preview.FlexAttention": Row(flex_attention), "Attention": Row(attention),
    "CausalConvWithState": Row(causal_conv), "LinearAttention": Row(linear_attention),
    "RotaryEmbedding": Row(rotary), "SwiGLU": Row(swiglu),
}  # fmt: skip
