"""A whole program: constants, kernels, a body of steps and a memory plan. What the printers print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..record import record
from .extents import Extent, filled
from .loops import Invoke, Kernel
from .loops_rewrite import walk_stmts
from .states import State, initial_element
from .steps import Body, Call, at_most, walk_calls
from .types import DType, TensorType
from .weights import ExternalWeights


class Storage(Enum):
    """Where a tensor's bytes are: passed by the caller, in working memory, in the memory of states, or among the
    constants; or in no memory, as a function of the caller's brings its rows."""

    INPUT = "input"
    OUTPUT = "output"
    ARENA = "arena"
    STATE = "state"
    CONSTANT = "constant"
    ROWS = "rows"


@record
class BufferDecl:
    """The memory of one tensor. ``shape`` is the physical shape (halo included); dense, row-major.

    ``updates`` is the state whose new value the tensor is: it lies in the place of that one, as large as that.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    storage: Storage
    updates: str | None = None

    @property
    def nbytes(self) -> int:
        return TensorType(self.dtype, self.shape).nbytes


@record
class Interface:
    """An input or output of the model: its C name, its ONNX name and its type in the model's own layout.

    ``row_axis``: a function of the caller's brings the input row by row, the elements at one place along that axis.
    """

    c_name: str
    name: str
    type: TensorType
    buffer: str
    row_axis: int | None = None

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row, of an input that comes by rows."""
        assert self.row_axis is not None
        return self.type.shape[: self.row_axis] + self.type.shape[self.row_axis + 1 :]

    @property
    def row_count(self) -> int:
        """How many rows an input has that comes by rows."""
        assert self.row_axis is not None
        return self.type.shape[self.row_axis]

    def rows_of(self, array: np.ndarray) -> np.ndarray:
        """The rows of such an input one behind the other, each dense: ``[count, *row_shape]``."""
        assert self.row_axis is not None
        return np.ascontiguousarray(np.moveaxis(array, self.row_axis, 0))


@record
class StateTensor:
    """A tensor that the caller keeps between runs: the input ``name`` and the output ``output`` of the model.

    It is in ``buffer`` when a run begins, and in ``updated`` when it ends: one place. ``copied``: the new value is
    made elsewhere, as the old one is still needed by then, and copied there.
    """

    c_name: str
    type: TensorType
    buffer: str
    updated: str
    state: State
    copied: bool = False

    @property
    def name(self) -> str:
        return self.state.input

    @property
    def output(self) -> str:
        return self.state.output

    @property
    def initial(self) -> int:
        """Every element after a reset."""
        return initial_element(self.state, self.type)


ARENA = "arena"
"""The pool of a program that has only one, unless it is named otherwise."""
STATE = "state"
"""The pool of the states, which is none of the working memory."""
WEIGHTS = "weights"
"""The parameter that is the file of weights."""
THREADS = "threads"
"""The parameter that says who else runs chunks of kernels."""


@record
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


@record
class MemoryPlan:
    """Where ARENA buffers are, and perhaps INPUT and OUTPUT buffers: each in one of the pools. Pools stand in the order
    in which the caller passes them, at least one, and never overlap. STATE buffers are in ``state``, behind all pools;
    there is none where the model keeps nothing."""

    pools: tuple[Pool, ...]
    state: Pool | None = None

    @cached_property
    def all_pools(self) -> tuple[Pool, ...]:
        """The pools of working memory, then that of the states. A :class:`Place` counts them like this."""
        return self.pools if self.state is None else (*self.pools, self.state)

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """The place of each buffer that has one."""
        return {
            name: Place(number, offset)
            for number, pool in enumerate(self.all_pools)
            for name, offset in pool.offsets.items()
        }

    @property
    def ram(self) -> int:
        """All that the pools may have to be together, with that of the states."""
        return sum(pool.ram for pool in self.all_pools)

    @property
    def state_bytes(self) -> int:
        return 0 if self.state is None else self.state.size


class Role(Enum):
    """What a parameter of the run function is, in the order in which they stand."""

    POOL = "pool"
    STATE = "state"
    WEIGHTS = "weights"
    THREADS = "threads"
    INPUT = "input"
    OUTPUT = "output"


@record
class Parameter:
    """A pointer to ``nbytes`` bytes that the run function takes.

    ``name`` is that of the pool, or of the buffer of an input or output. ``dtype`` are its elements; pools, the memory
    of states and the file of weights have none, but an alignment that is checked. Of an input that comes ``by_rows``
    the pointer is to the function that brings them, with its context.
    """

    role: Role
    name: str
    nbytes: int
    dtype: DType | None = None
    align: int = 1
    by_rows: bool = False

    @property
    def written(self) -> bool:
        return self.role not in (Role.INPUT, Role.WEIGHTS, Role.THREADS)


