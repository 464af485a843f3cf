"""How many bytes of its parameters a kernel loads and stores: how busy the memory behind them is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

from ..blocks import block_kernel
from ..ir.bounds import Bounds
from ..ir.loops import Block, Fetch, For, If, Invoke, Kernel, Let, Space, Stmt, Store
from ..ir.loops_rewrite import stmt_loads


def tensor_traffic(runs: Iterable[tuple[Kernel, Sequence[str]]]) -> Counter[str]:
    """Bytes of each tensor that kernels (without scalars) together load and store, each with its arguments."""
    total: Counter[str] = Counter()
    for kernel, args in runs:
        found = kernel_traffic(kernel)
        for param, name in zip(kernel.params, args, strict=True):
            total[name] += found[param.name]
    return total


@lru_cache(maxsize=256)
def kernel_traffic(kernel: Kernel) -> Counter[str]:
    """Bytes of each parameter that one run loads and stores, at most: an extent counts with the greatest value that it
    may have (as one iteration where there is no bound), an If with the busier of its sides. A block instruction counts
    as its meaning does; of a foreign kernel every byte counts once."""
    if kernel.foreign is not None:
        return Counter({param.name: prod(param.shape) * param.dtype.size for param in kernel.params})
    return _block(kernel.body, Bounds())


def _block(block: Block, bounds: Bounds) -> Counter[str]:
    total: Counter[str] = Counter()
    for stmt in block:
        _add_own(stmt, total)
        if isinstance(stmt, Let):
            bounds = bounds.with_let(stmt.var, stmt.value)
        elif isinstance(stmt, If):
            total.update(_block(stmt.then, bounds) | _block(stmt.orelse, bounds))
        elif isinstance(stmt, For):
            most = bounds.range(stmt.extent)[1]
            times = 1 if most == math.inf else int(max(most, 0))
            inner = _block(stmt.body, bounds.in_loop(stmt.var, stmt.extent))
            total.update({name: times * count for name, count in inner.items()})
    return total


def _add_own(stmt: Stmt, found: Counter[str]) -> None:
    """Adds the loads and stores of the statement itself."""
    for load in stmt_loads(stmt):
        if load.buffer.space is Space.GLOBAL:
            found[load.buffer.name] += load.lanes * load.buffer.dtype.size
    if isinstance(stmt, Store) and stmt.buffer.space is Space.GLOBAL:
        found[stmt.buffer.name] += stmt.value.type.lanes * stmt.buffer.dtype.size
    if isinstance(stmt, Fetch) and stmt.target.buffer.space is Space.GLOBAL:
        found[stmt.target.buffer.name] += stmt.elements * stmt.target.buffer.dtype.size
    if isinstance(stmt, Invoke):
        meaning = block_kernel(stmt.block, stmt.numbers)
        inner = kernel_traffic(meaning)
        for param, pointer in zip(meaning.params, stmt.pointers, strict=True):
            if pointer.buffer.space is Space.GLOBAL:
                found[pointer.buffer.name] += inner[param.name]
