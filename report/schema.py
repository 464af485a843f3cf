"""What report.json holds, as data. Every table and chart is a view of it; docs/report.md describes the fields.

Sizes are bytes. ``None`` (``null`` in the file) stands for what is not known, such as the code size where no object
was made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from ..ir.program import ARENA
from ..printable import printable
from ..record import record
from .accuracy import Accuracy

SCHEMA = 1
"""Raised when a field changes its meaning or goes away; new fields keep it."""

REPORT_FILE = "report.json"


@record
class Model:
    """The model that a report is about. ``sha256`` is that of the ``.onnx`` file alone; ``id`` is what header, library
    and file of weights know each other by, in hexadecimal."""

    name: str
    file: str
    sha256: str
    parameters: int
    id: str = ""


@record
class TargetInfo:
    """The machine that a report is about, by the names of ``ccml targets``, and its LLVM triple."""

    name: str
    abi: str
    cpu: str
    triple: str


@record
class Options:
    """What was asked for. ``dims``, ``shapes``, ``fixed``, ``lengths`` and ``max`` are as given, not all that the model
    has. ``weights`` says where constants are: ``internal``, in the program, or ``external``, in a file of their own;
    ``slices`` whether a run can be taken layer by layer, ``slice_cycles`` of how many cycles a slice is at most,
    ``threads`` for how many threads large layers are in chunks (0: none), ``rows`` which inputs come row by row."""

    dims: dict[str, int | str]
    shapes: dict[str, list[int]]
    emit: list[str]
    integer_io: bool = False
    quantize: dict[str, object] | None = None
    optimize: str = "balanced"
    max_ram: int | None = None
    pools: dict[str, int | None] = field(default_factory=dict)
    fixed: dict[str, list[float]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    max: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    custom_ops: dict[str, str] = field(default_factory=dict)
    weights: str = "internal"
    exact: bool = False
    precision: str = "fp32"
    rows: list[str] = field(default_factory=list)
    slices: bool = False
    threads: int = 0
    slice_cycles: int | None = None


@record
class Tensor:
    """An input or output. ``name`` is the ONNX name, ``c_name`` the parameter of the C function, and ``tensor`` what
    layers and memory call it. An input with a ``row_axis`` is in no memory: a function brings its rows, each what is at
    one place along that axis."""

    name: str
    c_name: str
    dtype: str
    shape: list[int]
    bytes: int
    tensor: str = ""
    row_axis: int | None = None


@record
class StateTensor:
    """A tensor that the caller keeps between runs, ``offset`` bytes into the memory of states. ``name`` and ``output``
    are the ONNX names of what a run reads and what it leaves; layers refer to them as ``tensor`` and ``updated``.
    ``copied``: the new value is made in working memory and copied at the end of each run, as the old one is needed
    until then."""

    name: str
    output: str
    dtype: str
    shape: list[int]
    bytes: int
    offset: int
    copied: bool
    tensor: str = ""
    updated: str = ""


@record
class Ring:
    """An intermediate tensor of a stream of layers, of which ``bytes`` of ``tensor_bytes`` exist at a time."""

    tensor: str
    bytes: int
    tensor_bytes: int


@record
class Layer:
    """One kernel call. ``live_bytes`` is the RAM that tensors occupy while it runs, ``code_bytes`` its kernel's code.
    ``generator`` names what made its loops. ``instructions`` are predicted, ``cycles`` estimated. Where it is a stream
    of several layers, which it runs row by row, ``rings`` tell what that saves. ``within`` tells of the branches and
    loops that it is in: numbers are those of one call, ``totals`` count the dearer side of a branch and as many passes
    as a loop may have, or one where nothing bounds them.

    ``reads`` and ``writes`` are the tensors that it takes and makes, constants left out and scratch memory included.
    ``tiles`` say how its loops are blocked: the block instructions that the kernel invokes, and its tiles of registers
    such as ``f32x8[6, 2]``.

    Layers that share a kernel or a weight each count it; the totals count it once.
    """

    index: int
    name: str
    kernel: str
    ops: list[str]
    output: str
    dtype: str
    shape: list[int]
    macs: int
    weight_bytes: int
    live_bytes: int
    code_bytes: int | None
    instructions: int | None = None
    cycles: int | None = None
    rings: list[Ring] = field(default_factory=list)
    generator: str = ""
    within: str = ""
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    tiles: list[str] = field(default_factory=list)


@record
class Placement:
    """A tensor with a place in working memory: it lives from layer ``first`` to layer ``last``, both included."""

    tensor: str
    offset: int
    bytes: int
    first: int
    last: int
    pool: str = ARENA


@record
class PoolTotals:
    """A part of working memory that has a pointer of its own. ``limit_bytes`` is what there is, if that was said;
    ``traffic_bytes`` is what one run loads from it and stores there. The rest is as in :class:`Totals`."""

    name: str
    ram_bytes: int
    arena_bytes: int
    align: int
    limit_bytes: int | None
    peak_live_bytes: int
    peak_tensors: list[str]
    traffic_bytes: int


@record
class Route:
    """What the model takes by one of the ways to machine code. ``flash_bytes`` is code and constants, with
    ``helper_bytes`` for the ``helpers``: functions of the compiler's run-time library that the code calls. Where that
    library is not there to be linked, ``helper_bytes`` is ``None`` and nothing else counts them. ``sections`` are those
    that take memory on the device."""

    code_bytes: int
    flash_bytes: int
    stack_bytes: int | None
    helper_bytes: int | None = 0
    helpers: list[str] = field(default_factory=list)
    sections: dict[str, int] = field(default_factory=dict)


@record
class Totals:
    """``ram_bytes`` is working memory, on targets where inputs and outputs have a place in it with these;
    ``arena_bytes`` is what it takes where the caller keeps them elsewhere. Both are sums over the ``pools``, mostly
    one. ``peak_tensors`` live when most of it is used. ``state_bytes`` is the memory of states, which is no part of
    these. ``external_weight_bytes`` is the file of weights, where there is one, which is no part of ``flash_bytes``.
    ``slices`` are the steps of a run in slices at most (0: it cannot be taken so), ``longest_slice`` the layer that
    takes most cycles, or most instructions where these are not known.

    ``routes`` are what LLVM's objects (``llvm``) and GCC's of the C sources (``c``) take, as far as that is known.
    ``flash_bytes`` is that of the larger one, and ``code_bytes`` of the same; ``stack_bytes`` is the larger one.
    ``instructions`` and ``cycles`` are those of one run: a typical estimate of cycles, between ``cycles_low`` and
    ``cycles_high`` where the sources leave it open. Stack and instructions are known for targets with a cost model,
    cycles for cores with a table. ``flash_route``, ``stack_route`` and ``costs_route`` (of instructions and cycles) are
    the routes for which these numbers stand. ``macs`` are without those of the
    custom operators ``uncounted``; in models with such operators instructions, cycles and stack are not known."""

    ram_bytes: int
    arena_bytes: int
    arena_align: int
    peak_live_bytes: int
    peak_tensors: list[str]
    weight_bytes: int
    code_bytes: int | None
    flash_bytes: int | None
    stack_bytes: int | None
    macs: int
    instructions: int | None = None
    cycles: int | None = None
    cycles_low: int | None = None
    cycles_high: int | None = None
    flash_route: str | None = None
    stack_route: str | None = None
    costs_route: str | None = None
    pools: list[PoolTotals] = field(default_factory=list)
    routes: dict[str, Route] = field(default_factory=dict)
    state_bytes: int = 0
    state_align: int = 1
    uncounted: list[str] = field(default_factory=list)
    external_weight_bytes: int = 0
    slices: int = 0
    longest_slice: int | None = None


@record
class LibraryTotals:
    """What several models take that were linked: ``ram_bytes`` and ``arena_bytes`` are for the one that needs most, as
    they do not run at the same time; states are apart. ``flash_bytes`` is code and constants of all, by LLVM.
    ``kernels`` counts block instructions as well; ``shared_kernels`` of these are used by several models."""

    ram_bytes: int
    arena_bytes: int
    arena_align: int
    state_bytes: int
    weight_bytes: int
    code_bytes: int | None
    flash_bytes: int | None
    kernels: int
    shared_kernels: int


@dataclass(frozen=True)
class Firmware:
    """The library ``name`` of several models, and what all of them take."""

    name: str
    totals: LibraryTotals


@record
class File:
    """A file of the artifact. ``path`` is relative to the folder of the report, with ``/``."""

    path: str
    bytes: int
    sha256: str


@record
class LevelInfo:
    """The code for one CPU of a library that has it for several, and ``requires``, the features by which the library
    chooses it. ``code_bytes`` is there where objects were made; constants that levels share count in each."""

    cpu: str
    requires: list[str]
    arena_bytes: int
    weight_bytes: int
    code_bytes: int | None


@dataclass(frozen=True)
class Report:
    """One model compiled for one machine. ``sections`` are those that take memory on the device, of the route for
    which ``totals.flash_bytes`` stands. ``accuracy`` is there where ccml quantized the model, ``levels`` where a
    library has code for several CPUs, the most demanding first: layers are those of ``target``, memory is for all."""

    schema: int
    ccml: str
    model: Model
    target: TargetInfo
    options: Options
    totals: Totals
    inputs: list[Tensor]
    outputs: list[Tensor]
    layers: list[Layer]
    memory: list[Placement]
    sections: dict[str, int] | None
    files: list[File]
    accuracy: Accuracy | None = None
    states: list[StateTensor] = field(default_factory=list)
    levels: list[LevelInfo] = field(default_factory=list)

    def to_json(self) -> str:
        """The text of ``report.json``."""
        return json_text(asdict(self))


def json_text(content: object) -> str:
    """The one spelling of JSON that ccml writes: equal content is equal bytes, lists of scalars take one line."""
    return "".join(_json_parts(content, "\n")) + "\n"


def _json_parts(content: object, newline: str) -> Iterator[str]:
    inner = newline + "  "
    if isinstance(content, dict) and content:
        for number, (key, value) in enumerate(content.items()):
            yield f"{',' if number else '{'}{inner}{_scalar(key)}: "
            yield from _json_parts(value, inner)
        yield newline + "}"
    elif isinstance(content, list) and any(isinstance(value, (dict, list)) for value in content):
        for number, value in enumerate(content):
            yield f"{',' if number else '['}{inner}"
            yield from _json_parts(value, inner)
        yield newline + "]"
    else:
        yield _scalar(content)


def _scalar(content: object) -> str:
    return printable(json.dumps(content, ensure_ascii=False, allow_nan=False))


def finite(number: float) -> float | None:
    """``number`` where JSON can say it; ``None`` for infinities and NaN."""
    return number if math.isfinite(number) else None
