"""The cycles of block instructions, as their rows predict them, against those of their machine code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ccml.blocks import BLOCKS, BlockInstruction, halfword_gemm
from ccml.blocks.helium import FEW_STEPS, KEPT_STEPS
from ccml.costs.build import build_objects
from ccml.costs.predict import predict
from ccml.emit_llvm.coded import machine_code
from ccml.ir.loops import Access, Invoke, Kernel, Pointer, as_expr
from ccml.ir.steps import Call
from ccml.schedule.legalize import legalize
from ccml.targets import Machine, select

from tests.emit_llvm.programs import program_of

TOLERANCE, CALL = 0.1, 20
"""Formulas are linear in what is done, where code is unrolled by two or four; and kernels around a block take more or
less instructions to load its arguments, by their values."""
CORES = {
    "m0plus": (1, 0), "m3": (1, 0), "m4": (1, 0), "m55": (1, 0),
    "m0": (1.05, 0.07), "m33": (0.97, 0.1),
}  # fmt: skip
"""What each core takes in cycles of the formula, and how far from that blocks are, on cores for which none was made."""
LARGER = 4
MOST_VECTORS = {
    "helium_gemm_4x2_one_run": FEW_STEPS, "helium_gemm_8x1_few": KEPT_STEPS,
    "helium_gemm_4x1_s16s8_few": halfword_gemm.FEW_STEPS[-1],
}  # fmt: skip
"""Of rows that take no more."""
EXTENTS = frozenset({
    "blocks", "channels", "columns", "count", "group_step", "groups", "lanes", "outputs", "pixel_step", "pixels", "row",
    "row_step", "rows", "run_step", "runs", "size", "step", "steps", "tap_step", "units", "vectors", "words", "x_step",
    "y_row_step", "y_step",
})  # fmt: skip


def samples(row: BlockInstruction) -> list[tuple[int, ...]]:
    """Those of the row, and the same with extents that are larger, as those of layers are."""

    def larger(name: str, value: int) -> int:
        for prefix, most in MOST_VECTORS.items():
            if name == "vectors" and row.name.startswith(prefix):
                return most
        return value * LARGER if name in EXTENTS else value

    return [*row.samples, *(tuple(map(larger, row.scalars, numbers)) for numbers in row.samples)]


def measured(cases: list[tuple[str, tuple[int, ...]]], machine: Machine) -> list[int]:
    """The cycles of invocations, each in a kernel of its own, behind one with which the checks of all arguments
    count."""
    kernels, blocks = [], []
    for number, (name, numbers) in enumerate([cases[0], *cases]):
        meaning = BLOCKS[name].kernel(numbers)
        params = tuple(
            replace(param, name=f"{param.name}_{number}", align=0,
                    access=Access.READ if param.access is Access.READ else Access.READ_WRITE)
            for param in meaning.params
        )  # fmt: skip
        invoke = Invoke(name, tuple(Pointer(param, (as_expr(0),)) for param in params), numbers)
        kernels.append(Kernel(f"kernel_{number}", params, (invoke,)))
        blocks.append(replace(meaning, body=legalize(meaning.body, machine.cpu)))
    every = Kernel("all", tuple(param for kernel in kernels for param in kernel.params), ())
    calls = tuple(Call(kernel.name, tuple(param.name for param in kernel.params)) for kernel in kernels)
    program = replace(
        program_of(every), target=machine.name, kernels=tuple(kernels), body=calls,
        blocks=tuple({block.name: block for block in blocks}.values()),
    )  # fmt: skip
    costs = predict(program, machine, build_objects(program, machine))
    assert costs is not None and costs.layers is not None
    return [int(layer.cycles.typical) for layer in costs.layers[1:] if layer.cycles is not None]


@pytest.mark.parametrize("core", CORES)
def test_what_has_machine_code_takes_the_cycles_of_its_formula(core: str) -> None:
    machine = select(f"cortex-{core}")
    rows = [row for row in BLOCKS.values() if row.extensions <= set(machine.cpu.extensions)]
    assembled = [row for row in rows if machine_code(row.name, machine) is not None]
    cases = [(row.name, numbers) for row in assembled for numbers in samples(row)]
    factor, spread = CORES[core]
    for (name, numbers), found in zip(cases, measured(cases, machine), strict=True):
        cycles = BLOCKS[name].cycles.on(machine.cpu.extensions)
        assert cycles is not None, f"{name} has no formula for {core}"
        predicted = factor * cycles(*numbers)
        assert abs(predicted - found) <= (TOLERANCE + spread) * found + CALL, (name, numbers, predicted, found)


def test_without_machine_code_there_is_no_formula() -> None:
    """Compilers make what they will of it."""
    cores = [*(select(f"cortex-{core}") for core in CORES), select("x86", cpu="x86-64-v4-amx")]
    for row in BLOCKS.values():
        known = [machine for machine in cores if row.extensions <= set(machine.cpu.extensions)]
        assert known, row.name
        if all(machine_code(row.name, machine) is None for machine in known):
            assert row.cycles.on(known[-1].cpu.extensions) is None, row.name
