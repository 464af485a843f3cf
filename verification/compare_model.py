"""Compares a compiled model with its reference, layer by layer, and says where a difference begins."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..driver import Compiled, Range, Source
from ..errors import CcmlError, ErrorCode
from ..frontend_onnx import extents_of_states, named_dimensions
from ..ir.graph import Graph, Node
from ..ir.states import Feedback
from ..ir.types import DType
from ..ops.evaluate import evaluate_graph
from ..record import record
from ..samples import Samples
from .c_model import CModel
from .difference import Difference, best_difference, difference
from .emulated_model import EmulatedModel
from .observe import ObservedModel
from .reference import Reference, find_reference, values_in_run

log = logging.getLogger(__name__)

Arrays = Mapping[str, np.ndarray]
Stages = Sequence[tuple[str, Graph]]

JIT = "jit"
HOST = "host"
CODE_GENERATION = "code generation"
"""The stage behind the last pass."""

_QUANTIZED = (DType.I8, DType.U8, DType.I16, DType.U16)
_ELEMENTS_A_TIE = 1000
"""Of so many quantized elements the reference may round one otherwise."""


@record
class Row:
    """A tensor compared. ``reference`` is ``onnx``, ``import``, ``expected`` (by the user), ``graph`` or ``host``.

    ``graph`` stands for ccml's optimized graph, evaluated in NumPy: for tensors that the model does not have. ``host``
    is the model compiled for this machine, whose integer outputs those of every target have to equal.
    """

    tensor: str
    node: str
    shape: tuple[int, ...]
    reference: str
    difference: Difference
    ok: bool


@dataclass(frozen=True)
class Verification:
    """A compiled model compared with its reference.

    ``first_layer`` and ``first_stage`` say where the difference begins; they are ``None`` where there is none.
    ``unchecked`` are outputs without a single finite number, about which the comparison says nothing.
    ``backend`` is what ran the model: ``jit``, ``c``, or with a ``target`` the route to it, ``llvm`` or ``c``.
    """

    ok: bool
    backend: str
    target: str | None
    reference: str
    tolerance: float
    samples: int
    layers: tuple[Row, ...]
    outputs: tuple[Row, ...]
    first_layer: Row | None
    first_stage: str | None
    unchecked: tuple[str, ...] = ()

    def require(self) -> None:
        """Raises ``MISMATCH`` that says where the difference begins, or which output was not checked, if any."""
        row = self.first_layer
        if row is None and self.unchecked:
            reason = "the output holds nothing but NaN or infinities, in every sample: it was not checked"
            hint = "--input FILE gives samples for which the model has results; 'ccml run' shows them"
            raise CcmlError(ErrorCode.MISMATCH, reason, loc=", ".join(self.unchecked), hint=hint)
        if row is None:
            return
        stage = f"; it begins in: {self.first_stage}" if self.first_stage else ""
        raise CcmlError(
            ErrorCode.MISMATCH,
            f"'{row.tensor}' differs from the reference by {row.difference.relative_l2:.2e} (relative L2, tolerance "
            f"{self.tolerance:g}){stage}",
            loc=row.node or row.tensor,
            hint="--tolerance sets what is accepted; --dump-ir of 'ccml compile' shows the graph after every pass",
        )


def compare(
    compiled: Compiled,
    stages: Stages,
    samples: Samples,
    *,
    tolerance: float,
    backend: str = JIT,
    compiler: str | None = None,
    host: Compiled | None = None,
) -> Verification:
    """Runs ``samples`` through the compiled model and through the reference.

    ``stages`` are the graphs after each pass, by name, the import first. ``backend`` is ``jit``, or ``c`` by
    ``compiler``. With ``host``, the same source compiled for this machine, ``compiled`` is run under emulation by the
    route ``backend`` (``llvm`` or ``c``) and compared with that as well. All but ``jit`` show outputs only. A tensor is
    in order where its relative L2 error is at most ``tolerance`` in every sample, integers where they equal the host's.
    Quantized integers may be a step beside the reference's in one element, or one of a thousand: it sums in float32, by
    which what is half way between two integers may come to lie on either side.
    """
    comparison = _Comparison.of(compiled, tolerance, next(iter(samples)))
    if comparison.counted and host is not None:
        reason = "states with extents of a run are compared on this machine only"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, hint="leave --target out, or fix them with --dim NAME=N")
    results = _results(compiled, map(comparison.step, samples), backend, compiler, emulated=host is not None)
    on_host = None if host is None else ObservedModel(host)
    for number, (inputs, found) in enumerate(zip(map(comparison.step, samples), results, strict=True)):
        done = {"share": (number + 1) / samples.count}
        log.info("comparing sample %d of %d", number + 1, samples.count, extra=done)
        expected = {name: array[number] for name, array in samples.expected.items()}
        comparison.add(inputs, found, expected, {} if on_host is None else on_host.run(inputs))
    inside = backend == JIT and not comparison.counted  # what lies beyond the extents of a growing state is arbitrary
    layers, outputs = comparison.layers() if inside else (), comparison.outputs()
    first = next((row for row in (*layers, *outputs) if not row.ok), None)
    unchecked = tuple(dict.fromkeys(r.tensor for r in outputs if not r.difference.compared and 0 not in r.shape))
    stage = None
    if first is not None and comparison.failing is not None and not comparison.counted:
        stage = first_wrong_stage(stages, comparison.failing, comparison.reference, tolerance)
    return Verification(
        ok=first is None and not unchecked,
        backend=backend,
        target=None if host is None else compiled.machine.name,
        reference=comparison.reference.kind,
        tolerance=tolerance,
        samples=samples.count,
        layers=layers,
        outputs=outputs,
        first_layer=first,
        first_stage=stage,
        unchecked=unchecked,
    )


def _results(
    compiled: Compiled, samples: Iterable[Arrays], backend: str, compiler: str | None, emulated: bool
) -> Iterator[Arrays]:
    """What the compiled model makes of each sample; where it has states, of one sequence."""
    if emulated and compiled.program.states:
        yield from EmulatedModel(compiled, backend).run_sequence(list(samples))
        return
    run: Callable[[Arrays], Arrays]
    if emulated:
        run = EmulatedModel(compiled, backend).run
    else:
        program, machine = compiled.program, compiled.machine
        run = ObservedModel(compiled).run if backend == JIT else CModel(program, machine, compiler).run
    yield from map(run, samples)


def first_wrong_stage(stages: Stages, inputs: Arrays, reference: Reference, tolerance: float) -> str:
    """The name of the first graph whose outputs differ from the reference; the code generation where none does."""
    wanted = reference.values(inputs)
    for name, graph in stages:
        values = values_in_run(graph, inputs)
        for output in graph.outputs:
            there = output.name in values and output.name in wanted
            if there and not difference(values[output.name], wanted[output.name]).relative_l2 <= tolerance:
                return name
    return CODE_GENERATION


def _begin(
    source: Source, name: str, shape: tuple[int, ...], axes: Mapping[int, tuple[str, Range]],
    sizes: Mapping[str, tuple[int, ...]],
) -> tuple[int, ...]:  # fmt: skip
    """The shape with which a sequence begins: the least extents that a state may have, but for those of inputs."""
    given = {
        dim: sizes[value.name][at[0]]
        for value in source.model.graph.input if value.name in sizes
        for dim, at in named_dimensions(value).items()
    }  # fmt: skip
    return tuple(given.get(axes[n][0], axes[n][1].least) if n in axes else size for n, size in enumerate(shape))


@dataclass
class _Worst:
    """The worst differences of a tensor over the samples: from the reference and from the optimized graph.

    ``repurposed``: a pass, not the import, gave the tensor another content than the reference has under that name.
    """

    reference: Difference | None = None
    graph: Difference | None = None
    repurposed: bool = False


@dataclass
class _Comparison:
    """Collects differences over the samples. ``failing`` are the inputs of the first sample that differs.

    The reference and the optimized graph feed their states back each for itself, as the compiled model does.
    """

    compiled: Compiled
    tolerance: float
    reference: Reference
    states: Feedback
    own_states: Feedback
    counted: Mapping[str, tuple[str, int]]
    """By the name of an argument that holds the extent of a state: the state and the dimension that has it."""
    failing: Arrays | None = None
    _layers: dict[str, _Worst] = field(default_factory=dict)
    _outputs: dict[tuple[str, str], Difference] = field(default_factory=dict)

    @classmethod
    def of(cls, compiled: Compiled, tolerance: float, first: Arrays) -> _Comparison:
        """``first`` are the inputs of the first sample."""
        graph = compiled.source.graph
        types = {value.name: value.type for value in graph.inputs}
        kept = [state.input for state in graph.states]
        counted = extents_of_states(compiled.source.model, compiled.source.options.dims, kept)
        free = {extent.value for extent in compiled.program.free_extents}
        first = {name: array for name, array in first.items() if name not in free}
        sizes = {name: array.shape for name, array in first.items()}
        begin = {
            name: types[name].with_shape(_begin(compiled.source, name, types[name].shape, axes, sizes))
            for name, axes in counted.items()
        }
        states = Feedback(graph.states, types | begin)
        reference = find_reference(compiled.source, states.with_states(first))
        if any(counted.values()) and reference.evaluator is None:
            reason = "onnx's reference cannot run the model, and its import is no reference for states with extents"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, hint="fix the extents with --dim NAME=N")
        told = {
            name: (state, axis) for state, axes in counted.items() for axis, (name, _) in axes.items() if name in free
        }
        return cls(compiled, tolerance, reference, states, Feedback(graph.states, types), told)

    def step(self, inputs: Arrays) -> Arrays:
        """The inputs of the next run, with the extents that the reference's states have by now."""
        counts = {name: self.states.values[state].shape[axis] for name, (state, axis) in self.counted.items()}
        return {**inputs, **{name: np.asarray(count, np.int64) for name, count in counts.items()}}

    def add(self, inputs: Arrays, found: Arrays, expected: Arrays, host: Arrays) -> None:
        filled = self.compiled.program.filled(inputs)
        inputs = self.states.with_states({name: a for name, a in inputs.items() if name not in self.counted})
        wanted = self.reference.values(inputs)
        self.states.take(wanted)
        whole = {**inputs, **filled}
        meaning = evaluate_graph(self.compiled.optimized, self.own_states.with_states(filled))
        self.own_states.take(meaning)
        imported: Arrays = {}
        for node in self._kernels() if self._is_full(whole) else ():
            name = node.outputs[0].name
            if name not in found or found[name].size != node.outputs[0].type.size:
                continue
            worst = self._layers.setdefault(name, _Worst())
            worst.graph = difference(found[name], meaning[name]).worse(worst.graph)
            if name in wanted and wanted[name].dtype.kind not in "OU":  # strings are numbers of rows inside
                best = best_difference(found[name], wanted[name], self.tolerance)
                worst.reference = None if best is None else best.worse(worst.reference)
                if best is not None and not self._ok(best) and self._ok(worst.graph):
                    imported = imported or evaluate_graph(self.compiled.source.graph, whole)
                    apart = best_difference(imported[name], wanted[name], self.tolerance) if name in imported else None
                    worst.repurposed = apart is not None and self._ok(apart)
        for output in self.compiled.optimized.outputs:
            for kind, arrays in ((self.reference.kind, wanted), ("expected", expected), (HOST, host)):
                if output.name in arrays and output.name in found:
                    key = output.name, kind
                    apart = difference(self._within(output.name, found, arrays), arrays[output.name])
                    self._outputs[key] = apart.worse(self._outputs.get(key))
        if self.failing is None and not all(row.ok for row in (*self.layers(), *self.outputs())):
            self.failing = inputs

    def _is_full(self, inputs: Arrays) -> bool:
        """Whether extents are the bounds: layers hold anything beyond smaller ones."""
        extents = self.compiled.program.extents
        return all(int(inputs[each.value]) == each.bound for each in extents if each.value in inputs)

    def _within(self, name: str, found: Arrays, wanted: Arrays) -> np.ndarray:
        """What was found of an output; of a state with room for more, the elements that it has by now."""
        array, shape = found[name], wanted[name].shape
        kept = name in {state.output for state in self.compiled.source.graph.states}
        return array[tuple(map(slice, shape))] if kept and array.ndim == len(shape) else array

    def outputs(self) -> tuple[Row, ...]:
        types = {value.name: value.type for value in self.compiled.optimized.outputs}
        producers = self.compiled.optimized.producers()
        return tuple(
            Row(
                name, producers[name].loc if name in producers else "", types[name].shape, kind, apart,
                self._same(apart) if kind == HOST and not types[name].dtype.is_float else
                self._ok(apart, quantized=kind != "expected" and types[name].dtype in _QUANTIZED),
            )
            for (name, kind), apart in self._outputs.items()
        )  # fmt: skip

    def layers(self) -> tuple[Row, ...]:
        outputs_ok = all(row.ok for row in self.outputs())
        return tuple(
            self._row(node, self._layers[node.outputs[0].name], outputs_ok)
            for node in self._kernels()
            if node.outputs[0].name in self._layers
        )

    def _row(self, node: Node, worst: _Worst, outputs_ok: bool) -> Row:
        """Compared with the reference, if it has that tensor.

        A pass may give a tensor of the same name another content (a scale moved into the next layer, say). That is no
        error where the import had the right content, the code does what the graph says and the outputs are right: then
        the graph is the reference.
        """
        assert worst.graph is not None
        apart, kind = worst.reference, self.reference.kind
        if apart is None or (not self._ok(apart) and worst.repurposed and self._ok(worst.graph) and outputs_ok):
            apart, kind = worst.graph, "graph"
        value = node.outputs[0]
        return Row(value.name, node.loc, value.shape, kind, apart, self._ok(apart, value.dtype in _QUANTIZED))

    def _kernels(self) -> Iterator[Node]:
        return (node for node in self.compiled.optimized.nodes if node.op != "reshape")

    def _ok(self, apart: Difference, quantized: bool = False) -> bool:
        ties = quantized and apart.max_abs <= 1 and apart.differing <= max(1, apart.compared // _ELEMENTS_A_TIE)
        return ties or apart.relative_l2 <= self.tolerance

    @staticmethod
    def _same(apart: Difference) -> bool:
        return apart.relative_l2 == 0
