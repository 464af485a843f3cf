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


def operand(types: Sequence[TensorType | None], position: int) -> TensorType:
    """The type of an operand that must be there."""
    type_ = types[position] if position < len(types) else None
    if type_ is None:
        raise ValueError(f"operand {position} is missing")
    return type_


def optional(types: Sequence[TensorType | None], position: int) -> TensorType | None:
    """The type of an operand that may be absent."""
    return types[position] if position < len(types) else None


def check_axes(axes: Sequence[int], type_: TensorType) -> None:
    """Axes are non-negative, distinct and within the rank."""
    if any(not 0 <= axis < type_.rank for axis in axes) or len(set(axes)) != len(axes):
        raise ValueError(f"axes {tuple(axes)} do not fit {type_}")


def check_dtype(type_: TensorType, expected: TensorType) -> None:
    if type_.dtype is not expected.dtype:
        raise ValueError(f"operands have types {expected} and {type_}")


def reduced_shape(shape: tuple[int, ...], axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    """The shape after a reduction over ``axes``."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
