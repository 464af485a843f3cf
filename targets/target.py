"""What a target is: data that schedules, printers and the command line read. Targets know nothing of ccml."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ElementKind(Enum):
    """Operand kinds of a :class:`Dot`."""

    F32 = "f32"
    I8 = "i8"
    U8 = "u8"
    I16 = "i16"
    I32 = "i32"


@dataclass(frozen=True)
class Dot:
    """A multiply-accumulate instruction: each of ``lanes`` accumulators takes the sum of ``group`` products.

    ``name`` is the row of the instruction table that spells it, or ``fma`` / ``mul+add`` for plain float arithmetic.
    """

    name: str
    lanes: int
    group: int
    activation: ElementKind
    weight: ElementKind
    accumulator: ElementKind


@dataclass(frozen=True)
class Registers:
    """``scalar`` and ``vector`` count the registers that a kernel may fill before values are spilled."""

    scalar: int
    vector: int


@dataclass(frozen=True)
class Pipeline:
    """Throughput of one core, per cycle, and the latency of a multiply-add in cycles.

    ``in_order``: one instruction after the other, so costs add up instead of overlapping.
    """

    multiply_adds: float = 2
    loads: float = 2
    latency: int = 4
    in_order: bool = False


IN_ORDER = Pipeline(multiply_adds=1, loads=1, latency=1, in_order=True)


@dataclass(frozen=True)
class Cpu:
    """One instruction set of a target.

    ``f32_lanes`` lists the usable float vector widths, widest first (1: scalar code). ``features`` name rows of the
    instruction table that run as machine instructions; what is missing is expanded into others. ``c_flags`` are for
    every C compiler, ``gcc_flags`` and ``clang_flags`` for one of them.

    ``integer_vectors``: integers in memory are loaded and stored as vectors like floats; without, only block
    instructions do so. ``scalar_operand``: a vector multiply-add takes a factor from a scalar register.
    ``signed_bytes``: the instructions for bytes take signed ones, so tensors of unsigned bytes should become such.
    ``compact``: loops are unrolled no further than it takes, and blocks of equal size come first.
    ``requires`` are the features that a processor must have for the code, by the names that LLVM gives those of a host.
    """

    name: str
    llvm_cpu: str
    llvm_features: str
    c_flags: tuple[str, ...]
    f32_lanes: tuple[int, ...]
    registers: Registers
    dots: tuple[Dot, ...]
    features: frozenset[str] = frozenset()
    pipeline: Pipeline = Pipeline()
    gcc_flags: tuple[str, ...] = ()
    clang_flags: tuple[str, ...] = ()
    integer_vectors: bool = True
    scalar_operand: bool = False
    signed_bytes: bool = False
    compact: bool = False
    requires: tuple[str, ...] = ()

    @property
    def has_fpu(self) -> bool:
        """Whether float arithmetic runs in registers of its own; without, every operation is a library call."""
        return self.registers.vector > 0


@dataclass(frozen=True)
class Abi:
    """One binary interface of a target: a triple with the CPUs it can be compiled for (the first is the default).

    ``host_architectures``: in a process of which architectures, the beginnings of LLVM's triples, its code can run.
    """

    name: str
    triple: str
    pointer_bits: int
    cpus: tuple[Cpu, ...]
    cross_compile: str = ""
    clang_triple: str = ""
    host_architectures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """``hosted``: an operating system loads shared libraries. ``page_align`` is theirs, in bytes.

    ``scarce_ram``: tensors share memory wherever that is sound, inputs and outputs of the model included, although
    compilers then know less of what overlaps. ``scarce_flash``: layers share code where that costs little speed.
    """

    name: str
    description: str
    abis: tuple[Abi, ...]
    aliases: tuple[str, ...] = ()
    hosted: bool = False
    page_align: int = 0
    arena_align: int = 16
    scarce_ram: bool = False
    scarce_flash: bool = False
    c_flags: tuple[str, ...] = ()
    shared_flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """A target narrowed down to one ABI and one CPU: what a compilation is for."""

    target: Target
    abi: Abi
    cpu: Cpu

    @property
    def name(self) -> str:
        return self.target.name
