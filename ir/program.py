"""A whole program: constants, kernels, a body of steps and a memory plan. What the printers print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .extents import Extent, filled
from .loops import Kernel
from .steps import Body, Call, at_most, walk_calls
from .types import DType, TensorType


class Storage(Enum):
    """Where a tensor's bytes are: passed by the caller, in working memory, or among the constants."""

    INPUT = "input"
    OUTPUT = "output"
    ARENA = "arena"
    CONSTANT = "constant"


@dataclass(frozen=True)
class BufferDecl:
    """The memory of one tensor. ``shape`` is the physical shape (halo included); dense, row-major."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    storage: Storage

    @property
    def nbytes(self) -> int:
        return TensorType(self.dtype, self.shape).nbytes


@dataclass(frozen=True)
class Interface:
    """An input or output of the model: its C name, its ONNX name and its type in the model's own layout."""

    c_name: str
    name: str
    type: TensorType
    buffer: str


ARENA = "arena"
"""The pool of a program that has only one, unless it is named otherwise."""


@dataclass(frozen=True)
class Pool:
    """Working memory that the caller passes: ``size`` bytes, aligned to ``align``, with byte ``offsets`` of buffers.

    Where INPUT and OUTPUT buffers have offsets as well, the caller may keep them there instead of in memory of his own;
    the pool then takes ``whole`` bytes (0: none of them is in this pool). During a run their places are used for other
    tensors. There are no more than ``limit`` bytes of it, if that is known.
    """

    name: str
    offsets: Mapping[str, int]
    size: int
    align: int
    whole: int = 0
    limit: int | None = None

    @property
    def ram(self) -> int:
        """All that the pool may have to be."""
        return max(self.size, self.whole)


class Place(NamedTuple):
    """A byte offset in the pool of that number."""

    pool: int
    offset: int


@dataclass(frozen=True)
class MemoryPlan:
    """Where ARENA buffers are, and perhaps INPUT and OUTPUT buffers: each in one of the pools. Pools stand in the order
    in which the caller passes them, at least one, and never overlap."""

    pools: tuple[Pool, ...]

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """The place of each buffer that has one."""
        return {
            name: Place(number, offset)
            for number, pool in enumerate(self.pools)
            for name, offset in pool.offsets.items()
        }

    @property
    def ram(self) -> int:
        """All that the pools may have to be together."""
        return sum(pool.ram for pool in self.pools)


class Role(Enum):
    """What a parameter of the run function is, in the order in which they stand."""

    POOL = "pool"
    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True)
class Parameter:
    """A pointer to ``nbytes`` bytes that the run function takes.

    ``name`` is that of the pool, or of the buffer of an input or output. ``dtype`` are its elements; a pool has none,
    but an alignment that is checked.
    """

    role: Role
    name: str
    nbytes: int
    dtype: DType | None = None
    align: int = 1

    @property
    def written(self) -> bool:
        return self.role is not Role.INPUT


@dataclass(frozen=True)
class Program:
    """Everything an artifact is made of.

    ``constants`` hold arrays in their physical (packed) form under the names of CONSTANT buffers. ``taps`` maps
    names of graph values that can be observed (for calibration and verification) to buffer names. ``blocks`` are the
    meanings of the block instructions that kernels invoke, as the machine computes them, under their ``block_name``.
    ``extents`` say which dimensions of inputs and outputs have fewer elements in a run than their shapes tell, by the
    names of interfaces. ``small_code``: compilers are to make small code of it, where that and fast code are not the
    same.
    """

    name: str
    target: str
    inputs: tuple[Interface, ...]
    outputs: tuple[Interface, ...]
    buffers: Mapping[str, BufferDecl]
    constants: Mapping[str, np.ndarray]
    kernels: tuple[Kernel, ...]
    body: Body
    plan: MemoryPlan
    taps: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[Kernel, ...] = ()
    small_code: bool = False
    extents: tuple[Extent, ...] = ()

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the body, in the order of the text."""
        return tuple(walk_calls(self.body))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the caller passes to the run function, in order. Whoever declares, prints or calls it goes by this."""
        found = [Parameter(Role.POOL, pool.name, pool.size, align=pool.align) for pool in self.plan.pools]
        for number, side in enumerate(self.interfaces):
            role = Role.INPUT if number < len(self.inputs) else Role.OUTPUT
            found.append(Parameter(role, side.buffer, side.type.nbytes, side.type.dtype))
        return tuple(found)

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def tensors(self) -> tuple[Interface, ...]:
        """The inputs but for those that hold extents, which the shapes of the others tell."""
        counts = {extent.value for extent in self.extents}
        return tuple(side for side in self.inputs if side.name not in counts)

    def filled(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All inputs, with memory for the greatest extents (``extents.filled``)."""
        return filled(self.extents, {side.name: side.type.shape for side in self.inputs}, inputs)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a run, at most (``steps.at_most``)."""
        return at_most(self.body, lambda _, call: call.macs)

    def kernel(self, name: str) -> Kernel:
        return next(kernel for kernel in self.kernels if kernel.name == name)
