"""What packages for all ABIs of a target are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..ir.program import Program
from ..record import record
from ..targets import Machine

Render = Callable[[str, Mapping[str, object]], str]
"""The text of a template of this folder in a context."""


@record
class AbiBuild:
    """A model compiled for one ABI: the ``headers`` for C and C++, by name, the static library, and the ``weights``
    where they are in a file. ``machine`` is the one that asks for most of those that it has code for."""

    program: Program
    machine: Machine
    headers: Mapping[str, bytes]
    static_library: bytes
    weights: bytes | None = None
