"""A compiled program -> its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..costs.predict import Costs
from ..emit_c.slices import slice_count
from ..emit_c.symbols import assign_symbols
from ..emit_llvm.coded import with_known_blocks
from ..ir.graph import Graph, Node
from ..ir.identity import model_id
from ..ir.loops import Access
from ..ir.program import Interface, Program
from ..ir.specialize import specialized_call
from ..ir.steps import Call, circumstances
from ..memory.traffic import tensor_traffic
from ..ops.control import BODIES, all_graphs
from ..ops.fused import inner_nodes
from ..record import record
from ..targets import Machine
from .lifetimes import live_bytes, peak_tensors, placements
from .routes import largest, objects_route
from .schema import (
    SCHEMA,
    Layer,
    Model,
    Options,
    Placement,
    PoolTotals,
    Report,
    Ring,
    Route,
    StateTensor,
    TargetInfo,
    Tensor,
    Totals,
)
from .sections import Section
from .tiles import tiles


@record
class Identity:
    """What a report says about where the model came from."""

    version: str
    file: str
    sha256: str
    options: Options


def build_report(
    identity: Identity,
    imported: Graph,
    optimized: Graph,
    program: Program,
    machine: Machine,
    sections: Sequence[Section] | None = None,
    costs: Costs | None = None,
    routes: Mapping[str, Route] | None = None,
) -> Report:
    """The report of ``program``. ``sections`` are those of its objects, where they were made, ``costs`` those of a run,
    where they were predicted, ``routes`` what it takes by the ways that were tried."""
    known = _routes(sections, routes or {})
    larger = _larger(known)
    memory = placements(program)
    live = live_bytes(memory, len(program.calls))
    tensors = [_tensor(*pair) for pair in zip(program.interfaces, assign_symbols(program).arguments, strict=True)]
    parameters = sum(array.size for graph in all_graphs(imported) for array in graph.constants.values())
    layers = _Layers(optimized, program, live, sections, costs, machine).all()
    return Report(
        schema=SCHEMA,
        ccml=identity.version,
        model=Model(program.name, identity.file, identity.sha256, parameters, f"{model_id(program):08x}"),
        target=TargetInfo(machine.name, machine.abi.name, machine.cpu.name, machine.abi.triple),
        options=identity.options,
        totals=replace(_totals(program, memory, live, costs, known), longest_slice=_longest(program, layers)),
        inputs=tensors[: len(program.inputs)],
        outputs=tensors[len(program.inputs) :],
        layers=layers,
        memory=memory,
        sections=None if larger is None else larger.sections,
        files=[],
        states=list(_states(program)),
    )


def _longest(program: Program, layers: Sequence[Layer]) -> int | None:
    """The layer that takes longest, in a run in slices."""
    known = [(layer.cycles or layer.instructions or 0, layer.index) for layer in layers]
    return max(known)[1] if program.sliced and known and max(known)[0] else None


def weight_bytes(program: Program) -> int:
    """Bytes of all constants, in their packed form."""
    return sum(program.buffers[name].nbytes for name in program.constants)


def _totals(
    program: Program,
    memory: list[Placement],
    live: list[int],
    costs: Costs | None,
    routes: Mapping[str, Route],
) -> Totals:
    flash_route = max(routes, key=lambda name: routes[name].flash_bytes, default=None)
    route = None if flash_route is None else routes[flash_route]
    stack_bytes, stack_route = _stack(routes, costs)
    cycles = None if costs is None else costs.cycles
    return Totals(
        ram_bytes=sum(pool.ram for pool in program.plan.pools),
        arena_bytes=sum(pool.size for pool in program.plan.pools),
        arena_align=max(pool.align for pool in program.plan.pools),
        peak_live_bytes=max(live, default=0),
        peak_tensors=peak_tensors(memory, live),
        weight_bytes=weight_bytes(program),
        code_bytes=None if route is None else route.code_bytes,
        flash_bytes=None if route is None else route.flash_bytes,
        stack_bytes=stack_bytes,
        macs=program.macs,
        instructions=None if costs is None else costs.instructions,
        cycles=None if cycles is None else int(cycles.typical),
        cycles_low=None if cycles is None else int(cycles.low),
        cycles_high=None if cycles is None else int(cycles.high),
        flash_route=flash_route,
        stack_route=stack_route,
        costs_route=None if costs is None else costs.route,
        pools=list(_pools(program, memory)),
        routes=dict(routes),
        uncounted=list(program.uncounted),
        external_weight_bytes=0 if program.weights is None else program.weights.size,
        slices=slice_count(program) if program.sliced else 0,
        state_bytes=program.plan.state_bytes,
        state_align=1 if program.plan.state is None else program.plan.state.align,
    )


def _stack(routes: Mapping[str, Route], costs: Costs | None) -> tuple[int | None, str | None]:
    """The larger stack of the routes, and which that is; where there are none, that of the run that was predicted."""
    found = {name: route.stack_bytes for name, route in routes.items()}
    if not found and costs is not None:
        found = {costs.route: costs.stack_bytes}
    deepest = largest(found.values())
    return deepest, next((name for name, each in found.items() if each == deepest is not None), None)


def _larger(routes: Mapping[str, Route]) -> Route | None:
    """The route that takes more flash, for which the totals stand."""
    return max(routes.values(), key=lambda route: route.flash_bytes, default=None)


def _routes(sections: Sequence[Section] | None, routes: Mapping[str, Route]) -> Mapping[str, Route]:
    """Where nothing but LLVM's objects is known, their sections."""
    if routes or sections is None:
        return routes
    return {"llvm": objects_route(sections)}


