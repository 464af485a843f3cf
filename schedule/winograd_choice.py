"""What Winograd's algorithm costs a convolution, and in blocks of how many tiles it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from ..ir.build import store
from ..ir.loops import Binary, Buffer, Call, Load, Store, Type
from ..ir.loops_rewrite import stmt_exprs, walk_expr
from ..ir.types import DType
from ..ops.integer import BYTES
from ..record import record
from ..targets.target import Cpu, Dot
from .blocking import Blocking, Product
from .constant_matrices import ConstantMatrix
from .decision import BlockShape, Decision
from .dots import usable_dots
from .names import Names
from .winograd_matrices import ALL, TAPS, WHOLE, Filtering

MOST_LANES = 16
"""Of vectors."""
WORTH = 0.9
"""The share of the direct contraction's cycles above which an estimate is not trusted to be better."""
MANY_TILES = 96
"""Tiles of a block beyond which registers are no better used."""
LARGEST = 4
"""Of the blocks of fewer tiles, the largest are compared."""
_KEPT = 1 / 2
"""The share of the vector registers that a transform fills with values which it keeps."""


@record
class Tiling:
    """Tiles in blocks: how many ``blocks`` there are of ``block`` images, rows and columns of tiles each; what a block
    multiplies, and how; and how many rows of its result a transform computes together."""

    blocks: tuple[int, int, int]
    block: tuple[int, int, int]
    product: Product
    blocking: Blocking
    rows: int
    cycles: float

    @property
    def tiles(self) -> int:
        """Tiles of a block."""
        return prod(self.block)


def computed_type(cpu: Cpu, dtype: DType) -> DType:
    """The type in which tiles of ``dtype`` are transformed and multiplied."""
    if dtype in BYTES:
        return DType.I16
    return DType.F32 if dtype is DType.BF16 or (dtype is DType.F16 and "f16" not in cpu.features) else dtype


def sum_type(computed: DType) -> DType:
    """The type of sums of products of what :func:`computed_type` gives."""
    return DType.I32 if computed is DType.I16 else computed


def filtering_of(computed: DType, outputs: int) -> Filtering:
    """The matrices for it, or for sums of it."""
    return (WHOLE if computed.is_integer else ALL)[outputs]


def tile_lanes(cpu: Cpu, computed: DType) -> list[int]:
    """The widths of vectors of it. A register has twice as many halfwords as words."""
    if computed is DType.F16:
        widths = set(cpu.f16_lanes)
    else:
        widths = set(cpu.f32_lanes)
        if computed is DType.I16:
            widths.add(min(2 * max(widths), MOST_LANES))
    return sorted(widths - {1}, reverse=True)


def relative_cost(cpu: Cpu, dtype: DType, depth: int, out: Sequence[int], outputs: int) -> float:
    """Estimated cycles in proportion to those of the direct contraction of ``dtype``, for ``depth`` input channels and
    the shape ``out`` [n, h, w, channels] of the result; infinite where the difference is too small to be sure."""
    tiled = choose_tiling(cpu, computed_type(cpu, dtype), depth, tuple(out), outputs).cycles
    share = tiled / _direct_cycles(cpu, dtype, depth, tuple(out))
    return share if share < WORTH else float("inf")


@lru_cache(maxsize=1024)
def choose_tiling(cpu: Cpu, dtype: DType, depth: int, out: tuple[int, ...], outputs: int) -> Tiling:
    """The tiling of the fewest estimated cycles, of those that :func:`possible_tilings` lists."""
    return min(possible_tilings(cpu, dtype, depth, out, outputs), key=lambda tiling: tiling.cycles)


def possible_tilings(
    cpu: Cpu, dtype: DType, depth: int, out: tuple[int, ...], outputs: int, most: int = LARGEST
) -> list[Tiling]:  # fmt: skip
    """Those of the ``most`` largest blocks. Blocks divide the tiles evenly."""
    counts = _tile_counts(out, outputs)
    return [_tiling(cpu, dtype, depth, out[-1], outputs, counts, block) for block in _blocks(counts, most)]


def decided_tiling(
    cpu: Cpu, dtype: DType, depth: int, out: tuple[int, ...], outputs: int, decision: Decision
) -> Tiling:  # fmt: skip
    """The tiling of a ``decision``, as far as its blocks divide the tiles."""
    chosen, counts = choose_tiling(cpu, dtype, depth, out, outputs), _tile_counts(out, outputs)
    block = decision.tiles if decision.tiles in _blocks(counts, None) else chosen.block
    return _tiling(cpu, dtype, depth, out[-1], outputs, counts, block, decision.shape)


