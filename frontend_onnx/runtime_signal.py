"""DFT, STFT and MelWeightMatrix with lengths, steps and axes that are computed at run time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir.graph import Value
from .context import NodeContext, Rule
from .runtime_choices import MAX_CANDIDATES, Choice, counted_from_start, select, with_operands


def over_any_dft(rule: Rule) -> Rule:
    """The axes and lengths whose transform has the declared shape; half a spectrum does not tell an odd length."""

    def extended(ctx: NodeContext) -> Sequence[Value]:
        axis_operand = ctx.opset >= 20
        if not ctx.runtime(1, 2 if axis_operand else 1):
            return rule(ctx)
        shape = ctx.declared_shape("the length or the axis", (1, 2))
        if len(shape) != len(ctx.input(0).shape):
            raise ctx.invalid(f"DFT of {ctx.input(0).type} cannot have the declared shape {list(shape)}")
        return select(ctx, _choices(ctx, list(_transforms(ctx, shape, axis_operand))), rule)

    return extended


def _transforms(ctx: NodeContext, shape: Sequence[int], axis_operand: bool) -> Iterator[dict[int, int]]:
    """Values of the operands that are computed at run time, by position."""
    x = ctx.input(0)
    rank = len(x.shape)
    inverse, onesided = bool(ctx.integer("inverse", 0)), bool(ctx.integer("onesided", 0))
    axes: Sequence[int] = range(rank - 1)
    if not (axis_operand and ctx.runtime(2)):
        given = ctx.array(ctx.optional(2)) if axis_operand else None
        default = -2 if axis_operand else ctx.integer("axis", 1)
        axes = [ctx.axis(int(given.reshape(-1)[0]) if given is not None else default, rank)]
    for axis in axes:
        if any(shape[d] != x.shape[d] for d in range(rank - 1) if d != axis):
            continue
        found = {2: axis} if axis_operand and ctx.runtime(2) else {}
        half = onesided and not inverse
        if ctx.runtime(1):
            lengths = _lengths_of_half(shape[axis]) if half else [shape[axis]]
            yield from ({**found, 1: length} for length in lengths)
            continue
        constant = ctx.array(ctx.optional(1))
        whole = 2 * (x.shape[axis] - 1) if inverse and onesided else x.shape[axis]
        length = whole if constant is None else int(constant.reshape(-1)[0])
        if (length // 2 + 1 if half else length) == shape[axis]:
            yield found


def _lengths_of_half(bins: int) -> list[int]:
    return [length for length in (2 * bins - 2, 2 * bins - 1) if length >= 1]


def _choices(ctx: NodeContext, candidates: Sequence[dict[int, int]]) -> list[Choice]:
    """``candidates`` are values of operands by position; position 2 of a DFT is an axis."""
    choices = []
    for values in candidates:
        chosen: Value | None = None
        for position, number in values.items():
            given = ctx.reshape(ctx.input(position), ())
            if ctx.op_type == "DFT" and position == 2:
                given = counted_from_start(ctx, given, len(ctx.input(0).shape))
            same = ctx.emit("eq", given, ctx.scalar(number, given))
            chosen = same if chosen is None else ctx.emit("and", chosen, same)
        choices.append(Choice(chosen, with_operands(ctx, {p: [number] for p, number in values.items()})))
    return choices


def over_any_stft(rule: Rule) -> Rule:
    """The lengths of a frame and the steps with which there are as many frames and frequencies as declared."""

    def extended(ctx: NodeContext) -> Sequence[Value]:
        if not ctx.runtime(1, 3):
            return rule(ctx)
        shape, window = ctx.declared_shape("frame_step or frame_length", (1, 3)), ctx.optional(2)
        if len(shape) != 4 or len(ctx.input(0).shape) != 3:
            raise ctx.invalid(f"STFT of {ctx.input(0).type} cannot have the declared shape {list(shape)}")
        given = ctx.array(ctx.optional(3))
        if given is not None:
            lengths = [int(given.reshape(-1)[0])]
        elif window is not None:
            lengths = [window.type.size]
        else:
            lengths = _lengths_of_half(shape[2]) if ctx.integer("onesided", 1) else [shape[2]]
        candidates = []
        for length in lengths:
            fixed = {3: length} if ctx.runtime(3) else {}
            for step in _steps(ctx, length, shape[1]):
                candidates.append({**fixed, 1: step} if ctx.runtime(1) else fixed)
        return select(ctx, _choices(ctx, candidates), rule)

    return extended


def _steps(ctx: NodeContext, length: int, count: int) -> Sequence[int]:
    """Steps with which ``count`` frames fit; any one where there is one frame."""
    rest = ctx.input(0).shape[1] - length
    given = ctx.array(ctx.input(1))
    if rest < 0 or count < 1:
        return []
    if given is not None:
        step = int(given.reshape(-1)[0])
        return [step] if step >= 1 and rest // step + 1 == count else []
    steps = range(rest // count + 1, rest // (count - 1) + 1) if count > 1 else range(rest + 1, rest + 2)
    if len(steps) > MAX_CANDIDATES:
        raise ctx.unsupported(f"{len(steps)} values of frame_step give {count} frames", hint="make it constant")
    return steps


def over_any_spectrum(rule: Rule) -> Rule:
    """Mel weights have a row for each frequency, which does not tell whether the spectrum's length was odd."""

    def extended(ctx: NodeContext) -> Sequence[Value]:
        if not ctx.runtime(1):
            return rule(ctx)
        lengths = _lengths_of_half(ctx.declared_shape("dft_length", (1,))[0])
        return select(ctx, _choices(ctx, [{1: length} for length in lengths]), rule)

    return extended
