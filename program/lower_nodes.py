"""Optimized graph -> program that has no memory yet: every fused node becomes a scheduled kernel and a call, control
flow steps of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..custom_ops.kernel import foreign_kernel
from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph, Node, Value
from ..ir.loops import Access, Block, Buffer, Kernel, Type
from ..ir.program import BufferDecl, Interface, MemoryPlan, Program, StateTensor, Storage
from ..ir.steps import Body, Call, Step, walk_calls
from ..ir.types import TensorType
from ..ops.control import BODIES, all_graphs
from ..ops.custom import CUSTOM, custom_macs
from ..ops.movement import FETCH
from ..ops.table import OPS
from ..schedule.borders import plan_borders
from ..schedule.decision import NOTHING_TUNED, TUNED, Decision, Tuned, kernel_key, threaded_key
from ..schedule.generators import READ_BORDERS, Generator, choose_generator
from ..schedule.kernel import KernelContext
from ..schedule.legalize import legalize
from ..schedule.machine_operators import in_terms_of
from ..schedule.outputs import separate_outputs, storage_owners
from ..schedule.params import bind_parameters
from ..schedule.row_chains import block_rows
from ..schedule.row_streams import streamed_values
from ..schedule.tensors import Halo, TensorRef
from ..schedule.unroll import expand_unrolled, roll_long
from ..targets.target import Machine
from .clip_calls import needed_of_buffers, to_actual_extents
from .describe import describe
from .fetch import fetch_kernel, row_axes, values_in_rows
from .in_place import update_in_place
from .lower_control import copy_steps, lower_control
from .lowering_memory import Lowered, LoweringMemory, Source
from .needed import needed_elements
from .node_key import constants_key, structure_key
from .room import NO_ROOM, Room
from .states import Memory, update_states
from .validity import verify_scheduled

MAX_KERNELS = 3000
"""Each takes some 20 ms of the processor: more than any real model has, and about a minute."""

Chosen = dict[str, Generator]
"""The generators of nodes, by the names of their first results."""


def lower_nodes(
    graph: Graph,
    machine: Machine,
    tuned: Tuned = NOTHING_TUNED,
    threads: int = 0,
    room: Room = NO_ROOM,
    chosen: Chosen | None = None,
) -> Program:
    """Kernels and steps for ``graph``; the plan has no pools yet. ``tuned`` says what is known to be faster than what
    is estimated to be, with ``threads`` also about how work is split for so many, and ``room`` what memory is free.
    Generators that are ``chosen`` already are not chosen again, and others are noted there.

    The graph consists of ``fused`` and ``reshape`` nodes and control flow, as ``passes.pipeline.optimize`` leaves it.
    """
    named = {value.name for each in all_graphs(graph) for value in each.values()}
    memory = LoweringMemory(tuned, threads, room, named=named)
    return _Lowering(graph, machine, memory, chosen=chosen).program([value.name for value in graph.outputs])


class _Lowering:
    """Lowers one graph. Buffers are called after its values, but those in ``places`` are there already."""

    def __init__(
        self,
        graph: Graph,
        machine: Machine,
        memory: LoweringMemory,
        given: Sequence[str] = (),
        results: Sequence[str] = (),
        chosen: Chosen | None = None,
    ) -> None:
        """A graph of control flow finds its inputs in the buffers ``given`` and leaves its outputs in ``results``."""
        graph = block_rows(in_terms_of(graph, machine), machine.cpu)

        def read_halo(node: Node) -> Halo | None:
            ctx = self._context(node)
            if ctx.anchor is None or ctx.anchor.op not in READ_BORDERS:
                return None
            halo = self._generator(ctx).halo
            return None if halo is None else halo(ctx.anchor)

        self.in_rows = values_in_rows(graph)
        self.generators: Chosen = {} if chosen is None else chosen
        self.decisions: dict[str, Decision | None] = {}
        self.machine, self.memory, self.graph = machine, memory, graph
        streamed = self._streamed()
        self.in_rows |= streamed
        self.graph, self.halos = plan_borders(separate_outputs(graph), read_halo)
        self.buffers = memory.buffers
        self.owner = storage_owners(self.graph)
        made = {old.name: self.owner[new.name] for old, new in zip(graph.outputs, self.graph.outputs, strict=True)}
        self.updates = {made[state.output]: state.input for state in graph.states}
        self.rows = row_axes(self.graph)
        self.in_rows |= values_in_rows(self.graph)
        self.places = {value.name: place for value, place in zip(self.graph.inputs, given)}
        self.places |= {self.owner[value.name]: place for value, place in zip(self.graph.outputs, results)}
        self.steps: list[Step] = []
        memory.arrays.append(self.graph.constants)
        memory.streamed |= {self.owner[name] for name in streamed}

    def _streamed(self) -> frozenset[str]:
        """The values that go from one kernel to the next by rows."""
        if not self.machine.cpu.ample_ram:
            return frozenset()
        return streamed_values(
            self.graph, self.machine.cpu, lambda node: self._generator(self._context(node)).streams
        )

    def program(self, output_names: Sequence[str]) -> Program:
        """``output_names`` are the model's, in order; a copy behind an output must not change its name."""
        graph = self.graph
        body, gone = update_in_place(self.body(), self.buffers, self.memory.kernels, self.add_kernel)
        for name in gone:
            del self.buffers[name]
        body, states = update_states(body, self._states(), self._memory())
        body = self._to_actual_extents(body)
        kept = {name for state in states for name in (state.name, state.output)}
        inputs = [(value, value.name) for value in graph.inputs if value.name not in kept]
        outputs = [(v, name) for v, name in zip(graph.outputs, output_names, strict=True) if name not in kept]
        names = [name for _, name in inputs]
        values = [value for node in graph.nodes for value in node.outputs]
        called = {call.kernel for call in walk_calls(body)}
        return Program(
            name=graph.name,
            target=self.machine.name,
            inputs=self._interfaces(inputs, ()),
            outputs=self._interfaces(outputs, names),
            buffers=self.buffers,
            constants=self.memory.constants,
            kernels=tuple(kernel for name, kernel in self.memory.kernels.items() if name in called),
            body=body,
            states=states,
            plan=MemoryPlan(()),
            extents=graph.extents,
            taps={v.name: o for v in values if v.name not in self.halos and (o := self.owner[v.name]) in self.buffers},
            framed={name: halo.before for name, halo in self.halos.items() if name in self.buffers},
            chunks=self.memory.chunks,
            streamed=frozenset(self.memory.streamed),
        )

    def body(self) -> Body:
        """The steps of all nodes."""
        for value in self.graph.values():
            self._declare(value)
        for node in self.graph.nodes:
            if node.op != "reshape" and any(value.type.size for value in node.outputs):
                self._node(node)
        return tuple(self.steps)

    def _node(self, node: Node) -> None:
        if node.op in BODIES:
            self.steps += lower_control(node, self)
        else:
            self._lower(node)

    def _to_actual_extents(self, body: Body) -> Body:
        """The steps with kernels that compute no more than is needed for the extents of a run."""
        if not self.graph.extents:
            return body
        needed = needed_elements(self.graph, self._tile)
        held = {value.name: value for value in self.graph.values() if value.name not in self.graph.constants}
        limits = [limit for each in needed.values() for limit in each if limit is not None]
        places = {limit.extent: self.place(held[limit.extent]) for limit in limits if limit.extent in held}
        within = needed_of_buffers(held.values(), needed, self.place, self.buffers)
        return to_actual_extents(body, within, places, self)

    # ---- what control flow asks for

    def inner(self, graph: Graph, given: Sequence[str], results: Sequence[str]) -> Body:
        """The steps of a graph of control flow."""
        return _Lowering(graph, self.machine, self.memory, given, results).body()

    def place(self, value: Value) -> str:
        """The buffer of a value."""
        root = self.owner.get(value.name, value.name)
        constant = self.graph.constants.get(root)
        return self.places.get(root, root) if constant is None else self.memory.constant(constant, "c")

    def add_kernel(self, kernel: Kernel) -> str:
        """The name of a kernel, which is called after it."""
        return self._shared_kernel(replace(kernel, name="", loc=""), kernel.name, kernel.loc).name

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name."""
        return self.memory.kernels[name]

    def add_tensor(self, stem: str, type_: TensorType) -> str:
        """A new buffer of the arena."""
        return self.memory.tensor(stem, type_)

    # ---- memory

    def _declare(self, value: Value) -> None:
        name = self.owner[value.name]
        if name in self.buffers or name in self.graph.constants or name in self.places:
            return
        storage, updates = Storage.ARENA, None
        if any(v.name == name for v in self.graph.inputs):
            storage = Storage.STATE if name in self.updates.values() else Storage.INPUT
            storage = Storage.ROWS if name in self.rows else storage
        elif any(self.owner.get(v.name) == name for v in self.graph.outputs):
            updates = self.updates.get(name)
            storage = Storage.OUTPUT if updates is None else Storage.STATE
        halo = self._halo(value)
        self.buffers[name] = BufferDecl(name, value.dtype.stored, halo.padded(value.shape), storage, updates)

    def _halo(self, value: Value) -> Halo:
        return self.halos.get(value.name, Halo.none(len(value.shape)))

    def _interfaces(self, sides: Sequence[tuple[Value, str]], before: Sequence[str]) -> tuple[Interface, ...]:
        """Values with the names that they have in the model. C names are these as identifiers, made unique over
        ``before`` as well."""
        c_names = _identifiers([*before, *(name for _, name in sides)])[len(before) :]
        return tuple(
            Interface(c_name, name, value.type, self.owner[value.name], self.rows.get(value.name))
            for c_name, (value, name) in zip(c_names, sides)
        )

    def _states(self) -> tuple[StateTensor, ...]:
        types = {value.name: value.type for value in self.graph.inputs}
        new = {old: name for name, old in self.updates.items()}
        c_names = _identifiers([state.input for state in self.graph.states])
        return tuple(
            StateTensor(c_name, types[s.input], s.input, new[s.input], s)
            for c_name, s in zip(c_names, self.graph.states)
        )

    def _memory(self) -> Memory:
        def copy(type_: TensorType, source: str, target: str) -> Body:
            return copy_steps(type_, source, target, self)

        return Memory(self.memory.kernels, self.add_kernel, self.add_tensor, copy)

    # ---- kernels

    def _lower(self, node: Node) -> None:
        halos = [self._halo(value) for value in (*node.operands, *node.outputs)]
        structure = (self._by_rows(node), self._room(node), structure_key(node, halos, self.graph.constants))
        key = (*structure, constants_key(node, self.graph.constants))
        if key not in self.memory.lowered:
            if len(self.memory.lowered) == MAX_KERNELS:
                reason = f"the model needs more than {MAX_KERNELS:,} kernels that differ"
                raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=node.loc)
            self.memory.nests.structure = structure
            self.memory.lowered[key] = self._scheduled(node)
        lowered = self.memory.lowered[key]
        self._note_chunks(node, lowered.kernel)
        values = _values(node)
        args = tuple(self._argument(values, source) for source in lowered.sources)
        call = Call(lowered.kernel, args, node.loc, lowered.macs, generator=lowered.generator, summary=describe(node))
        self.steps.append(call)

    def _foreign(self, node: Node, custom: Node) -> Lowered:
        """A kernel whose C is the user's; its parameters are operands, results, and perhaps memory during the call.
        Results that nobody uses are that, too."""
        kernel = foreign_kernel([None if value is None else value.type for value in custom.inputs], custom.attrs)
        values, sources = _values(node), [value for value in (*custom.inputs, *custom.outputs) if value is not None]
        places: list[Source] = [
            values.index(value) if value in values else param for value, param in zip(sources, kernel.params)
        ]
        places += kernel.params[len(places) :]
        named = self._shared_kernel(kernel, CUSTOM, node.loc)
        return Lowered(named.name, tuple(places), custom_macs(custom), str(custom.attrs["operator"]))

    def _context(self, node: Node) -> KernelContext:
        return KernelContext(
            node, self.machine.cpu, {}, self.graph.constant, decision=self._decision(node), by_rows=self._by_rows(node),
            room=self._room(node),
        )  # fmt: skip

    def _by_rows(self, node: Node) -> bool:
        return any(value.name in self.in_rows for value in (*node.operands, *node.outputs))

    def _room(self, node: Node) -> int:
        return self.memory.room.get(node.outputs[0].name, 0)

    def _scheduled(self, node: Node) -> Lowered:
        ctx = self._context(node)
        ctx.alike = self.memory.nests
        if ctx.anchor is not None and ctx.anchor.op == CUSTOM:
            return self._foreign(node, ctx.anchor)
        if ctx.anchor is not None and ctx.anchor.op == FETCH:
            named = self._shared_kernel(fetch_kernel(ctx.anchor), FETCH, node.loc)
            return Lowered(named.name, (0, 1), 0, FETCH)
        values = _values(node)
        for value in values:
            ctx.refs[value.name] = self._ref(ctx, value, "y" if value in node.outputs else "x")
        halo = ctx.fill_halo(self._halo(ctx.output).fill)
        generator = self._generator(ctx)
        decided = ctx.decision is not None and ctx.decision.generator == generator.name
        if not decided:
            ctx.decision = None
        nest = (*ctx.vectorized(halo), *generator.emit(ctx))
        kernel, names = self._finished(ctx, nest)
        places = {ctx.refs[value.name].buffer.name: place for place, value in enumerate(values)}
        sources = (ctx.packed.get(n, ctx.scratch.get(n, places.get(n))) for n in names)
        present = tuple(source for source in sources if source is not None)
        name = f"{generator.name}{TUNED}" if decided else generator.name
        return Lowered(kernel.name, present, _macs(ctx.anchor), name)

    def _finished(self, ctx: KernelContext, nest: Block) -> tuple[Kernel, tuple[str, ...]]:
        """The kernel for the loops of a generator, and the buffers of ``ctx`` behind its parameters. What was done for
        equal loops is not done again."""
        scratch = sorted({*ctx.scratch, *_worked_in(ctx)})
        buffers = tuple(ref.buffer for ref in ctx.refs.values())
        alike = self.memory.finished.setdefault((_stem(ctx), buffers, tuple(scratch)), [])
        for known, kernel, names in alike:
            if known == nest:
                return kernel, names
        block, params, names = bind_parameters(expand_unrolled(nest, ctx.names), scratch)
        block = legalize(block, self.machine.cpu, fuse=all(param.dtype.is_float for param in params))
        if self.machine.target.scarce_flash and not self.machine.cpu.compact:
            block = roll_long(block)
        _check_outputs(ctx, params, names)
        kernel = self._shared_kernel(Kernel("", params, block), _stem(ctx), ctx.node.loc)
        alike.append((nest, kernel, names))
        return kernel, names

    def _generator(self, ctx: KernelContext) -> Generator:
        """The generator for a node, chosen once: a border that is copied changes nothing about the choice."""
        name = ctx.node.outputs[0].name
        if name not in self.generators:
            self.generators[name] = choose_generator(ctx)
        return self.generators[name]

    def _tile(self, node: Node) -> int:
        chosen = self.generators.get(node.outputs[0].name)
        return 1 if chosen is None else chosen.tile

    def _decision(self, node: Node) -> Decision | None:
        """The best that is known of a node, once for those with its output: a border that is copied changes nothing."""
        if not self.memory.decisions:
            return None
        name = node.outputs[0].name
        if name not in self.decisions:
            key = kernel_key(node, self.machine, self.graph.constant)
            self.decisions[name] = self.memory.decisions.get(key)
        return self.decisions[name]

    def _note_chunks(self, node: Node, kernel: str) -> None:
        """What is known of how the work of a node's kernel is best split."""
        if self.memory.decisions and self.memory.threads:
            key = kernel_key(node, self.machine, self.graph.constant)
            decided = self.memory.decisions.get(threaded_key(key, self.memory.threads))
            if decided is not None and decided.chunks is not None:
                self.memory.chunks[kernel] = decided.chunks

    def _shared_kernel(self, kernel: Kernel, stem: str, loc: str) -> Kernel:
        """The kernel itself, named, or the one that there is already of the same loops."""
        alike = self.memory.alike.setdefault(kernel.params, [])
        known = next((name for other, name in alike if other == kernel), None)
        if known is None:
            verify_scheduled(replace(kernel, name=stem, loc=loc))
            known = self.memory.numbered(stem)
            alike.append((kernel, known))
            self.memory.kernels[known] = replace(kernel, name=known)
        return self.memory.kernels[known]

    def _ref(self, ctx: KernelContext, value: Value, stem: str) -> TensorRef:
        halo = self._halo(value)
        buffer = Buffer(ctx.names.fresh(stem), Type(value.dtype.stored), halo.padded(value.shape))
        return TensorRef(buffer, value.shape, halo.before)

    def _argument(self, values: Sequence[Value], source: Source) -> str:
        """The memory behind a parameter of the kernel of a node with these ``values``."""
        if isinstance(source, np.ndarray):
            return self.memory.constant(source, "w")
        if isinstance(source, Buffer):
            return self.memory.tensor("scratch", TensorType(source.dtype, source.shape))
        return self.place(values[source])