@record
class Program:
    """Everything an artifact is made of.

    ``constants`` hold arrays in their physical (packed) form under the names of CONSTANT buffers. ``taps`` maps
    names of graph values that can be observed (for calibration and verification) to buffer names; ``framed`` tells of
    those that have a larger buffer of their name to themselves where in it they begin. ``blocks`` are the
    meanings of the block instructions that kernels invoke, as the machine computes them, under their ``block_name``.
    ``extents`` say which dimensions of inputs and outputs have fewer elements in a run than their shapes tell, by the
    names of interfaces. ``states`` are kept by the caller; their inputs and outputs are not among the others.
    ``small_code``: compilers are to make small code of it, where that and fast code are not the
    same. With ``weights`` the constants are in a file that the caller passes. ``identity`` is what header, library and
    file of weights know each other by, where it is not the program's own (``identity.model_id``). ``sliced``: a run can
    be taken call by call as well. The work of large kernels is in chunks for so many ``threads``, and a parameter says
    who runs them; 0: there are none. ``library`` is what kernels and constants are called after where several models
    share them. ``sections`` are those of kernels (``("code", name)``) and constants (``("weights", name)``) that do not
    go where the others are. ``chunks`` for each thread were decided on for some kernels, by their names, before work is
    split. The buffers ``streamed`` are written and read by neighbouring calls that are to be one stream, before there
    are streams.
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
    framed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    blocks: tuple[Kernel, ...] = ()
    small_code: bool = False
    extents: tuple[Extent, ...] = ()
    states: tuple[StateTensor, ...] = ()
    weights: ExternalWeights | None = None
    identity: int = 0
    sliced: bool = False
    threads: int = 0
    library: str = ""
    sections: Mapping[tuple[str, str], str] = field(default_factory=dict)
    chunks: Mapping[str, int] = field(default_factory=dict)
    streamed: frozenset[str] = frozenset()

    @property
    def owner(self) -> str:
        """What the symbols of kernels and constants begin with."""
        return self.library or self.name

    @cached_property
    def block_sections(self) -> Mapping[str, str]:
        """The sections of block instructions: those of the kernels that invoke them."""
        return {
            stmt.block: self.sections["code", kernel.name]
            for kernel in self.kernels
            if ("code", kernel.name) in self.sections
            for stmt in walk_stmts(kernel.body)
            if isinstance(stmt, Invoke)
        }

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the body, in the order of the text."""
        return tuple(walk_calls(self.body))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the caller passes to the run function, in order. Whoever declares, prints or calls it goes by this."""
        found = [Parameter(Role.POOL, pool.name, pool.size, align=pool.align) for pool in self.plan.pools]
        if self.plan.state is not None:
            found.append(Parameter(Role.STATE, STATE, self.plan.state.size, align=self.plan.state.align))
        if self.weights is not None:
            found.append(Parameter(Role.WEIGHTS, WEIGHTS, self.weights.size, align=self.weights.align))
        if self.threads:
            found.append(Parameter(Role.THREADS, THREADS, 0))
        for number, side in enumerate(self.interfaces):
            role = Role.INPUT if number < len(self.inputs) else Role.OUTPUT
            by_rows = side.row_axis is not None
            found.append(Parameter(role, side.buffer, side.type.nbytes, side.type.dtype, by_rows=by_rows))
        return tuple(found)

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def by_rows(self) -> tuple[Interface, ...]:
        """The inputs whose rows a function of the caller's brings."""
        return tuple(side for side in self.inputs if side.row_axis is not None)

    @property
    def tensors(self) -> tuple[Interface, ...]:
        """The inputs but for those that hold extents which the shapes of others tell."""
        given = {side.name for side in self.inputs}
        told = {extent.value for extent in self.extents if any(name in given for name, _ in extent.dims)}
        return tuple(side for side in self.inputs if side.name not in told)

    @property
    def free_extents(self) -> tuple[Extent, ...]:
        """Those that are inputs of which no other input tells them: extents of states."""
        sides = {side.name for side in self.tensors}
        return tuple(extent for extent in self.extents if extent.value in sides)

    def filled(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All inputs, with memory for the greatest extents (``extents.filled``) and strings as bytes."""
        return filled(self.extents, {side.name: side.type for side in self.inputs}, inputs)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a run, at most (``steps.at_most``)."""
        return at_most(self.body, lambda _, call: call.macs)

    @property
    def custom_operators(self) -> tuple[str, ...]:
        """The operators whose C is the user's."""
        found = (kernel.foreign.operator for kernel in self.kernels if kernel.foreign is not None)
        return tuple(dict.fromkeys(found))

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Custom operators whose multiply-accumulates nobody told, so that :attr:`macs` is without them."""
        foreign = {kernel.name: kernel.foreign.operator for kernel in self.kernels if kernel.foreign is not None}
        return tuple(dict.fromkeys(foreign[c.kernel] for c in self.calls if c.kernel in foreign and not c.macs))

    def kernel(self, name: str) -> Kernel:
        return next(kernel for kernel in self.kernels if kernel.name == name)
