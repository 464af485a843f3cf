"""The steps from an optimized graph to a program, in their order."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from ..blocks import BLOCKS, block_kernel
from ..errors import CcmlError, ErrorCode
from ..instructions import INSTRUCTIONS
from ..ir.graph import Graph
from ..ir.loops import Invoke
from ..ir.loops_rewrite import walk_stmts
from ..ir.loops_verify import verify_kernel
from ..ir.program import Program
from ..ir.program_verify import verify_program
from ..memory.check import check_plan
from ..ops.movement import FETCH
from ..schedule.legalize import legalize
from ..targets.target import Machine
from .goal import DEFAULT_GOAL, Goal, Optimize
from .lower_nodes import Chosen, lower_nodes
from .partition import partition
from .place import join_layers, order_calls, place_tensors, stream_layers
from .room import NO_ROOM, Room, free_room, layers_with_use_for_room, less_room
from .sharing.share import share_kernels

log = logging.getLogger(__name__)

MORE_RAM = 1.01
"""The memory that loops to the extents of a run may take, where it is scarce, of what loops to their bounds do."""

ESTIMATES = 4
"""Of the memory that layers may have, at most, before they do without."""

Step = Callable[[Program, Machine, Goal], Program]
Dump = Callable[[str, Program], None]


def collect_blocks(program: Program, machine: Machine, goal: Goal) -> Program:
    """The meanings of the block instructions that the kernels invoke, each once, verified, as the machine computes
    them."""
    found = {
        (stmt.block, stmt.numbers): block_kernel(stmt.block, stmt.numbers)
        for kernel in program.kernels
        for stmt in walk_stmts(kernel.body)
        if isinstance(stmt, Invoke)
    }
    for block in found.values():
        verify_kernel(block, scheduled=True, instructions=INSTRUCTIONS)
    blocks = (replace(block, body=legalize(block.body, machine.cpu)) for block in found.values())
    return replace(program, blocks=tuple(blocks))


def share(program: Program, machine: Machine, goal: Goal) -> Program:
    """Layers share kernels, as far as the goal allows."""
    if goal.optimize is Optimize.SIZE:
        return replace(share_kernels(program, None), small_code=True)
    return share_kernels(program) if machine.target.scarce_flash and goal.optimize is not Optimize.SPEED else program


def check(program: Program, machine: Machine, goal: Goal) -> Program:
    """Refuses a plan under which a kernel would read bytes that are not those of its tensor (``IR_INVALID``)."""
    check_plan(program)
    return program


Steps = tuple[tuple[str, Step], ...]
PLACING: Steps = (
    ("join_layers", join_layers),
    ("partition", partition),
    ("order_calls", order_calls),
    ("place_tensors", place_tensors),
    ("stream_layers", stream_layers),
)
"""What is done to the program that ``lower_nodes`` makes: its tensors get their memory."""
FINISHING: Steps = (
    ("collect_blocks", collect_blocks),
    ("share", share),
    ("check", check),
)
"""What is done then."""


def exact_machine(machine: Machine) -> Machine:
    """``machine`` without convolutions of floats in fewer multiplications, which round otherwise."""
    return replace(machine, cpu=replace(machine.cpu, exact_floats=True))


def lower_graph(
    graph: Graph, machine: Machine, goal: Goal = DEFAULT_GOAL, dump: Dump | None = None, *, shared: bool = True
) -> Program:
    """Kernels, calls and memory plan for an optimized ``graph`` on ``machine``.

    The graph consists of ``fused`` and ``reshape`` nodes, as ``passes.pipeline.optimize`` leaves it. The program is
    verified after every step, and ``dump(name, program)`` sees it. Raises ``BUDGET`` where more RAM is needed than the
    ``goal`` allows. Loops that run several passes at a time, or over all rows of some channels, are not cut into rows,
    nor at the extents of a run: where that is wanted, there are none. Not ``shared``: its layers have kernels of their
    own, for :func:`link.link_programs`.
    """
    if machine.target.scarce_ram or goal.scarce_ram or goal.optimize is Optimize.SIZE:
        machine = replace(machine, cpu=replace(machine.cpu, ample_ram=False))
    if goal.optimize is Optimize.SPEED and not goal.scarce_ram:
        machine = replace(machine, cpu=replace(machine.cpu, spends_memory=True))
    if goal.optimize is Optimize.SIZE and machine.target.scarce_flash:
        machine = replace(machine, cpu=replace(machine.cpu, compact=True))
    if goal.scarce_ram or graph.extents or any(node.op == FETCH for node in graph.nodes):
        machine = replace(machine, cpu=replace(machine.cpu, short_loops=False, in_rows=True))
    if graph.extents and goal.scarce_ram:
        return _with_little_ram(graph, machine, goal, dump, shared)
    if goal.scarce_ram and not goal.pools and not any(node.op == FETCH for node in graph.nodes):
        return _in_place_or_rows(graph, machine, goal, dump, shared)
    if goal.optimize is Optimize.BALANCED and not goal.pools and not machine.cpu.in_rows:
        return _with_free_memory(graph, machine, goal, dump, shared)
    return _lowered(graph, machine, goal, dump, shared)


def _with_free_memory(graph: Graph, machine: Machine, goal: Goal, dump: Dump | None, shared: bool) -> Program:
    """A program whose layers use what memory is free while they run, but no more."""
    layers = layers_with_use_for_room(graph, machine)
    chosen: Chosen = {}
    direct = _placed(graph, machine, goal, None if layers else dump, NO_ROOM, chosen)
    room = free_room(direct, layers, machine.target) if layers else NO_ROOM
    program = direct
    for _ in range(ESTIMATES):
        if not room:
            break
        others = {name: generator for name, generator in chosen.items() if name not in room}
        program = _placed(graph, machine, goal, None, room, others)
        left = less_room(program, direct, room, machine.target)
        if left == room:
            break
        room, program = left, direct
    if layers and dump is not None:
        program = _placed(graph, machine, goal, dump, NO_ROOM if program is direct else room)
    return _finished(program, machine, goal, dump, shared)


def _in_place_or_rows(graph: Graph, machine: Machine, goal: Goal, dump: Dump | None, shared: bool) -> Program:
    """A program of which some layers are computed in the place of their operand, all rows of a few channels at a time;
    or where these are too much, or the goal is RAM and that takes less, one whose layers go row by row."""
    wider = replace(machine, cpu=replace(machine.cpu, in_rows=False))
    in_place = _fitting(graph, wider, goal, shared)
    if in_place is None:
        return _lowered(graph, machine, goal, dump, shared)
    chosen, its = in_place, wider
    invoked = [BLOCKS[block] for block in _invoked(in_place)]
    if goal.optimize is Optimize.RAM and any(block.rows_together or block.roomy for block in invoked):
        in_rows = _fitting(graph, machine, goal, shared)
        if in_rows is not None and in_rows.plan.ram < in_place.plan.ram:
            chosen, its = in_rows, machine
    return chosen if dump is None else _lowered(graph, its, goal, dump, shared)


def _invoked(program: Program) -> set[str]:
    """The block instructions of a program."""
    statements = (stmt for kernel in program.kernels for stmt in walk_stmts(kernel.body))
    return {stmt.block for stmt in statements if isinstance(stmt, Invoke)}


def _with_little_ram(graph: Graph, machine: Machine, goal: Goal, dump: Dump | None, shared: bool) -> Program:
    """A program whose loops run to the extents of a run, unless it takes more memory than one whose loops run to their
    bounds: row by row, layers go with such loops alone."""
    whole = _lowered(replace(graph, extents=()), machine, goal, None, shared)
    short = _fitting(graph, machine, goal, shared)
    if short is not None and short.plan.ram <= whole.plan.ram * MORE_RAM:
        return short if dump is None else _lowered(graph, machine, goal, dump, shared)
    if dump is not None:
        whole = _lowered(replace(graph, extents=()), machine, goal, dump, shared)
    return replace(whole, extents=graph.extents)


def _fitting(graph: Graph, machine: Machine, goal: Goal, shared: bool) -> Program | None:
    """A program, or ``None`` where it needs more RAM than the ``goal`` allows."""
    try:
        return _lowered(graph, machine, goal, None, shared)
    except CcmlError as problem:
        if problem.kind is not ErrorCode.BUDGET:
            raise
        return None


def _lowered(graph: Graph, machine: Machine, goal: Goal, dump: Dump | None, shared: bool) -> Program:
    """All steps."""
    return _finished(_placed(graph, machine, goal, dump), machine, goal, dump, shared)


def _placed(
    graph: Graph,
    machine: Machine,
    goal: Goal,
    dump: Dump | None,
    room: Room = NO_ROOM,
    chosen: Chosen | None = None,
) -> Program:
    """A program whose tensors have their memory."""
    program = _verified("lower_nodes", lower_nodes(graph, machine, goal.tuned, goal.threads, room, chosen), dump)
    return _through(PLACING, program, machine, goal, dump)


def _finished(program: Program, machine: Machine, goal: Goal, dump: Dump | None, shared: bool) -> Program:
    steps = tuple((name, step) for name, step in FINISHING if shared or step is not share)
    return _through(steps, program, machine, goal, dump)


def _through(steps: Steps, program: Program, machine: Machine, goal: Goal, dump: Dump | None) -> Program:
    for name, step in steps:
        start = perf_counter()
        result = step(program, machine, goal)
        seconds = perf_counter() - start
        log.debug("%s: %d -> %d kernels in %.3f s", name, len(program.kernels), len(result.kernels), seconds)
        program = result if result is program else _verified(name, result, dump)
    return program


def _verified(name: str, program: Program, dump: Dump | None) -> Program:
    if dump is not None:
        dump(name, program)
    verify_program(program)
    return program
