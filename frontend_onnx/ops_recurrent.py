"""Rules of LSTM, GRU and RNN. The core operators have ONNX's layout 0; layout 1 is transposed around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from ..ir.graph import AttrValue, Value
from ..ops.recurrent import ACTIVATIONS, DIRECTIONS
from .context import NodeContext, Rule

# Parameters of activations that the core operators know; any other value is refused.
_DEFAULT_PARAMETERS = {"HardSigmoid": (0.2, 0.5)}


def lstm(ctx: NodeContext) -> Sequence[Value]:
    attrs = _attributes(ctx, gates=4, activations=("Sigmoid", "Tanh", "Tanh"))
    states = [_state(ctx, position) for position in (5, 6)]
    attrs["input_forget"] = bool(ctx.integer("input_forget", 0))
    return _layer(ctx, "lstm", states, [ctx.optional(7), *_lengths(ctx)], attrs)


def gru(ctx: NodeContext) -> Sequence[Value]:
    attrs = _attributes(ctx, gates=3, activations=("Sigmoid", "Tanh"))
    attrs["linear_before_reset"] = bool(ctx.integer("linear_before_reset", 0))
    return _layer(ctx, "gru", [_state(ctx, 5)], _lengths(ctx), attrs)


def rnn(ctx: NodeContext) -> Sequence[Value]:
    attrs = _attributes(ctx, gates=1, activations=("Tanh",))
    return _layer(ctx, "rnn", [_state(ctx, 5)], _lengths(ctx), attrs)


def _layer(
    ctx: NodeContext,
    op: str,
    states: Sequence[Value | None],
    more: Sequence[Value | None],
    attrs: dict[str, AttrValue],
) -> Sequence[Value]:
    operands = _operands(ctx)
    x = operands[0]
    assert x is not None
    if x.shape[0]:
        return _finish(ctx, ctx.emit_all(op, *operands, *states, *more, **attrs))
    # No steps: the states stay as they are.
    kept = (DIRECTIONS[str(attrs["direction"])], x.shape[1], ctx.input(2).shape[2])
    initial = [ctx.constant(np.zeros(kept, x.dtype.numpy)) if state is None else state for state in states]
    return _finish(ctx, [ctx.constant(np.zeros((0, *kept), x.dtype.numpy)), *initial])


def _attributes(ctx: NodeContext, gates: int, activations: tuple[str, ...]) -> dict[str, AttrValue]:
    """``output_sequence``, of old versions, says whether outputs exist; nodes say so themselves."""
    direction, r = ctx.string("direction", "forward"), ctx.input(2)
    if direction not in DIRECTIONS or len(r.shape) != 3 or r.shape[1] != gates * r.shape[2]:
        raise ctx.invalid(f"direction {direction} or recurrence weights {r.type}")
    hidden = ctx.integer("hidden_size", r.shape[2])
    names = ctx.strings("activations", activations * DIRECTIONS[direction])
    known = {name.lower(): name for name in ACTIVATIONS}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ctx.unsupported(f"activation {', '.join(unknown)}", hint=f"supported are {', '.join(ACTIVATIONS)}")
    resolved = tuple(known[name.lower()] for name in names)
    _check_parameters(ctx, resolved)
    bound = ctx.number("clip", inf) or inf
    return {"hidden": hidden, "direction": direction, "activations": resolved, "clip": bound}


def _check_parameters(ctx: NodeContext, names: tuple[str, ...]) -> None:
    """``activation_alpha`` and ``_beta`` have entries for the functions that take them, in order."""
    takers = [name for name in names if name in _DEFAULT_PARAMETERS]
    for which, attribute in enumerate(("activation_alpha", "activation_beta")):
        given = ctx.numbers(attribute, ())
        expected = [_DEFAULT_PARAMETERS[name][which] for name in takers]
        if takers and any(abs(value - default) > 1e-6 for value, default in zip(given, expected)):
            raise ctx.unsupported(f"{attribute} {given} of {', '.join(takers)} is not the default {expected}")


def _batch_first(ctx: NodeContext) -> bool:
    return bool(ctx.integer("layout", 0))


def _operands(ctx: NodeContext) -> list[Value | None]:
    """x, w, r and bias."""
    x = ctx.input(0)
    if len(x.shape) != 3:
        raise ctx.invalid(f"{ctx.op_type} over {x.type}; it needs [sequence, batch, input]")
    if _batch_first(ctx):
        x = ctx.emit("transpose", x, perm=(1, 0, 2))
    return [x, ctx.input(1), ctx.input(2), ctx.optional(3)]


def _lengths(ctx: NodeContext) -> tuple[Value, ...]:
    """The lengths of the sequences, unless they are known to be full."""
    lengths, x = ctx.optional(4), ctx.input(0)
    if lengths is None:
        return ()
    known = ctx.array(lengths)
    full = known is not None and (known == x.shape[1 if _batch_first(ctx) else 0]).all()
    return () if full else (lengths,)


def _state(ctx: NodeContext, position: int) -> Value | None:
    state = ctx.optional(position)
    if state is None or not _batch_first(ctx):
        return state
    return ctx.emit("transpose", state, perm=(1, 0, 2))


def _finish(ctx: NodeContext, outputs: Sequence[Value]) -> Sequence[Value]:
    if not _batch_first(ctx):
        return outputs
    y, *states = outputs
    perms = {0: (y, (2, 0, 1, 3)), **{n: (state, (1, 0, 2)) for n, state in enumerate(states, start=1)}}
    return [ctx.emit("transpose", value, perm=perm) for value, perm in perms.values()]


RULES: Mapping[str, Rule] = {"GRU": gru, "LSTM": lstm, "RNN": rnn}