def _values(node: Node) -> list[Value]:
    """What the node reads and writes, once each: the places that :class:`Lowered` counts."""
    return list(dict.fromkeys((*node.operands, *node.outputs)))


def _worked_in(ctx: KernelContext) -> list[str]:
    """Buffers of results in which the anchor's nest reads what it wrote."""
    anchor = ctx.anchor
    if anchor is None or not OPS[anchor.op].reads_back:
        return []
    return [ctx.refs[value.name].buffer.name for value in ctx.node.outputs]


def _check_outputs(ctx: KernelContext, params: Sequence[Buffer], sources: Sequence[str]) -> None:
    """Raises ``IR_INVALID`` where a generator wrote nothing to an output."""
    written = {source for param, source in zip(params, sources) if param.access is not Access.READ}
    for value in ctx.node.outputs:
        if value.type.size and ctx.refs[value.name].buffer.name not in written:
            raise CcmlError(ErrorCode.IR_INVALID, f"no kernel writes {value.name}", loc=ctx.node.loc)


def _stem(ctx: KernelContext) -> str:
    """What a kernel is called after: its anchor, or the last of its pointwise operators."""
    anchor = ctx.anchor
    return anchor.op if anchor is not None else ctx.body.nodes[-1].op


def _macs(anchor: Node | None) -> int:
    count = None if anchor is None else OPS[anchor.op].macs
    return 0 if count is None or anchor is None else count(anchor)


def _identifiers(names: Sequence[str]) -> list[str]:
    """C identifiers for arbitrary names, unique, in order."""
    found: list[str] = []
    for name in names:
        stem = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "tensor"
        stem = f"t_{stem}" if stem[0].isdigit() else stem
        unique, number = stem, 1
        while unique in found:
            number += 1
            unique = f"{stem}_{number}"
        found.append(unique)
    return found
