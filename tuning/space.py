"""What may be decided about the loops of one fused node, and what is known of each possibility without measuring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..record import record
from ..schedule.blocking import Blocking, Product
from ..schedule.cycles import predicted_cycles
from ..schedule.decision import BlockShape, Decision
from ..schedule.generators import GENERATORS, Generator, choose_generator
from ..schedule.kernel import KernelContext
from ..schedule.winograd_choice import computed_type, possible_tilings
from ..schedule.winograd_matrices import ALL
from ..targets.target import Cpu

_FAR = 3.0
"""Times the least estimate from which on a possibility is not looked at."""
_TILINGS, _SHAPES = 8, 6
"""Of Winograd's algorithm: blocks of tiles, and shapes for each of the best of them."""
_STEPS = (1, 2, 4, 8)
_CHAINS = (1, 2, 4)
_DEPTHWISE = "depthwise"
FEATURES = 9
"""Of a candidate."""


@record
class Candidate:
    """A decision, the cycles that the schedule's cost model expects, and the ``features`` by which measurements of
    others tell something of it (``tuning/regression.py``)."""

    decision: Decision
    cycles: float
    features: tuple[float, ...]


@dataclass
class _Watched(KernelContext):
    """A kernel whose products are noted, and how many forms its generator compares."""

    products: list[Product] = field(default_factory=list)
    forms: int = 1

    def blocking(self, product: Product) -> Blocking:
        self.products.append(product)
        return super().blocking(product)

    def form(self, count: int) -> int | None:
        self.forms = count
        return super().form(count)


def candidates(ctx: KernelContext) -> list[Candidate]:
    """All decisions about the node of ``ctx`` whose estimate is not far from the least, the least first; none where
    nothing can be decided."""
    dense = ctx.with_dense_tensors()
    fitting = [each for each in GENERATORS if each.fits(dense)]
    if not choose_generator(dense).tunable:
        return []
    found = [each for generator in fitting if generator.tunable for each in _of_generator(generator, dense)]
    least = min((each.cycles for each in found), default=0.0)
    close = [each for each in found if each.cycles <= _FAR * least]
    return sorted(close, key=lambda each: each.cycles)


def neighbours(ctx: KernelContext, candidate: Candidate) -> list[Candidate]:
    """The same block of accumulators with other chains and steps ahead."""
    shape = candidate.decision.shape
    if shape is None or candidate.decision.generator == _DEPTHWISE:
        return []
    shapes = (replace(shape, ahead=steps, chains=chains) for steps in _STEPS for chains in _CHAINS)
    return [
        Candidate(replace(candidate.decision, shape=each), candidate.cycles, _with_shape(candidate.features, each))
        for each in shapes
        if each != shape and each.rows * each.vectors * each.chains <= ctx.cpu.registers.vector
    ]


def _of_generator(generator: Generator, dense: KernelContext) -> Iterator[Candidate]:
    size = next((size for size in ALL if generator.name.startswith(f"winograd F({size}x")), None)
    if size is not None:
        yield from _winograd(generator, dense, size)
    elif generator.name == _DEPTHWISE:
        yield from _depthwise(dense)
    elif generator.block is not None:
        yield from _forms(generator, dense)
    else:
        yield from _blocks(generator, dense)


def _blocks(generator: Generator, dense: KernelContext) -> Iterator[Candidate]:
    """Blocks of accumulators of the last product: that of each step, of a recurrence."""
    watched = _Watched(dense.node, dense.cpu, dense.refs, dense.outer_constants)
    generator.emit(watched)
    if not watched.products:
        return
    product = watched.products[-1]
    for blocking in product.possible(dense.cpu):
        cycles = product.cycles(dense.cpu, blocking)
        features = _features(dense.cpu, product, blocking, cycles, 0)
        yield Candidate(Decision(generator.name, blocking.shape), cycles, features)


def _forms(generator: Generator, dense: KernelContext) -> Iterator[Candidate]:
    """Those that a generator of block instructions compares, or the generator itself."""
    watched = _Watched(dense.node, dense.cpu, dense.refs, dense.outer_constants)
    generator.emit(watched)
    numbers = [None] if watched.forms == 1 else list(range(watched.forms))
    for number in numbers:
        decision = Decision(generator.name, form=number)
        trial = replace(dense.trial(), decision=decision)
        cycles = predicted_cycles(generator.emit(trial), dense.cpu)
        yield Candidate(decision, cycles, (math.log(max(cycles, 1.0)), *[0.0] * (FEATURES - 1)))


def _winograd(generator: Generator, dense: KernelContext, size: int) -> Iterator[Candidate]:
    node, _ = dense.contraction
    kind, depth, out = computed_type(dense.cpu, node.operands[0].dtype), node.operands[0].shape[-1], node.output.shape
    for tiling in possible_tilings(dense.cpu, kind, depth, out, size, _TILINGS):
        product = tiling.product
        shapes = sorted(product.possible(dense.cpu), key=lambda each: product.cycles(dense.cpu, each))[:_SHAPES]
        at_best = product.cycles(dense.cpu, shapes[0])
        for blocking in shapes:
            cycles = tiling.cycles * product.cycles(dense.cpu, blocking) / at_best
            features = _features(dense.cpu, product, blocking, cycles, size)
            yield Candidate(Decision(generator.name, blocking.shape, tiling.block), cycles, features)


def _depthwise(dense: KernelContext) -> Iterator[Candidate]:
    """By outputs along the width: each column that a block sees is loaded once."""
    node, weights = dense.contraction
    assert weights is not None
    cpu, width, taps = dense.cpu, node.output.shape[-2], weights.shape[-2]
    most = (cpu.registers.vector or cpu.registers.scalar - 4) - taps - 2
    lanes = max(cpu.f32_lanes)
    for rows in range(1, max(1, min(width, most)) + 1):
        blocks = math.ceil(width / rows)
        loads = (rows + taps - 1 + taps) / cpu.pipeline.loads
        cycles = node.output.type.size / (width * lanes) * blocks * max(loads, rows * taps / cpu.pipeline.multiply_adds)
        shape = BlockShape("", lanes, rows)
        features = _with_shape((math.log(cycles), 0, rows * blocks / width, *[0.0] * (FEATURES - 3)), shape)
        yield Candidate(Decision(_DEPTHWISE, shape), cycles, features)


def _features(cpu: Cpu, product: Product, blocking: Blocking, cycles: float, winograd: int) -> tuple[float, ...]:
    """Logarithm of the estimate, share of the registers, rows computed and columns for those that there are, loads for
    a multiply-add, size of Winograd's tiles, and what :func:`_with_shape` adds."""
    registers = cpu.registers.vector or cpu.registers.scalar
    rows = math.ceil(product.rows / blocking.rows) * blocking.rows / max(product.rows, 1)
    lanes = blocking.vectors * blocking.dot.lanes
    columns = math.ceil(product.columns / lanes) * lanes / max(product.columns, 1)
    loads = (blocking.rows + blocking.vectors) / (blocking.rows * blocking.vectors)
    taken = (blocking.rows * blocking.vectors * blocking.chains + blocking.vectors) / registers
    known = (math.log(max(cycles, 1.0)), taken, rows, columns, loads, winograd / 4, 0.0, 0.0, 0.0)
    return _with_shape(known, blocking.shape)


def _with_shape(features: tuple[float, ...], shape: BlockShape) -> tuple[float, ...]:
    """With what can be told from the shape alone in the last places: its height, chains and steps ahead."""
    return (*features[:-3], math.log(shape.rows / shape.vectors), math.log(shape.chains), math.log(shape.ahead))


