"""Bounds that the user gives: bytes of strings, elements of ranges, rows of loops, dimensions of shapes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType, TensorType
from .bounded_shapes import BOUNDED
from .string_tables import DEFAULT_BOUND
from .tensors import MAX_ELEMENTS

log = logging.getLogger(__name__)

MAX_BYTES = 2**16
"""Bytes of a string of an input, at most."""

_MAX_NAMED = 5


def check_bounds(bounds: Mapping[str, int], types: Mapping[str, TensorType], graph: onnx.GraphProto) -> None:
    """Raises ``BAD_OPTION`` for a bound of what has no number of bytes, elements or rows that a run tells, and for one
    that is out of range. ``types`` are those of the inputs."""
    if not bounds:
        return
    strings = [name for name, type_ in types.items() if type_.dtype is DType.CHAR]
    counted = list(_counted(graph))
    for name, bound in bounds.items():
        if name not in strings and name not in counted:
            known = ", ".join([*strings, *counted][:_MAX_NAMED])
            reason = f"{name} is no input of strings, and no result of a Range, Loop or computed shape"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=f"there are {known}" if known else "there are none")
        most, unit = (MAX_BYTES, "bytes") if name in strings else (MAX_ELEMENTS, "elements")
        if not 1 <= bound <= most:
            raise CcmlError(ErrorCode.BAD_OPTION, f"at most {bound} {unit}", loc=name, hint=f"1 to {most:,}")


def _counted(graph: onnx.GraphProto) -> Iterator[str]:
    """Results of Range and of Loop, and of what has the shape that an operand says, in the graphs of nodes as well."""
    for node in graph.node:
        bodies = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
        if node.op_type == "Range" or node.op_type in BOUNDED:
            yield from node.output
        elif node.op_type == "Loop":
            yield from (name for name in node.output if name)
        for body in bodies:
            yield from _counted(body)


def string_bound(bounds: Mapping[str, int], name: str, told: bool) -> int:
    """The bytes of the strings of an input; a note says so where the user does not, unless that was ``told``."""
    if name not in bounds and not told:
        log.warning("strings of %s have at most %d bytes; --max %s=... sets it", name, DEFAULT_BOUND, name)
    return bounds.get(name, DEFAULT_BOUND)
