"""How contractions are cut into blocks of accumulators that stay in registers: blocks of columns, rows, chains of sums.

Where a block is too small to hide the latency of the multiply-add, k is spread over ``chains`` independent sets of
accumulators, which are added at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil, gcd, prod

from ..ir.loops import LoopKind, Var
from ..record import record
from ..targets.target import CacheLines, Cpu, Dot
from .decision import MOST_ROWS, MOST_VECTORS, BlockShape
from .dots import takes_words

UNROLLED = 64
"""Multiply-adds in the body of the innermost loop, at most."""
UNROLLED_COMPACT = 8
"""The same for compact code."""
MOST_STEPS = 8
"""Steps of k in the body of the innermost loop, at most."""
TAKEN_APART = 1.5
"""Products that are as dear as taking four bytes of weights in each lane apart."""
EVICTED = 0.6
"""Cycles by which an activation that comes from the second cache delays a step of k (1,024 channels in 14 rows take 1.3
times as long as 512 do on Zen 4)."""


@record
class Axis:
    var: Var
    extent: int
    kind: LoopKind = LoopKind.SERIAL


@record
class Blocking:
    """How a contraction is cut: ``rows x vectors`` accumulators of ``dot.lanes``, ``chains`` of them over k.

    With ``scalar_operand`` the multiply-add takes activations from scalar registers, with ``lane_operand`` from
    vectors of a row: each row is loaded for as many steps of k as a vector has groups. The loop over k is unrolled to
    ``limit`` multiply-adds and ``ahead`` steps at most, with ``lane_operand`` by the groups of a vector. ``prefetch``:
    weights are fetched before they are read. ``cache``: the bytes that the cache behind the fastest holds.
    """

    dot: Dot
    rows: int
    vectors: int
    chains: int
    unroll: int
    scalar_operand: bool = False
    limit: int = UNROLLED
    lane_operand: bool = False
    ahead: int = MOST_STEPS
    prefetch: CacheLines | None = None
    cache: int = 0

    @property
    def shape(self) -> BlockShape:
        """What :meth:`Product.decided` makes it of."""
        return BlockShape(self.dot.name, self.dot.lanes, self.rows, self.vectors, self.chains, self.ahead)


@record
class Region:
    """``blocks`` blocks of ``vectors`` vectors of columns, from column ``start``; ``columns`` are there in all."""

    start: int
    blocks: int
    vectors: int
    columns: int

    def active(self, vector: int, lanes: int, block: int) -> int:
        """Columns that exist in a vector of a block."""
        return max(0, min(lanes, self.columns - (block * self.vectors + vector) * lanes))


def regions(columns: int, lanes: int, vectors: int) -> tuple[Region, ...]:
    """Columns as full blocks of ``vectors`` and one narrower block for the rest."""
    total = ceil(columns / lanes)
    main = columns // (lanes * vectors)
    rest = total - main * vectors
    found = []
    if main:
        found.append(Region(0, main, vectors, main * vectors * lanes))
    if rest:
        start = main * vectors * lanes
        found.append(Region(start, 1, rest, columns - start))
    return tuple(found)


@record
class Product:
    """``rows x columns`` sums of products over the extents ``k`` by one of ``dots``, ``outer`` times.

    The last dimension of ``k`` is cut into groups. With ``sums`` a second set of accumulators is needed for what is
    scaled; ``reserve`` registers are left to the compiler. Activations of neighbouring rows are ``pitch`` bytes apart,
    0 where that is not known.
    """

    dots: tuple[Dot, ...]
    rows: int
    columns: int
    k: tuple[int, ...]
    outer: int = 1
    sums: bool = False
    reserve: int = 0
    pitch: int = 0

    def cheapest(self, cpu: Cpu) -> Blocking:
        """The blocking with the lowest estimated cycles of those that fit the registers. For compact code one without
        remainders comes first."""
        return _cheapest(self, cpu)

    def possible(self, cpu: Cpu) -> Iterator[Blocking]:
        """All that fit the registers."""
        for dot in self._dots(cpu):
            by_lanes = _takes_lanes(cpu, dot, self.k)
            for vectors in range(1, min(MOST_VECTORS, max(1, ceil(self.columns / dot.lanes))) + 1):
                for rows in range(1, min(self.rows, MOST_ROWS) + 1):
                    taken = self.reserve + (rows * vectors * dot.registers if self.sums else 0)
                    blocking = _with_chains(cpu, dot, rows, vectors, self._depth(dot), taken, by_lanes)
                    if blocking is None:
                        break
                    yield blocking

    def decided(self, cpu: Cpu, shape: BlockShape) -> Blocking | None:
        """The blocking of a ``shape``, cut down to what there is; ``None`` where no instruction here is meant."""
        dot = shape.find_dot(self._dots(cpu))
        if dot is None or not shape.valid:
            return None
        rows, vectors = min(shape.rows, self.rows), min(shape.vectors, max(1, ceil(self.columns / dot.lanes)))
        chains = shape.chains if 4 * shape.chains <= self._depth(dot) else 1
        by_lanes = _takes_lanes(cpu, dot, self.k)
        return _blocking(cpu, dot, rows, vectors, chains, by_lanes, shape.ahead)

    def cycles(self, cpu: Cpu, blocking: Blocking) -> float:
        """The estimate for all of it; where weights may be packed in more or fewer bytes, with their way to the
        caches."""
        depth, total, first = self._depth(blocking.dot), 0.0, 0.0
        for region in regions(self.columns, blocking.dot.lanes, blocking.vectors):
            for count, height in self.row_blocks(blocking):
                step = max(_step(cpu, blocking, height, region.vectors), refill(cpu, blocking, region.vectors, depth))
                step += conflicts(cpu, height, self.pitch)
                finish = 3.0 * height * region.vectors * blocking.chains + 12
                total += region.blocks * count * (depth * step + finish)
            if cpu.caches and blocking.dot.parts > 1:
                first += region.blocks * depth * _bytes_of_step(blocking, region.vectors) / cpu.caches[0].rate
        return self.outer * total + first

    def _dots(self, cpu: Cpu) -> tuple[Dot, ...]:
        """Those of use here: halves of vectors are multiplied by lanes only."""
        return tuple(dot for dot in self.dots if dot.registers == 1 or _takes_lanes(cpu, dot, self.k))

    def _depth(self, dot: Dot) -> int:
        """Steps of k."""
        return prod(self.k[:-1]) * ceil(self.k[-1] / dot.group)

    def row_blocks(self, blocking: Blocking) -> list[tuple[int, int]]:
        """How many blocks of rows there are, and how high each is."""
        return [(count, height) for _, count, height in pieces(self.rows, blocking.rows)]


@lru_cache(maxsize=1024)
def _cheapest(product: Product, cpu: Cpu) -> Blocking:
    def order(blocking: Blocking) -> tuple[int, float, int]:
        columns, heights = regions(product.columns, blocking.dot.lanes, blocking.vectors), product.row_blocks(blocking)
        size = blocking.rows * blocking.vectors * blocking.dot.lanes
        return (len(columns) * len(heights) if cpu.compact else 0, product.cycles(cpu, blocking), size)

    return min(product.possible(cpu), key=order)


def _takes_lanes(cpu: Cpu, dot: Dot, k: Sequence[int]) -> bool:
    """Whether the multiply-add takes activations from lanes of vectors, of which the last dimension has one at least:
    what is left over is read from a vector that ends with it."""
    whole = k[-1] // dot.group >= dot.steps
    plain = dot.activation is dot.accumulator or dot.rows > 1 or takes_words(dot)
    return cpu.lane_operand and dot.lanes > 1 and whole and (plain or (dot.widens and bool(cpu.widening_lanes)))


def _with_chains(
    cpu: Cpu, dot: Dot, height: int, vectors: int, depth: int, taken: int, lane_operand: bool
) -> Blocking | None:
    """The number of chains that hides latency within the register budget; ``None`` if the block itself does not fit."""
    budget = cpu.registers.vector or cpu.registers.scalar - 4
    rows, operands = _whole_rows(dot, height), vectors * dot.rows * dot.weight_registers
    accumulators = rows * vectors * dot.registers
    factors = rows if lane_operand else dot.temporaries + (0 if _scalar_operand(cpu, dot) else 1)
    spare = budget - operands - factors - taken
    if accumulators > max(min(spare, _limit(cpu)), 1):
        return None
    chains = 1
    wanted = _latency(cpu, dot) * cpu.pipeline.multiply_adds
    while chains * accumulators < wanted and 2 * chains * accumulators <= spare and 4 * chains <= depth:
        chains *= 2
    # Compilers load the weights of later steps ahead: they need registers, too. Cores that execute out of order gain
    # little by longer bodies.
    weights = budget - factors - taken - chains * accumulators
    ahead = MOST_STEPS if cpu.pipeline.in_order or cpu.compact else max(1, min(MOST_STEPS, weights // operands))
    return _blocking(cpu, dot, height, vectors, chains, lane_operand, ahead)


def _blocking(
    cpu: Cpu, dot: Dot, rows: int, vectors: int, chains: int, lane_operand: bool, ahead: int
) -> Blocking:  # fmt: skip
    scalar_operand = _scalar_operand(cpu, dot)
    return Blocking(
        dot, rows, vectors, chains, chains, scalar_operand, _limit(cpu), lane_operand, ahead, cpu.prefetch,
        cpu.caches[0].size if cpu.caches else 0,
    )  # fmt: skip


def _latency(cpu: Cpu, dot: Dot) -> int:
    """Cycles between additions to the same accumulator."""
    return cpu.pipeline.latency if dot.latency is None else dot.latency


def _scalar_operand(cpu: Cpu, dot: Dot) -> bool:
    return cpu.scalar_operand and dot.lanes > 1


def _limit(cpu: Cpu) -> int:
    """Multiply-adds in the body of the innermost loop."""
    return UNROLLED_COMPACT if cpu.compact else UNROLLED


def _whole_rows(dot: Dot, rows: int) -> int:
    """As many rows as the registers of accumulators for ``rows`` hold."""
    return ceil(rows / dot.rows) * dot.rows


def conflicts(cpu: Cpu, rows: int, pitch: int) -> float:
    """Cycles that a step of k takes longer where lines of the rows, ``pitch`` bytes apart, evict each other from the
    fastest cache: one of its ways is left to the weights."""
    if cpu.sets is None or pitch == 0:
        return 0.0
    shared = ceil(rows * gcd(pitch, cpu.sets.period) / cpu.sets.period)
    return EVICTED * rows if shared >= cpu.sets.ways else 0.0


def refill(cpu: Cpu, blocking: Blocking, vectors: int, depth: int) -> float:
    """Cycles in which the weights of a step of k come from the second cache, where those of a block of ``vectors`` and
    all ``depth`` steps are too many for the first."""
    if cpu.sets is None:
        return 0.0
    step = _bytes_of_step(blocking, vectors)
    return step / cpu.sets.refill if step * depth > cpu.sets.size else 0.0


def _bytes_of_step(blocking: Blocking, vectors: int) -> int:
    return 4 * vectors * blocking.dot.lanes * blocking.dot.rows * blocking.dot.packed_parts


def panel_width(cpu: Cpu, blocking: Blocking, columns: int, depth: int) -> int:
    """How many of the ``columns`` of packed weights follow each other in memory, where that does not depend on the
    blocks that kernels compute; 0 where each block has its own.

    Blocks that end within a panel share its lines with their neighbours. They have weights of their own where ``depth``
    steps of whole panels would fill more than half of the fastest cache, and cannot be refilled beside the products;
    but not for single rows, for which all weights are read once.
    """
    dot, width = blocking.dot, blocking.vectors * blocking.dot.lanes
    if cpu.panel == 0 or cpu.panel % dot.lanes or dot.lanes == 1 or dot.rows > 1:
        return 0
    panel = min(cpu.panel, max(dot.lanes, 1 << (columns - 1).bit_length()))
    if width % panel == 0 or panel % width == 0 or cpu.sets is None:
        return panel
    touched = (width // panel + 1) * panel * 4 * dot.packed_parts
    products = blocking.rows * blocking.vectors * dot.passes * (2 if dot.name == "mul+add" else 1)
    waits = 2 * touched / cpu.sets.refill > products / cpu.pipeline.multiply_adds
    return 0 if waits and blocking.rows > 1 and 2 * touched * depth > cpu.sets.size else panel


def _step(cpu: Cpu, blocking: Blocking, rows: int, vectors: int) -> float:
    """Cycles of one step of k."""
    pipeline = cpu.pipeline
    rows = _whole_rows(blocking.dot, rows)
    apart = 0.0 if blocking.dot.parts == 1 else rows + TAKEN_APART * (blocking.dot.packed_parts == 1) * vectors
    products = rows * vectors * blocking.dot.registers * blocking.dot.passes + apart
    loads: float = vectors * blocking.dot.rows * blocking.dot.packed_parts
    loads += rows / blocking.dot.steps if blocking.lane_operand else rows
    if pipeline.in_order:
        multiply = products * (2 if blocking.dot.name == "mul+add" else 1)
        return multiply / pipeline.multiply_adds + loads / pipeline.loads + 3.0 / blocking.unroll
    latency = _latency(cpu, blocking.dot) / blocking.chains
    return max(products / pipeline.multiply_adds, loads / pipeline.loads, latency, (products + loads + 1) / 6)


def pieces(extent: int, size: int) -> list[tuple[int, int, int]]:
    """(start, count, size) of what ``extent`` is cut into: pieces of a ``size``, and the rest."""
    count, rest = divmod(extent, size)
    found = [(0, count, size), (count * size, 1, rest)]
    return [piece for piece in found if piece[1] and piece[2]]


def unroll_factor(extent: int, statements: int, blocking: Blocking) -> int:
    """The largest divisor of ``extent`` that is a multiple of the chains and keeps the body of steps of so many
    ``statements`` short."""
    chains = blocking.chains
    most = min(extent, max(blocking.ahead, chains))
    fitting = [u for u in range(1, most + 1) if extent % u == 0 and u * statements <= blocking.limit]
    multiples = [u for u in fitting if u % chains == 0]
    return max(multiples or fitting or [1])