def _pools(program: Program, memory: list[Placement]) -> Iterator[PoolTotals]:
    kernels = {kernel.name: kernel for kernel in program.kernels}
    traffic = tensor_traffic((specialized_call(program, kernels, call), call.args) for call in program.calls)
    for pool in program.plan.pools:
        inside = [place for place in memory if place.pool == pool.name]
        live = live_bytes(inside, len(program.calls))
        yield PoolTotals(
            name=pool.name,
            ram_bytes=pool.ram,
            arena_bytes=pool.size,
            align=pool.align,
            limit_bytes=pool.limit,
            peak_live_bytes=max(live, default=0),
            peak_tensors=peak_tensors(inside, live),
            traffic_bytes=sum(traffic[place.tensor] for place in inside),
        )


def _tensor(side: Interface, argument: str) -> Tensor:
    dtype, shape = side.type.dtype.value, list(side.type.shape)
    return Tensor(side.name, argument, dtype, shape, side.type.nbytes, side.buffer, side.row_axis)


def _states(program: Program) -> Iterator[StateTensor]:
    for state in program.states:
        offset = program.plan.places[state.buffer].offset
        dtype, shape = state.type.dtype.value, list(state.type.shape)
        yield StateTensor(
            state.name, state.output, dtype, shape, state.type.nbytes, offset, state.copied, state.buffer, state.updated
        )


class _Layers:
    """Joins calls of the program with nodes of the graph: a call's output buffer is named after its value."""

    def __init__(
        self,
        graph: Graph,
        program: Program,
        live: Sequence[int],
        sections: Sequence[Section] | None,
        costs: Costs | None,
        machine: Machine,
    ) -> None:
        self.program = program
        self.functions = [f".text.{program.owner}_{c.kernel}" for c in with_known_blocks(program, machine).calls]
        self.live = live
        self.costs = None if costs is None else costs.layers
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.nodes: Mapping[str, Node] = graph.producers()
        self.inside: dict[str, list[Node]] = {}
        for body in all_graphs(graph):
            for node in body.nodes if body is not graph else ():
                self.inside.setdefault(node.loc, []).append(node)
        self.code = None if sections is None else {s.name: s.size for s in sections if s.executable}

    def all(self) -> list[Layer]:
        within = circumstances(self.program.body)
        return [
            replace(self._layer(index, call), within=around)
            for index, (call, around) in enumerate(zip(self.program.calls, within, strict=True))
        ]

    def _layer(self, index: int, call: Call) -> Layer:
        written = self._written(call)
        inside = self.inside.get(call.loc, [])
        found = (inside.pop(0) if len(inside) > 1 else inside[0],) if inside else map(self.nodes.get, written)
        nodes = list({id(node): node for node in found if node is not None and node.op not in BODIES}.values())
        last = nodes[-1] if nodes else None
        name = written[0] if last is None else last.outputs[0].name
        output = self.program.buffers.get(name, self.program.buffers[written[0]])
        constants = {name for name in call.args if name in self.program.constants}
        return Layer(
            index=index,
            name=call.loc,
            kernel=call.kernel,
            generator=call.generator,
            ops=["copy"] if last is None else [inner.op for node in nodes for inner in inner_nodes(node)],
            output=output.name,
            dtype=output.dtype.value,
            shape=list(output.shape if last is None else last.outputs[0].shape),
            macs=call.macs,
            weight_bytes=sum(self.program.buffers[name].nbytes for name in constants),
            live_bytes=self.live[index],
            code_bytes=None if self.code is None else self.code.get(self.functions[index]),
            instructions=None if self.costs is None else self.costs[index].instructions,
            cycles=self._layer_cycles(index),
            rings=[ring for node in nodes for ring in self._rings(node)],
            reads=self._tensors(call, Access.WRITE),
            writes=self._tensors(call, Access.READ),
            tiles=tiles(self.kernels[call.kernel]),
        )

    def _layer_cycles(self, index: int) -> int | None:
        cycles = None if self.costs is None else self.costs[index].cycles
        return None if cycles is None else int(cycles.typical)

    def _tensors(self, call: Call, other: Access) -> list[str]:
        """The buffers that the call has another access to than ``other``, constants left out, each once."""
        params = self.kernels[call.kernel].params
        found = (name for param, name in zip(params, call.args) if param.access is not other)
        return list(dict.fromkeys(name for name in found if name not in self.program.constants))

    def _written(self, call: Call) -> list[str]:
        """The buffers that the call writes, scratch memory among them; a stream has a result for each of its layers."""
        params = self.kernels[call.kernel].params
        return [name for param, name in zip(params, call.args) if param.access is not Access.READ]

    def _rings(self, node: Node) -> Iterator[Ring]:
        """The results of which there are only some rows at a time."""
        for value in node.outputs:
            decl = self.program.buffers.get(value.name)
            if decl is not None and decl.nbytes < value.type.nbytes:
                yield Ring(value.name, decl.nbytes, value.type.nbytes)