def _tile_counts(out: tuple[int, ...], outputs: int) -> tuple[int, int, int]:
    """Images, rows and columns of tiles."""
    return out[0], -(-out[1] // outputs), -(-out[2] // outputs)


def _blocks(counts: tuple[int, int, int], most: int | None) -> list[tuple[int, int, int]]:
    """Blocks whose tiles follow each other: part of a row, whole rows of an image, whole images. The ``most`` largest
    of them that are not too large, or all of these."""
    images, rows, columns = counts
    found = [(1, 1, part) for part in _divisors(columns)]
    found += [(1, part, columns) for part in _divisors(rows)]
    found += [(part, rows, columns) for part in _divisors(images)]
    few = [block for block in dict.fromkeys(found) if prod(block) <= MANY_TILES]
    return few if most is None else few[-most:]


def _divisors(count: int) -> list[int]:
    return [part for part in range(1, count + 1) if count % part == 0]


def _tiling(
    cpu: Cpu, dtype: DType, depth: int, columns: int, outputs: int, counts: tuple[int, int, int],
    block: tuple[int, int, int], shape: BlockShape | None = None,
) -> Tiling:  # fmt: skip
    filtering, sums = filtering_of(dtype, outputs), sum_type(dtype)
    blocks = (counts[0] // block[0], counts[1] // block[1], counts[2] // block[2])
    number, tiles, points = prod(blocks), prod(block), filtering.inputs**2
    dots = usable_dots(cpu, dtype, dtype.numpy if dtype.is_integer else None)
    reserve, pitch = cpu.registers.vector // 16, dtype.size * depth
    product = Product(dots, tiles, columns, (depth,), points, reserve=reserve, pitch=pitch)
    blocking = product.cheapest(cpu) if shape is None else product.decided(cpu, shape) or product.cheapest(cpu)
    rows = max(1, int(cpu.registers.vector * _KEPT) // filtering.inputs)
    products = product.cycles(cpu, blocking)
    before, after = (
        _transform_cycles(cpu, kind, outputs, back, rows, blocking.dot) * tiles * (channels / blocking.dot.lanes)
        for back, kind, channels in ((False, dtype, depth), (True, sums, columns))
    )
    width = min(columns, blocking.vectors * blocking.dot.lanes)
    temporaries = points * tiles * (dtype.size * depth + sums.size * width)
    passes = points * tiles * (dtype.size * depth * (1 + columns / width) + sums.size * 2 * columns)
    weights = dtype.size * points * depth * columns
    cycles = number * (before + after + passes * _per_byte(cpu, temporaries + weights * width / columns))
    first = _per_byte(cpu, weights)
    again = min(first, 1 / cpu.caches[-2].rate)  # from the largest cache
    cycles += _beside(cpu, products, weights * first) + (number - 1) * _beside(cpu, products, weights * again)
    return Tiling(blocks, block, product, blocking, rows, cycles)


@lru_cache(maxsize=1024)
def _direct_cycles(cpu: Cpu, dtype: DType, depth: int, out: tuple[int, ...]) -> float:
    k = (TAPS, TAPS * depth)
    direct = Product(usable_dots(cpu, dtype), out[-2], out[-1], k, prod(out[:-2]))
    weights = dtype.size * prod(k) * out[-1]
    return _beside(cpu, direct.cycles(cpu, direct.cheapest(cpu)), weights * _per_byte(cpu, weights))


def _beside(cpu: Cpu, products: float, weights: float) -> float:
    """Cycles of products and of the weights that they wait for, which come meanwhile where they are asked for ahead."""
    return products + weights if cpu.prefetch is None else max(products, weights)


def _per_byte(cpu: Cpu, size: float) -> float:
    """Cycles for each byte of ``size`` bytes that are read in turn: those of the largest cache that does not hold
    them."""
    slow = [1 / cache.rate for cache in cpu.caches if size > cache.size]
    return slow[-1] if slow else 0.0


@lru_cache(maxsize=256)
def _transform_cycles(cpu: Cpu, dtype: DType, outputs: int, back: bool, rows: int, dot: Dot) -> float:
    """Of one vector of a tile, from the operations of its code."""
    filtering, kind = filtering_of(dtype, outputs), Type(dtype)
    memory = Buffer("memory", kind, (filtering.inputs, filtering.inputs))
    matrix = ConstantMatrix(filtering.output if back else filtering.input, dot.name == "fma")
    code = [
        stmt
        for group in matrix.groups(rows)
        for stmt in matrix.both_sides(
            group, lambda i, j: memory[i, j], lambda i, j, value: (store(memory[i, j], value),), Names()
        )
    ]  # fmt: skip
    parts = [part for stmt in code for expr in stmt_exprs(stmt) for part in walk_expr(expr)]
    arithmetic = sum(isinstance(part, (Binary, Call)) and part.type == kind for part in parts)
    accesses = sum(isinstance(part, Load) for part in parts) + sum(isinstance(stmt, Store) for stmt in code)
    return arithmetic / cpu.pipeline.multiply_adds + accesses / cpu.pipeline.loads
