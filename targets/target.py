"""What a target is: data that schedules, printers and the command line read. Targets know nothing of ccml."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from ..record import record
from .detection import CpuFeature, Detection
from .environment import Environment, Tool
from .formats import ELF_OBJECTS, ObjectFormat
from .threading import Threading
from .timing import Timing


class ElementKind(Enum):
    """Operand kinds of a :class:`Dot`."""

    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I8 = "i8"
    U8 = "u8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"


@record
class Dot:
    """A multiply-accumulate instruction: each of ``lanes`` accumulators takes the sum of ``group`` products.

    With ``rows`` of 2 it is a product of matrices: the accumulators are those of two rows and ``lanes // 2`` columns,
    and it takes ``group`` activations of two rows.

    ``name`` is the row of the instruction table that spells it, or ``fma`` / ``mul+add`` for plain arithmetic.
    ``temporaries`` are the registers that it takes besides its operands, where it is several instructions, and
    ``registers`` those of an accumulator. It takes as long as ``passes`` multiply-adds of floats. ``latency`` cycles go
    by until the same accumulator is added to again, by default those of the pipeline. A group of more numbers than the
    instruction multiplies is taken apart into ``parts``, and so are weights of the same size.
    """

    name: str
    lanes: int
    group: int
    activation: ElementKind
    weight: ElementKind
    accumulator: ElementKind
    temporaries: int = 0
    rows: int = 1
    passes: float = 1
    registers: int = 1
    parts: int = 1
    latency: int | None = None

    @property
    def steps(self) -> int:
        """Groups of activations of one row that fill a vector, as halfwords where they are widened."""
        return 2 * self.lanes // self.registers if self.widens else self.lanes // self.rows

    @property
    def weight_registers(self) -> int:
        """The registers of a vector of packed weights; groups that plain arithmetic takes are spread first."""
        return self.group if self.name in ("fma", "mul+add") else self.parts

    @property
    def packed_parts(self) -> int:
        """The vectors that weights for a group are packed in: one for each part, but for bytes that are taken apart."""
        return 1 if self.weight is ElementKind.I8 else self.parts

    @property
    def widens(self) -> bool:
        """Whether single integers are widened before they are multiplied."""
        return self.group == 1 and self.accumulator is ElementKind.I32


LONG_SUMS = tuple(
    Dot("mul+add", 1, 1, x, ElementKind.I16, ElementKind.I64) for x in (ElementKind.I8, ElementKind.U8, ElementKind.I16)
)
"""What every CPU has for products of halfwords whose sums need more than 32 bits."""


@record
class Registers:
    """``scalar`` and ``vector`` count the registers that a kernel may fill before values are spilled."""

    scalar: int
    vector: int


@record
class Pipeline:
    """Throughput of one core, per cycle, and the latency of a multiply-add in cycles.

    ``in_order``: one instruction after the other, so costs add up instead of overlapping.
    """

    multiply_adds: float = 2
    loads: float = 2
    latency: int = 4
    in_order: bool = False


@record
class Cache:
    """A cache of a core: of more than ``size`` bytes that are read in turn, ``rate`` bytes come in a cycle."""

    size: int
    rate: float


@record
class CacheSets:
    """How the fastest cache of a core keeps its lines: those whose addresses are a multiple of ``period`` bytes apart
    share ``ways`` places. From the cache behind it come ``refill`` bytes in a cycle."""

    period: int
    ways: int
    refill: float

    @property
    def size(self) -> int:
        """Bytes of the cache."""
        return self.period * self.ways


@record
class CacheLines:
    """How a core is told to fetch what it will read: lines of ``size`` bytes, ``distance`` bytes ahead in streams of at
    least ``near`` bytes, of tables of at least ``fewest`` bytes in all."""

    size: int
    distance: int
    near: int
    fewest: int


IN_ORDER = Pipeline(multiply_adds=1, loads=1, latency=1, in_order=True)


@record
class Cpu:
    """One instruction set of a target.

    ``extensions`` are what it has of what block instructions ask for: ``thumb``, ``long_multiply``, ``dsp`` (packed
    arithmetic), ``fpu``, ``mve``; ``amx`` (tiles of bytes).

    ``f32_lanes`` lists the usable float vector widths, widest first (1: scalar code). ``features`` name rows of the
    instruction table that run as machine instructions; what is missing is expanded into others. ``f64`` among them
    says that those of floats are there for doubles, too, ``f16`` that there is arithmetic of halves, ``long_lanes``
    that there are vectors of 64-bit integers and doubles, and products of words that are such, ``saturating_lanes``
    that vectors of words become bytes by instructions that saturate. ``c_flags`` are for every C compiler,
    ``gcc_flags`` and ``clang_flags`` for one of them.

    ``scalar_operand``: a vector multiply-add takes a factor from a scalar register,
    ``lane_operand``: from a lane of a vector. ``widening_lanes``: how many lanes of 16-bit integers it multiplies and
    adds to integers of 32 bits, the most first.
    ``sets``: of the fastest cache, ``caches``: those behind it, the nearest first; ``prefetch``: how it is told what to
    read next, where that pays. ``ample_ram``: temporaries, and loops that pass several rows at a time, are taken where
    they make code faster. Winograd's algorithm, which takes them, is none for floats with ``exact_floats``: it rounds
    otherwise.
    ``panel``: weights of products are stored in panels of so many columns, for all CPUs of an ABI, whatever the blocks
    in which a kernel reads them; 0: as it reads them.
    ``spends_memory``: constants may take several times their memory, and rows that are computed together more RAM,
    where that makes code faster.
    ``bytes_as``: the instructions for bytes take such activations, signed or unsigned, so tensors should become them.
    ``lookups_apart``: bytes that tables give for results in vectors are looked up in loops of their own.
    ``compact``: loops are unrolled no further than it takes, and blocks of equal size come first.
    ``requires`` are the features that a processor must have for the code, by the names that LLVM gives those of a host.
    ``costs``: what a run executes can be predicted from its machine code; ``timing``: the cycles of its instructions,
    where they are known. ``few_passes``: a few of LLVM's passes make code of kernels that executes as many instructions
    as all of them make, in a fraction of the time. ``short_instructions``: it has hardly any but
    those of 16 bits. ``long_narrow_loads``: loads of signed bytes and halfwords take longer instructions than those of
    words from the stack. ``short_loops``: counting takes as long as what they do, so that they run several passes at a
    time. ``in_rows``: rows of a result are made one behind the other, so that layers can go row by row.
    ``copied_bytes``: how many bytes at any address it moves at a time, the most first, where compilers have to be told.
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
    scalar_operand: bool = False
    lane_operand: bool = False
    widening_lanes: tuple[int, ...] = ()
    sets: CacheSets | None = None
    caches: tuple[Cache, ...] = ()
    prefetch: CacheLines | None = None
    ample_ram: bool = False
    exact_floats: bool = False
    panel: int = 0
    spends_memory: bool = False
    bytes_as: ElementKind | None = None
    extensions: frozenset[str] = frozenset()
    compact: bool = False
    requires: tuple[str, ...] = ()
    costs: bool = False
    timing: Timing | None = field(default=None, hash=False)
    few_passes: bool = False
    lookups_apart: bool = False
    short_instructions: bool = False
    long_narrow_loads: bool = False
    short_loops: bool = False
    in_rows: bool = False
    copied_bytes: tuple[int, ...] = ()

    @property
    def f16_lanes(self) -> tuple[int, ...]:
        """Usable vector widths of halves, widest first: those of floats where arithmetic is theirs."""
        if "f16" not in self.features:
            return self.f32_lanes
        return tuple(sorted({*self.f32_lanes, 2 * max(self.f32_lanes)}, reverse=True))

    @property
    def microcontroller(self) -> bool:
        """Whether memory is what there is least of."""
        return "thumb" in self.extensions

    @property
    def has_fpu(self) -> bool:
        """Whether float arithmetic runs in registers of its own; without, every operation is a library call."""
        return self.registers.vector > 0


