"""How fast multiply-accumulates can be on this machine: what no loop of a model exceeds."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from ..emit_llvm.jit import JitKernel
from ..ir.build import load, store
from ..ir.loops import INDEX, Alloc, Block, Buffer, Const, For, Kernel, Let, Space, Stmt, Type, Var, as_expr
from ..ir.types import DType
from ..schedule.dots import multiply_accumulate
from ..targets import Machine
from ..targets.target import Dot, ElementKind

_STEPS = 200_000
"""So many that the time around a call does not matter."""
_ROUNDS = 25
_TURNS = 8
"""Steps after which factors come again."""
_ELEMENTS = {DType.F32: ElementKind.F32, DType.I8: ElementKind.I8, DType.U8: ElementKind.U8, DType.I16: ElementKind.I16}
_PLAIN = frozenset({"fma", "mul+add"})


@cache
def roof(machine: Machine, element: DType) -> float | None:
    """Operations per second, two for each multiply-accumulate, of the best instruction of ``machine`` for activations
    of type ``element``, measured on this machine with all operands in registers. ``None`` where it has no instruction
    for them, or where compilers would see through the loop: sums of integers by plain arithmetic.
    """
    kind = _ELEMENTS.get(element)
    dots = [dot for dot in machine.cpu.dots if dot.activation is kind and (kind is ElementKind.F32 or _is_opaque(dot))]
    return max((_measured(dot, machine) for dot in dots), default=None)


def _is_opaque(dot: Dot) -> bool:
    return dot.name not in _PLAIN


def _measured(dot: Dot, machine: Machine) -> float:
    registers = machine.cpu.registers.vector or machine.cpu.registers.scalar
    chains = max(1, min(registers - 4, 24))
    kernel = _kernel(dot, chains)
    jit = JitKernel(kernel, machine)
    arrays = {param.name: np.zeros(param.shape, param.dtype.numpy) for param in kernel.params}
    least = min(_seconds(jit, arrays) for _ in range(_ROUNDS))
    return 2 * _STEPS * chains * dot.lanes * (dot.group // dot.parts) / least


def _seconds(jit: JitKernel, arrays: dict[str, np.ndarray]) -> float:
    start = time.perf_counter()
    jit.run(arrays)
    return time.perf_counter() - start


def _kernel(dot: Dot, chains: int) -> Kernel:
    """``chains`` independent sums, each of whose steps is one instruction. Neighbours have different weights, and all
    have other activations in each step, where compilers would take products out of the loop."""
    scalar = Type(DType(dot.accumulator.value))
    wide = scalar.with_lanes(dot.lanes)
    turns = 1 if dot.name == "fma" else _TURNS
    counts = (("x", turns * chains), ("w", 2), ("y", chains))
    x, w, y = (Buffer(name, scalar, (count, dot.lanes), align=dot.lanes * scalar.dtype.size) for name, count in counts)
    acc = Buffer("acc", wide, (chains,), Space.REG)
    k, weights = Var("k", INDEX), [Var(f"wv{j}", wide) for j in range(2)]
    start: Block = tuple(store(acc[as_expr(c)], Const(0, wide)) for c in range(chains))
    step: list[Stmt] = []
    for c in range(chains):
        factor = Var(f"xv{c // 2}", wide)
        if c % 2 == 0:
            step.append(Let(factor, load(x, k % turns * chains + c if turns > 1 else 0, 0, lanes=dot.lanes)))
        place = acc[as_expr(c)]
        step.append(store(place, multiply_accumulate(dot, factor, weights[c % 2], place)))
    lets = tuple(Let(var, load(w, j, 0, lanes=dot.lanes)) for j, var in enumerate(weights))
    end = tuple(store(y[c, 0], acc[as_expr(c)]) for c in range(chains))
    return Kernel("roof", (x, w, y), (*lets, Alloc(acc), *start, For(k, INDEX(_STEPS), tuple(step)), *end))
