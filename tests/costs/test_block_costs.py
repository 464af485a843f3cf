"""The formulas of block instructions against the instructions of their machine code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ccml.blocks import BLOCKS, BlockInstruction, has_block
from ccml.costs.build import build_objects
from ccml.costs.predict import predict
from ccml.emit_llvm.coded import machine_code
from ccml.ir.loops import Access, Invoke, Kernel, Pointer, as_expr
from ccml.ir.steps import Call
from ccml.schedule.legalize import legalize
from ccml.targets import Machine, select

from tests.emit_llvm.programs import program_of

CORES = {frozenset({"thumb"}): "m0plus", frozenset({"thumb", "long_multiply"}): "m3"}
CALL = 25
"""Instructions around a block."""


def core_of(row: BlockInstruction) -> str:
    """The core for which a row's formula is."""
    return CORES.get(row.extensions, "m55" if "mve" in row.extensions else "m4")


def measured(cases: list[tuple[str, tuple[int, ...]]], machine: Machine) -> list[int]:
    """The instructions of invocations, each in a kernel of its own, behind one with which the checks of all arguments
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
    return [layer.instructions for layer in costs.layers[1:]]


@pytest.mark.parametrize("core", ["m0plus", "m3", "m4", "m55"])
def test_formulas_of_blocks(core: str) -> None:
    machine = select(f"cortex-{core}")
    rows = [row for row in BLOCKS.values() if core_of(row) == core and row.cost is not None]
    cases = [(row.name, numbers) for row in rows for numbers in row.samples]
    for (name, numbers), found in zip(cases, measured(cases, machine), strict=True):
        cost = BLOCKS[name].cost
        assert cost is not None
        assert abs(cost(*numbers) - found) <= 0.2 * found + CALL, (name, numbers, cost(*numbers), found)


def test_what_has_machine_code_has_a_formula() -> None:
    """Of contractions, among which the schedule chooses."""
    for row in BLOCKS.values():
        contraction = {"channels"} < set(row.scalars) and {"groups", "steps", "vectors"} & set(row.scalars)
        if contraction and "blocks" not in row.scalars:
            machine = select(f"cortex-{core_of(row)}")
            assert has_block(row.name, machine.cpu.extensions)
            assert machine_code(row.name, machine) is not None
            assert row.cost is not None, row.name