TILES = frozenset({"amx"})
"""Extensions that are for bytes alone."""


def alike(one: Cpu, other: Cpu, kinds: Collection[ElementKind]) -> bool:
    """Whether two CPUs have the same instructions but those that multiply and add up elements of other ``kinds``."""
    return _for_kinds(one, kinds) == _for_kinds(other, kinds)


def _for_kinds(cpu: Cpu, kinds: Collection[ElementKind]) -> Cpu:
    dots = tuple(dot for dot in cpu.dots if dot.activation in kinds)
    others = {dot.name for dot in cpu.dots} - {dot.name for dot in dots}
    halves = set() if ElementKind.F16 in kinds else {"f16"}
    halves |= set() if ElementKind.BF16 in kinds else {"round_bf16"}
    bytes_ = {ElementKind.I8, ElementKind.U8}.intersection(kinds)
    return replace(
        cpu, name="", llvm_cpu="", llvm_features="", c_flags=(), requires=(), dots=dots,
        features=cpu.features - others - halves, extensions=cpu.extensions if bytes_ else cpu.extensions - TILES,
    )  # fmt: skip


def widened_halves(dots: Iterable[Dot]) -> tuple[Dot, ...]:
    """The multiply-adds of floats for halves, which are floats as soon as they are loaded."""
    return tuple(
        replace(dot, activation=ElementKind.F16, weight=ElementKind.F16, temporaries=dot.temporaries + 1)
        for dot in dots
    )


