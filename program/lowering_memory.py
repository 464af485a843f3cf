"""What all graphs of a program share while they are lowered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from ..ir.by_content import ByContent
from ..ir.loops import Block, Buffer, Kernel
from ..ir.program import BufferDecl, Storage
from ..ir.types import DType, TensorType
from ..record import record
from ..schedule.alike import Alike
from ..schedule.decision import Tuned
from .node_key import NodeKey
from .room import Room

Source = int | np.ndarray | Buffer
"""The number of a tensor among the operands and outputs of a node, a packed constant, or memory during the call."""


Head = tuple[str, tuple[Buffer, ...], tuple[str, ...]]
"""What loops are called after, the tensors that they work on, and the names of those among them that are temporary."""


@record
class Lowered:
    """A kernel by name, what is behind its parameters, and the name of its generator."""

    kernel: str
    sources: tuple[Source, ...]
    macs: int
    generator: str


@dataclass
class LoweringMemory:
    """Buffers, kernels, and what is needed to find those that are there already.
    ``decisions`` are those for kernels by their keys, ``chunks`` what they say about how the work of kernels is split
    for the ``threads``, ``room`` what memory is free while layers run."""

    decisions: Tuned
    threads: int
    room: Room
    chunks: dict[str, int] = field(default_factory=dict)
    streamed: set[str] = field(default_factory=set)
    buffers: dict[str, BufferDecl] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    alike: dict[tuple[Buffer, ...], list[tuple[Kernel, str]]] = field(default_factory=dict)
    """``kernels`` before they were named, by their parameters: the few that another can be equal to."""
    lowered: dict[NodeKey, Lowered] = field(default_factory=dict)
    finished: dict[Head, list[tuple[Block, Kernel, tuple[str, ...]]]] = field(default_factory=dict)
    nests: Alike = field(default_factory=Alike)
    shared: ByContent[str] = field(default_factory=ByContent)
    taken: dict[str, int] = field(default_factory=dict)
    arrays: list[Mapping[str, np.ndarray]] = field(default_factory=list)
    """Constants of graphs, which ``lowered`` knows by identity."""
    named: Collection[str] = ()
    """The values of all graphs: names that nothing else may have."""

    def numbered(self, stem: str) -> str:
        """The next of ``stem_0``, ``stem_1``, ... that nothing has."""
        for number in count(self.taken.get(stem, 0)):
            name = f"{stem}_{number}"
            if name not in self.buffers and name not in self.named:
                break
        self.taken[stem] = number + 1
        return name

    def constant(self, array: np.ndarray, stem: str) -> str:
        """The buffer of a constant; equal arrays share one."""
        stored = DType.from_numpy(array.dtype).stored
        array = array.view(stored.numpy)
        known = self.shared.get(array)
        if known is not None:
            return known
        name = self.numbered(stem)
        self.shared.set(array, name)
        self.buffers[name] = BufferDecl(name, stored, array.shape, Storage.CONSTANT)
        self.constants[name] = array
        return name

    def tensor(self, stem: str, type_: TensorType) -> str:
        """A new buffer of the arena."""
        name = self.numbered(stem)
        self.buffers[name] = BufferDecl(name, type_.dtype.stored, type_.shape, Storage.ARENA)
        return name
