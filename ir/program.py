"""A whole program: constants, kernels, an ordered list of calls and a memory plan. What the printers print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from .loops import Kernel
from .types import DType, TensorType


class Storage(Enum):
    """Where a tensor's bytes are: passed by the caller, in the arena, or among the constants."""

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
class Call:
    """One kernel call. ``args`` are buffer names, one for each parameter of the kernel, equal in element count (or not
    shorter, where the kernel has scalars), and ``scalars`` the values of its scalars.

    ``macs`` counts multiply-accumulates, ``loc`` names the ONNX nodes, ``layer`` the graph node.
    """

    kernel: str
    args: tuple[str, ...]
    loc: str = ""
    macs: int = 0
    scalars: tuple[int, ...] = ()


@dataclass(frozen=True)
class Interface:
    """An input or output of the model: its C name, its ONNX name and its type in the model's own layout."""

    c_name: str
    name: str
    type: TensorType
    buffer: str


@dataclass(frozen=True)
class MemoryPlan:
    """Byte offsets of the ARENA buffers in one arena of ``size`` bytes, aligned to ``align``.

    Where INPUT and OUTPUT buffers have offsets as well, the caller may keep them there instead of in memory of his own;
    the arena then takes ``whole`` bytes (0: they have none). During a run their places are used for other tensors.
    """

    offsets: Mapping[str, int]
    size: int
    align: int
    whole: int = 0

    @property
    def ram(self) -> int:
        """All that the arena may have to be."""
        return max(self.size, self.whole)


@dataclass(frozen=True)
class Program:
    """Everything an artifact is made of.

    ``constants`` hold arrays in their physical (packed) form under the names of CONSTANT buffers. ``taps`` maps
    names of graph values that can be observed (for calibration and verification) to buffer names. ``blocks`` are the
    meanings of the block instructions that kernels invoke, as the machine computes them, under their ``block_name``.
    ``small_code``: compilers are to make small code of it, where that and fast code are not the same.
    """

    name: str
    target: str
    inputs: tuple[Interface, ...]
    outputs: tuple[Interface, ...]
    buffers: Mapping[str, BufferDecl]
    constants: Mapping[str, np.ndarray]
    kernels: tuple[Kernel, ...]
    calls: tuple[Call, ...]
    plan: MemoryPlan
    taps: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[Kernel, ...] = ()
    small_code: bool = False

    def kernel(self, name: str) -> Kernel:
        return next(kernel for kernel in self.kernels if kernel.name == name)