def widened_bfloats(dots: Iterable[Dot], group: int = 1) -> tuple[Dot, ...]:
    """The multiply-adds of floats for bfloat16, whose bits are the upper ones of a float: widened one by one as soon as
    they are loaded, or in pairs of which both are in a word until they are multiplied."""
    more, kind = 4 if group > 1 else 1, ElementKind.BF16
    return tuple(
        replace(dot, activation=kind, weight=kind, group=group, passes=group, temporaries=dot.temporaries + more)
        for dot in dots
    )


GCC = Tool("gcc", "apt install gcc")
CLANG = Tool("clang", "apt install clang")


@record
class Elf:
    """What an ABI puts into ELF objects: ``machine`` and ``flags`` of the header.

    Sections of the types ``unwind`` serve operating systems only. ``code_symbol`` marks where code begins, for
    debuggers and disassemblers of machines with several instruction sets.
    """

    machine: int
    flags: int = 0
    unwind: tuple[int, ...] = ()
    code_symbol: str = ""


@record
class Helpers:
    """The functions that compilers call where a machine lacks instructions.

    ``provided`` are those that every compiler for the ABI brings, as patterns of names (``*`` stands for anything),
    but for those that match ``libc``. ``groups`` name the helpers that an artifact brings itself (``HELPER_GROUPS`` in
    ``emit_llvm/runtime_ir.py``), and ``convention`` is the calling convention of helpers in LLVM IR. ``code`` are
    helpers that it brings as machine code, by name, in hexadecimal.
    """

    provided: tuple[str, ...] = ()
    libc: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    convention: str = ""
    code: Mapping[str, str] = field(default_factory=dict, hash=False)


@record
class Abi:
    """One binary interface of a target: a triple with the CPUs it can be compiled for (the first is the default).

    ``architecture`` is that by which rows of the instruction table list LLVM's intrinsics. ``elf``, ``objects`` and
    ``helpers`` say how objects are made (without ``elf`` they have another format), ``environment`` where programs are
    built and run to try them.
    ``cross_compile`` is the prefix of GCC and its tools, the first of which is ``gcc``; ``archiver`` replaces its
    ``ar``. ``clang_triple`` is what clang calls the machine. ``machine_code`` names the assembled block instructions
    that the ABI's CPUs can run. ``host_architectures``: in a process of which architectures, the beginnings of LLVM's
    triples, its code can run. ``guaranteed`` are features that every processor of the ABI has; others are asked for
    through ``detection``. ``llvm_options`` are for LLVM's code generator; they hold for the whole process.
    ``spin_hint`` is the intrinsic, as LLVM IR calls it, that eases waiting for another thread. ``linker_target`` is
    what a linker for several systems is told of this one, ``stub_target`` what Apple's stubs of libraries call it.
    ``desktop``: programs in Java and the like run there, not apps alone.
    """

    name: str
    triple: str
    architecture: str
    pointer_bits: int
    cpus: tuple[Cpu, ...]
    environment: Environment
    elf: Elf | None = None
    helpers: Helpers = Helpers()
    cross_compile: str = ""
    gcc: Tool = GCC
    archiver: str = ""
    clang_triple: str = ""
    machine_code: str = ""
    host_architectures: tuple[str, ...] = ()
    detection: Detection | None = None
    guaranteed: tuple[str, ...] = ()
    llvm_options: tuple[str, ...] = ()
    spin_hint: str = ""
    objects: ObjectFormat = ELF_OBJECTS
    linker_target: str = ""
    stub_target: str = ""
    desktop: bool = True


ZIG = Tool("zig", "pip install 'ccml[zig]'")
"""A compiler that links for systems whose own tools are not here."""


