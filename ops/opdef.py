"""What the description of an operator holds. The rows are in ``ops/table.py``.

Kinds decide how an operator becomes code:

* ``POINTWISE``: every output element is a function of the elements at the same (broadcast) position. ``scalar``
  builds that function as a loop-IR expression; it works for vectors as well, lane by lane.
* ``VIEW``: every output element is a copy of an input element (or a constant). ``index_map`` tells which.
* ``ANCHOR``: owns a loop nest, built by ``nest`` in its plainest form: what is computed, one element at a time.
* ``CONTROL``: runs graphs of its own (``ops/control.py``); these become steps of the program.

Pointwise and view operators dissolve into the loads and stores of their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from typing import Protocol

import numpy as np

from ..ir.graph import Node, Value
from ..ir.loops import Block, Buffer, Expr
from ..ir.types import DType, TensorType
from ..record import record
from .attributes import Attrs, Schema

Types = Sequence[TensorType | None]
Arrays = Sequence[np.ndarray | None]
Bind = Callable[[str, Expr], Expr]
"""Names an intermediate value that an expression uses more than once, so that the tree does not repeat it.

``bind(stem, value)`` makes a ``Let`` with a fresh name like ``stem`` and returns its ``Var``; a ``Var`` or ``Const``
is returned as it is.
"""


class Kind(Enum):
    POINTWISE = "pointwise"
    VIEW = "view"
    ANCHOR = "anchor"
    CONTROL = "control"


@record
class Source:
    """Where a view operator finds an element: input number ``operand`` at ``index``.

    With ``valid`` the element exists only where that bool expression holds; elsewhere it is ``fill``, a loop-IR
    constant (padding).
    """

    operand: int
    index: tuple[Expr, ...]
    valid: Expr | None = None
    fill: Expr | None = None


class NestContext(Protocol):
    """What an anchor's ``nest`` function builds with. Indices are logical: no halo, no packing."""

    def read(self, value: Value, index: Sequence[Expr]) -> Expr:
        """One element of an operand."""
        ...

    def computed(self, value: Value, index: Sequence[Expr]) -> tuple[Block, Expr]:
        """One element of an operand that the kernel may compute itself, behind the statements that do so."""
        ...

    def write(self, value: Value, index: Sequence[Expr], element: Expr) -> Block:
        """Stores one element of an output, with the pointwise work that was fused behind it."""
        ...

    def scratch(self, stem: str, dtype: DType, shape: Sequence[int]) -> tuple[Buffer, Block]:
        """Memory for the time of a call, and the statements that provide it where it is needed: undefined at first."""
        ...

    def fresh(self, stem: str) -> str:
        """A variable or buffer name that the kernel does not use yet."""
        ...


@record
class OpDef:
    """One operator of the graph IR.

    ``infer(types, attrs)`` gives the output types, raising :class:`ValueError` with the actual shapes where operands
    do not fit. ``evaluate(arrays, attrs)`` is the meaning, in NumPy. ``summary`` is the row of the docs table.
    ``attrs`` are the attributes of nodes.
    ``tables`` are the positions of operands that are indexed by value: they do not broadcast, and transposes and
    reshapes of the result do not concern them. ``scalar`` gets their first element as a Load, to index it anew.
    ``reads_back``: the nest works in the memory of its results, so that nothing can be fused behind it.
    ``computes_input``: the nest looks at each element of its first operand once, and lets the kernel compute it.
    """

    name: str
    kind: Kind
    summary: str
    infer: Callable[[Types, Attrs], tuple[TensorType, ...]]
    evaluate: Callable[[Arrays, Attrs], tuple[np.ndarray, ...]]
    scalar: Callable[[Sequence[Expr], Node, Bind], Expr] | None = None
    index_map: Callable[[Node, Sequence[Expr]], Sequence[Source]] | None = None
    nest: Callable[[NestContext, Node], Block] | None = None
    macs: Callable[[Node], int] | None = None
    tables: tuple[int, ...] = ()
    reads_back: bool = False
    computes_input: bool = False
    attrs: Schema = field(default_factory=dict)

