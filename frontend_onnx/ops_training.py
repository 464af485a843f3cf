"""Rules of the optimizers in ai.onnx.preview.training: one step for each of their tensors.

Operands are the learning rate R, the number of steps so far T, and then for all tensors in turn the tensors X, their
gradients G and their states. Each docstring is the definition of the ONNX operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule

DOMAIN = "ai.onnx.preview.training"


def _groups(ctx: NodeContext, count: int) -> list[tuple[Value, ...]]:
    """(X, G, states...) of each tensor."""
    operands = ctx.operands()[2:]
    each, rest = divmod(len(operands), count)
    if rest or any(value.type.size != 1 for value in ctx.operands()[:2]):
        raise ctx.invalid(f"{ctx.op_type} takes R, T and {count} operands a tensor, not {len(operands)}")
    groups = [tuple(operands[n::each]) for n in range(each)]
    if any(value.type != group[0].type for group in groups for value in group):
        raise ctx.invalid(f"{ctx.op_type}: a tensor and its gradient or state differ in type")
    return groups


def _scaled(ctx: NodeContext, x: Value, factor: float) -> Value:
    return ctx.emit("mul", x, ctx.scalar(factor, x))


def _regularized(ctx: NodeContext, x: Value, gradient: Value) -> Value:
    """norm_coefficient * X + G"""
    factor = ctx.number("norm_coefficient", 0.0) if ctx.op_type != "Momentum" else ctx.number("norm_coefficient")
    return gradient if factor == 0.0 else ctx.emit("add", _scaled(ctx, x, factor), gradient)


def _number(ctx: NodeContext, position: int) -> Value:
    return ctx.reshape(ctx.input(position), ())


def _columns(rows: Sequence[Sequence[Value]]) -> list[Value]:
    """All new tensors, then all new first states, ..."""
    return [value for column in zip(*rows) for value in column]


def momentum(ctx: NodeContext) -> Sequence[Value]:
    """V' = alpha * V + (T > 0 ? beta : 1) * G; X' = X - R * V', or with mode nesterov X - R * (G + alpha * V')"""
    alpha, beta, mode = ctx.number("alpha"), ctx.number("beta"), ctx.string("mode")
    if mode not in ("standard", "nesterov"):
        raise ctx.invalid(f"mode is {mode}, neither standard nor nesterov")
    step, rows = _number(ctx, 1), []
    for x, gradient, v in _groups(ctx, 3):
        g = _regularized(ctx, x, gradient)
        factor = ctx.emit("where", ctx.emit("gt", step, ctx.scalar(0, step)), ctx.scalar(beta, x), ctx.scalar(1, x))
        new = ctx.emit("add", _scaled(ctx, v, alpha), ctx.emit("mul", g, factor))
        direction = new if mode == "standard" else ctx.emit("add", g, _scaled(ctx, new, alpha))
        rate = ctx.cast(_number(ctx, 0), x.dtype)
        rows.append((ctx.emit("sub", x, ctx.emit("mul", direction, rate)), new))
    return _columns(rows)


def adagrad(ctx: NodeContext) -> Sequence[Value]:
    """H' = H + G * G; X' = X - R / (1 + T * decay_factor) * G / (sqrt(H') + epsilon)"""
    decay, epsilon, rows = ctx.number("decay_factor", 0.0), ctx.number("epsilon", 1e-6), []
    for x, gradient, h in _groups(ctx, 3):
        g = _regularized(ctx, x, gradient)
        rate, step = (ctx.cast(_number(ctx, position), x.dtype) for position in (0, 1))
        rate = ctx.emit("div", rate, ctx.emit("add", _scaled(ctx, step, decay), ctx.scalar(1, x)))
        new = ctx.emit("add", h, ctx.emit("mul", g, g))
        root = ctx.emit("add", ctx.emit("sqrt", new), ctx.scalar(epsilon, x))
        rows.append((ctx.emit("sub", x, ctx.emit("div", ctx.emit("mul", g, rate), root)), new))
    return _columns(rows)


def adam(ctx: NodeContext) -> Sequence[Value]:
    """V' = alpha * V + (1 - alpha) * G; H' = beta * H + (1 - beta) * G * G;
    X' = (1 - norm_coefficient_post) * (X - R' * V' / (sqrt(H') + epsilon)), R' = R * sqrt(1 - beta^T) / (1 - alpha^T)
    where T > 0"""
    alpha, beta, epsilon = ctx.number("alpha", 0.9), ctx.number("beta", 0.999), ctx.number("epsilon", 1e-6)
    post, rows = ctx.number("norm_coefficient_post", 0.0), []
    for x, gradient, v, h in _groups(ctx, 4):
        g = _regularized(ctx, x, gradient)
        velocity = ctx.emit("add", _scaled(ctx, v, alpha), _scaled(ctx, g, 1.0 - alpha))
        square = ctx.emit("add", _scaled(ctx, h, beta), _scaled(ctx, ctx.emit("mul", g, g), 1.0 - beta))
        root = ctx.emit("add", ctx.emit("sqrt", square), ctx.scalar(epsilon, x))
        rate = ctx.cast(_corrected(ctx, alpha, beta), x.dtype)
        new = ctx.emit("sub", x, ctx.emit("div", ctx.emit("mul", velocity, rate), root))
        rows.append((new if post == 0.0 else _scaled(ctx, new, 1.0 - post), velocity, square))
    return _columns(rows)


def _corrected(ctx: NodeContext, alpha: float, beta: float) -> Value:
    """R * sqrt(1 - beta^T) / (1 - alpha^T), in float64: the powers are close to 1."""
    rate, step = ctx.cast(_number(ctx, 0), DType.F64), _number(ctx, 1)
    count, one = ctx.cast(step, DType.F64), ctx.scalar(1, rate)
    missing = [ctx.emit("sub", one, ctx.emit("pow", ctx.scalar(base, rate), count)) for base in (beta, alpha)]
    corrected = ctx.emit("mul", rate, ctx.emit("div", ctx.emit("sqrt", missing[0]), missing[1]))
    return ctx.emit("where", ctx.emit("gt", step, ctx.scalar(0, step)), corrected, rate)


RULES: Mapping[str, Rule] = {
    f"{DOMAIN}.{name}": rule for name, rule in (("Adagrad", adagrad), ("Adam", adam), ("Momentum", momentum))
}