@dataclass(frozen=True)
class Library:
    """What a linker makes of the objects, for an operating system or an engine to load.

    ``file`` is its name; ``linker`` is LLD under the name for its format, or :data:`ZIG`, with ``linker_flags``;
    ``compiler_flags`` are for a C compiler that links. In all of them ``{name}`` is the model's name, and ``{exports}``
    a file that says that nothing but its functions is visible; a flag with ``{function}`` is there for each of them.
    ``{target}`` is the ABI's ``linker_target`` and ``{folder}`` where the library goes. ``output`` says where that is,
    as ``{path}``. ``import_library`` is the name of the file that others link with instead, where it is not the library
    itself. ``c_library`` is the name under which the library of the system's functions is loaded,
    nothing where the linker knows it.
    """

    file: str
    linker: Tool
    linker_flags: tuple[str, ...]
    compiler_flags: tuple[str, ...]
    c_library: str = ""
    output: str = "-o{path}"
    import_library: str = ""

    def linker_options(
        self, name: str, functions: Sequence[str], *, exports: str, target: str, folder: str, build_id: str
    ) -> list[str]:
        """The flags of the linker for a model with these functions; ``build_id`` are hexadecimal digits."""
        places = {"exports": exports, "target": target, "folder": folder, "build_id": build_id}
        return _spelled(self.linker_flags, name, functions, **places)

    def compiler_options(self, name: str, functions: Sequence[str]) -> list[str]:
        """Those of a C compiler that links."""
        return _spelled(self.compiler_flags, name, functions)


def _spelled(flags: Sequence[str], name: str, functions: Sequence[str], **places: str) -> list[str]:
    return [
        flag.format(name=name, function=function, **places)
        for flag in flags
        for function in (functions if "{function}" in flag else functions[:1])
    ]


def shared_library(page_align: int, c_library: str = "libc.so.6", *, stripped: bool = False) -> Library:
    """A shared library of an ELF system, for pages of at most ``page_align`` bytes; ``stripped``: without the names of
    what only debuggers look at. Its build ID is a digest of what it is linked of: linkers take several times as long
    for one of their output."""
    strip = ("--strip-all",) if stripped else ()
    return Library(
        "lib{name}.so",
        Tool("ld.lld", "apt install lld"),
        (
            "-shared", "-soname=lib{name}.so", "--version-script={exports}", "--no-undefined", "--gc-sections",
            "--build-id=0x{build_id}", "--hash-style=both", "-zrelro", "-znow", "-znoexecstack",
            f"-zmax-page-size={page_align}", *strip,
        ),
        (
            "-shared", "-Wl,-soname,lib{name}.so", "-Wl,--build-id=sha1", f"-Wl,-z,max-page-size={page_align}",
            *(f"-Wl,{flag}" for flag in strip),
        ),
        c_library,
    )  # fmt: skip


@record
class Kit:
    """A development kit with a compiler of its own: the make variable that says where it is, what it is called, and the
    folder of clang in it, as a pattern."""

    variable: str
    name: str
    programs: str


@record
class Target:
    """``family`` is what users call the machines. ``hosted``: an operating system loads code to any address.

    ``compiler`` is what the artifact's Makefile takes if not told otherwise, ``gcc`` or ``clang``; ``kit`` offers
    another one. ``library`` is made where something loads it.

    ``scarce_ram``: tensors share memory wherever that is sound, inputs and outputs of the model included, although
    compilers then know less of what overlaps. ``scarce_flash``: layers share code where that costs little speed.
    ``threads``: how it has them. ``dispatch``: objects and libraries have code for each CPU of an ABI
    unless one is chosen.
    """

    name: str
    family: str
    description: str
    abis: tuple[Abi, ...]
    aliases: tuple[str, ...] = ()
    hosted: bool = False
    library: Library | None = None
    compiler: str = "gcc"
    kit: Kit | None = None
    arena_align: int = 16
    scarce_ram: bool = False
    scarce_flash: bool = False
    c_flags: tuple[str, ...] = ()
    threads: Threading | None = None
    dispatch: bool = False


@record
class Machine:
    """A target narrowed down to one ABI and one CPU: what a compilation is for."""

    target: Target
    abi: Abi
    cpu: Cpu

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def asked_for(self) -> tuple[CpuFeature, ...]:
        """What a library has to find in the processor before it runs code for this machine."""
        detection = self.abi.detection
        if detection is None:
            return ()
        return tuple(detection.features[name] for name in self.cpu.requires if name not in self.abi.guaranteed)
