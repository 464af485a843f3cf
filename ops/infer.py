"""Shape arithmetic that the rules of several operators share."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.types import TensorType


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy's broadcasting of shapes. Raises :class:`ValueError` that quotes them."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = []
    for position in range(rank):
        extents = {shape[position - rank] for shape in shapes if position - rank >= -len(shape)}
        wide = extents - {1}
        if len(wide) > 1:
            raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def present(types: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """The types of the operands that are there."""
    return tuple(type_ for type_ in types if type_ is not None)
