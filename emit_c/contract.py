"""The contract between an artifact and the program that calls it, as data: what its header says, for whoever writes
code around it (packages, bindings)."""

from __future__ import annotations

from math import prod

from ..ir.extents import axes_of
from ..ir.identity import model_id
from ..ir.program import Interface, MemoryPlan, Pool, Program, Role
from ..ir.types import DType, TensorType
from ..record import record
from .header import offset_macro
from .spelling import MEMORY_TYPES
from .symbols import Symbols, assign_symbols


@record
class Memory:
    """Memory that the caller passes as ``parameter``: ``size`` bytes at a multiple of ``align``.

    Macros of the header begin with ``stem``. ``whole`` bytes are enough for inputs and outputs as well (0: they have no
    places in it).
    """

    parameter: str
    stem: str
    size: int
    align: int
    whole: int = 0


@record
class WeightsFile:
    """The file with all constants that the caller passes as ``parameter``: ``size`` bytes at a multiple of ``align``,
    which the function ``check`` looks through."""

    parameter: str
    file: str
    size: int
    align: int
    check: str


@record
class Axis:
    """A dimension whose extent, ``least`` to ``bound``, is in the tensor called ``parameter`` in each run."""

    axis: int
    least: int
    bound: int
    parameter: str


@record
class Tensor:
    """An input or output: ``parameter`` in C, ``name`` in ONNX; its macros begin with ``stem``.

    ``c_type`` are its elements in memory. ``pool`` is the number of the pool in which it may be kept, ``offset`` the
    macro that says where. ``scale`` and ``zero_point`` are those of a quantized tensor. ``axes`` have extents of their
    own in each run. ``is_extent``: it holds one. With a ``row_axis`` the parameter is a pointer to the contract's
    ``rows_type``, whose function brings the input row by row: what is at one place along that axis.
    """

    parameter: str
    name: str
    stem: str
    dtype: DType
    c_type: str
    shape: tuple[int, ...]
    elements: int
    nbytes: int
    pool: int | None = None
    offset: str = ""
    scale: float | None = None
    zero_point: int | None = None
    axes: tuple[Axis, ...] = ()
    is_extent: bool = False
    row_axis: int | None = None

    @property
    def row_pieces(self) -> int:
        """In how many pieces an array of the input's shape holds one of its rows."""
        return prod(self.shape[: self.row_axis])


@record
class Contract:
    """Everything that a caller of the model ``prefix`` has to know; macros begin with ``macro``.

    The function ``run`` takes the pools, then ``state`` if there is one, then inputs, then outputs, all by pointers.
    ``reset`` gives the states their first values. ``model_id`` tells the ``identity`` of the library's model. With
    ``weights``, ``run`` takes that file behind ``state``. ``layers`` is the number of layers, ``layer_done`` the
    macro by which measurements learn of each. With ``threads``, for which large layers are in chunks, ``run`` takes
    ``const ccml_threads *`` behind these, which ``workers_start`` and ``workers_stop`` fill.
    """

    prefix: str
    macro: str
    run: str
    reset: str | None
    model_id: str
    identity: int
    weights: WeightsFile | None
    sliced: bool
    pools: tuple[Memory, ...]
    state: Memory | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    layers: int
    layer_done: str
    threads: int = 0
    workers_start: str = ""
    workers_stop: str = ""
    rows_type: str = ""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def by_rows(self) -> tuple[Tensor, ...]:
        """The inputs that come row by row."""
        return tuple(tensor for tensor in self.inputs if tensor.row_axis is not None)

    @property
    def memory(self) -> tuple[Memory, ...]:
        """The pools, then the memory of states."""
        return self.pools if self.state is None else (*self.pools, self.state)

    @property
    def errors(self) -> tuple[tuple[str, int, str], ...]:
        """Name behind the macro's stem, number and meaning of what ``run`` may return besides 0."""
        extents = [("ERROR_EXTENT", 4, "an extent is out of its range")] if self.has_extent_error else []
        return (
            ("ERROR_NULL", 1, "a pointer is NULL that must not be"),
            ("ERROR_ALIGN", 2, "memory is not at a multiple of its alignment"),
            ("ERROR_CPU", 3, "the CPU lacks instructions for which the model was compiled"),
            *extents,
            ("ERROR_MODEL", 5, "header, library and weights are not of one model"),
            *([("ERROR_SEQUENCE", 7, "no run was begun, it is over, or job was changed")] if self.sliced else []),
            *([("ERROR_THREADS", 8, "no such number of threads, or the system has no more")] if self.threads else []),
            *([("ERROR_WEIGHTS", 6, "the weights are damaged, or no file of weights")] if self.weights else []),
            *([("ERROR_ROWS", 9, "the function that brings the rows of an input failed")] if self.by_rows else []),
        )

    @property
    def has_extent_error(self) -> bool:
        return any(tensor.is_extent for tensor in self.inputs)


