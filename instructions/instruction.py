"""What a row of the instruction table says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType

from ..ir.loops import Call, Expr
from ..ir.types import DType
from ..record import record

ANY = ""
"""Intrinsics that LLVM has for every architecture."""


@record
class Intrinsic:
    """A function of LLVM that computes a row of the table, for vectors of ``lanes`` elements (``None``: of any number;
    the name is then completed by the type).

    ``order`` are the positions of the row's operands that it takes, all in their order by default. ``parts``: it takes
    the words as vectors of integers of so many bits, but for the first operand; with ``result_parts`` that and the
    result as well. ``adds``: its result is what is to be added to the first operand.
    ``rotated``: its last operand is the row's, rotated right by so many bits. ``shuffle``: it is no function but a
    choice of the lanes of two vectors, those of the second behind those of the first. ``also``: types and values of
    operands behind the row's. ``bfloats``: it takes the words
    as vectors of bfloat16. ``rounds``: it is no function but the conversion of floats to bfloat16.
    """

    name: str
    lanes: int | None = None
    order: tuple[int, ...] = ()
    parts: int = 0
    result_parts: bool = False
    adds: bool = False
    rotated: int = 0
    bfloats: bool = False
    rounds: bool = False
    shuffle: tuple[int, ...] = ()
    also: tuple[tuple[str, str], ...] = ()


@record
class Instruction:
    """One function, applied lane by lane.

    ``operands``/``result`` are element types, or ``None`` for "the common floating type of the call". ``meaning`` maps
    NumPy scalars to a NumPy scalar; with ``across``, arrays of all lanes to an array of all lanes.

    ``expansion`` says a call in other operations, for machines without the instruction, and is ``None`` for types that
    are not expanded. ``intrinsics`` are LLVM's, by architecture (``Abi.architecture``); where there are none,
    ``recognized`` is an expression that LLVM knows for the instruction; on ``opaque`` architectures only where it does
    not know the operands' values, of which it would make something else. In C it is the function ``ccml_TYPE_NAME`` of
    ``c_header``, or where that is empty of the header for the type; without (``None``) C has the expansion.
    """

    name: str
    operands: tuple[DType | None, ...]
    result: DType | None
    meaning: Callable[..., object]
    expansion: Callable[[Call], Expr | None] | None = None
    recognized: Callable[[Call], Expr] | None = None
    opaque: frozenset[str] = frozenset()
    c_header: str | None = ""
    intrinsics: Mapping[str, tuple[Intrinsic, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    across: bool = False

    def intrinsic(self, architecture: str, lanes: int) -> Intrinsic | None:
        """LLVM's function for vectors of so many lanes, if there is one."""
        found = (*self.intrinsics.get(architecture, ()), *self.intrinsics.get(ANY, ()))
        return next((function for function in found if function.lanes in (None, lanes)), None)