def contract_of(program: Program) -> Contract:
    """The contract of the artifact of ``program``."""
    symbols = assign_symbols(program)
    plan = program.plan
    tensors = [
        _tensor(program, symbols, side, parameter, stem)
        for side, parameter, stem in zip(program.interfaces, symbols.arguments, symbols.stems, strict=True)
    ]
    return Contract(
        prefix=symbols.prefix,
        macro=symbols.macro,
        run=symbols.run,
        reset=symbols.reset if program.states else None,
        model_id=symbols.model_id,
        identity=model_id(program),
        weights=_weights(program, symbols),
        sliced=program.sliced,
        pools=tuple(
            Memory(parameter, stem, pool.size, pool.align, pool.ram if _is_whole(plan) else 0)
            for pool, parameter, stem in zip(plan.pools, symbols.pools, symbols.pool_stems, strict=True)
        ),
        state=_state(plan.state, symbols),
        inputs=tuple(tensors[: len(program.inputs)]),
        outputs=tuple(tensors[len(program.inputs) :]),
        layers=len(program.calls),
        layer_done=symbols.layer_done,
        threads=program.threads,
        workers_start=symbols.workers_start,
        workers_stop=symbols.workers_stop,
        rows_type=symbols.rows,
    )


def argument_order(contract: Contract, program: Program) -> list[tuple[Role, int]]:
    """What each argument of ``run`` is: its role, and its number among those of that role."""
    counts: dict[Role, int] = {}
    found = []
    for parameter in program.parameters:
        found.append((parameter.role, counts.get(parameter.role, 0)))
        counts[parameter.role] = found[-1][1] + 1
    return found


def _is_whole(plan: MemoryPlan) -> bool:
    return any(pool.whole for pool in plan.pools)


def _state(pool: Pool | None, symbols: Symbols) -> Memory | None:
    if pool is None or symbols.state is None:
        return None
    return Memory(symbols.state, symbols.state_stem, pool.size, pool.align)


def _weights(program: Program, symbols: Symbols) -> WeightsFile | None:
    if program.weights is None or symbols.weights is None:
        return None
    file, layout = weights_file_name(symbols.prefix), program.weights
    return WeightsFile(symbols.weights, file, layout.size, layout.align, symbols.check_weights)


def weights_file_name(prefix: str) -> str:
    """How the file of a model's weights is called."""
    return f"{prefix}.weights"


def _tensor(program: Program, symbols: Symbols, side: Interface, parameter: str, stem: str) -> Tensor:
    place = program.plan.places.get(side.buffer)
    scale, zero_point = _quantization(side.type)
    names = [item.name for item in program.interfaces]
    axes = axes_of(program.extents, side.name)
    return Tensor(
        parameter=parameter,
        name=side.name,
        stem=stem,
        dtype=side.type.dtype,
        c_type=MEMORY_TYPES[side.type.dtype],
        shape=side.type.shape,
        elements=side.type.size,
        nbytes=side.type.nbytes,
        pool=None if place is None else place.pool,
        offset="" if place is None else offset_macro(program, side, stem),
        scale=scale,
        zero_point=zero_point,
        axes=tuple(
            Axis(axis, extent.least, extent.bound, symbols.arguments[names.index(extent.value)])
            for axis, extent in sorted(axes.items())
        ),
        is_extent=any(extent.value == side.name for extent in program.extents),
        row_axis=side.row_axis,
    )


def _quantization(type_: TensorType) -> tuple[float | None, int | None]:
    """Scale and zero point, where one of each holds for all of the tensor."""
    quant = type_.quant
    if quant is None or len(quant.scale) != 1:
        return None, None
    return float(quant.scale[0]), int(quant.zero_point[0])
