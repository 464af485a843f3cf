"""ModelProto -> Graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
import onnx

from ..custom_ops.operators import CustomOperator
from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph, Value
from ..ir.types import DType
from .bounds import check_bounds, string_bound
from .cross_check import check_inferred_shapes, declared_differently
from .custom import CustomNodes
from .declared import model_extents
from .dense import Ranged, dense_outputs, with_pitch
from .dims import Dims, Range, check_ranges, input_types, named_dimensions, with_one_dimension
from .external_data import stored_bytes
from .finish import finish
from .folding import FoldingBuilder
from .functions import model_functions
from .gradients import without_gradients
from .interface import TensorInterface, only_tensors, with_tensor_inputs, with_tensor_outputs
from .probe import MARK, Argument, Probe, named_nodes
from .scope import Bound, Scope, TensorList, parts
from .string_tables import described, input_strings, string_outputs
from .text_check import check_text
from .versions import opset_imports
from .walk import Walker

log = logging.getLogger(__name__)

Operators = Mapping[tuple[str, str], CustomOperator]


def import_model(
    model: onnx.ModelProto,
    dims: Dims | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    name: str | None = None,
    bounds: Mapping[str, int] | None = None,
    custom: Operators = MappingProxyType({}),
    states: Mapping[str, str] = MappingProxyType({}),
) -> Graph:
    """Imports ``model`` with static shapes.

    ``dims`` binds symbolic dimensions by name (``{"batch": 1}``), to a :class:`Range` where each run tells the extent:
    the greatest is the graph's, and an input that holds the extent stands first. ``shapes`` fixes whole inputs
    (``{"input": (1, 576)}``). ``bounds`` says how many bytes the strings of an input have at most, how many elements a
    Range and how many rows a Loop, by the names of their results. ``custom`` are operators that the user gives, by
    domain and name; they stand before all others. ``states`` are inputs that the caller keeps, with the outputs that
    are their next values: extents leave gaps in them (:func:`with_states` makes states of them). Inputs and outputs are
    tensors (:func:`tensor_interface`).
    The graph's inputs keep the model's order, names and types, unused ones too, but strings have a last dimension of
    bytes; a value that an ONNX node puts out keeps its ONNX name. Everything wrong with the model or the options
    raises :class:`CcmlError`; all unsupported operators are reported at once.
    """
    check_text(model)
    ranges = {key: extent for key, extent in (dims or {}).items() if isinstance(extent, Range)}
    fixed = {key: extent for key, extent in (dims or {}).items() if isinstance(extent, int)}
    if not ranges:
        with _of_chosen_extents(fixed):
            walk = _Walk(model, fixed, shapes or {}, bounds or {}, custom)
        walk.check()
        results, extents = dense_outputs(
            walk.builder, string_outputs(walk.builder, walk.outputs), (), tuple(states.values())
        )
        return finish(walk.builder, name or model.graph.name or "model", walk.inputs, results, extents)
    check_ranges(ranges)
    arguments = Argument.all_of(ranges, _tensor_names(model.graph))
    probing = fixed | {a.symbol: a.probed for a in arguments}
    greatest = fixed | {a.symbol: a.range.most for a in arguments}
    try:
        probed = _Walk(model, probing, shapes or {}, bounds or {}, custom, arguments=arguments, kept=states)
    except CcmlError as problem:
        if problem.kind in (ErrorCode.INVALID_MODEL, ErrorCode.SHAPE_MISMATCH):
            with _of_chosen_extents(greatest):
                _Walk(model, greatest, shapes or {}, bounds or {}, custom)  # what is wrong there is said first

            def apart(merged: onnx.ModelProto, kept: Sequence[Argument]) -> None:
                extents = fixed | {a.symbol: a.probed for a in kept}
                _Walk(merged, extents, shapes or {}, bounds or {}, custom, arguments=kept, kept=states)

            pair = _equal_dimensions(model, arguments, problem, apart)
            if pair is not None:
                log.warning("the dimensions %s and %s are taken as one: %s demands that", *pair, problem.loc)
                rest = {key: extent for key, extent in (dims or {}).items() if key != pair[1]}
                return import_model(with_one_dimension(model, *pair), rest, shapes, name, bounds, custom, states)
            raise _not_every_extent(problem, arguments) from problem
        raise

    def at_least() -> Probe | None:
        for extent in (1, 2):  # some models are none where an extent is 1
            lesser = [a.at_least(extent) for a in arguments]
            extents = fixed | {a.symbol: a.probed for a in lesser}
            if extents in (probing, greatest):
                continue
            with suppress(CcmlError):
                return _probe(_Walk(model, extents, shapes or {}, bounds or {}, custom, arguments=lesser, kept=states))
        return None

    probe = _probe(probed, cache(at_least))
    walk = _Walk(model, greatest, shapes or {}, bounds or {}, custom, probe, arguments, states)
    walk.check()
    probe.check_outputs([value for _, value in walk.outputs], [value for _, value in probed.outputs])
    strings = string_outputs(walk.builder, walk.outputs)
    results, extents = dense_outputs(walk.builder, strings, walk.ranged, tuple(states.values()))
    inputs = [*(argument.value for argument in arguments), *walk.inputs]
    return finish(walk.builder, name or model.graph.name or "model", inputs, results, extents)


def _probe(walk: _Walk, at_least: Callable[[], Probe | None] = lambda: None) -> Probe:
    builder = walk.builder
    return Probe(dict(named_nodes(builder.nodes)), builder.constants, builder.extents, builder.numbers.folded, at_least)


def _tensor_names(graph: onnx.GraphProto) -> set[str]:
    """The names of inputs, of initializers, and of what nodes put out."""
    outside = {each.name for each in (*graph.input, *graph.initializer)}
    return outside | {name for node in graph.node for name in node.output}


def _equal_dimensions(
    model: onnx.ModelProto, arguments: Sequence[Argument], problem: CcmlError,
    walk: Callable[[onnx.ModelProto, Sequence[Argument]], None],
) -> tuple[str, str] | None:  # fmt: skip
    """Two dimensions with the same range that a node demands to be equal, as exporters give the batch of each input a
    name of its own: with one name for both the ``problem`` of that node is gone, or is another one."""
    found: tuple[str, str] | None = None
    for one, other in combinations(arguments, 2):
        if one.range != other.range:
            continue
        pair = one.symbol, other.symbol
        try:
            walk(with_one_dimension(model, *pair), [each for each in arguments if each is not other])
        except CcmlError as further:
            if further.loc == problem.loc:
                if further.reason != problem.reason:
                    found = found or pair
                continue
        return pair
    return found


@contextmanager
def _of_chosen_extents(dims: Mapping[str, int]) -> Iterator[None]:
    """An error at extents that the user chose for symbolic dimensions says that there may be others that work."""
    try:
        yield
    except CcmlError as problem:
        if dims and problem.hint is None and problem.kind in (ErrorCode.INVALID_MODEL, ErrorCode.SHAPE_MISMATCH):
            chosen = ", ".join(f"{name} = {extent}" for name, extent in dims.items())
            problem.hint = (
                f"this is so with {chosen}: exporters write extents of their example into models; "
                "give those with --dim NAME=N, or export again with dynamic shapes"
            )
        raise


def _not_every_extent(problem: CcmlError, arguments: Sequence[Argument]) -> CcmlError:
    """The error for a model that is valid at the bounds of its ranges only, such as one that takes multiples of 32."""
    tried = ", ".join(f"{argument.symbol} = {argument.probed}" for argument in arguments)
    reason = f"{problem.reason}: the model does not take every extent of its ranges ({tried})"
    name = arguments[0].symbol
    multiples = f"if it takes multiples of a number, say which (--dim {name}=32*1..7 is 32, 64 ... 224)"
    hint = f"{multiples}; or fix the dimension with --dim NAME=N"
    return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=problem.loc, hint=hint)


def tensor_interface(
    model: onnx.ModelProto,
    lengths: Mapping[str, int] | None = None,
    absent: Collection[str] = (),
    dims: Dims | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    bounds: Mapping[str, int] | None = None,
    fixed: Callable[[onnx.ModelProto], onnx.ModelProto] = lambda model: model,
    custom: Operators = MappingProxyType({}),
) -> TensorInterface:
    """``model`` with tensors in the place of the sequences and optionals among its inputs and outputs.

    ``lengths`` says how many tensors a sequence among the inputs has, ``absent`` names optional inputs that are not
    there; ``dims``, ``shapes``, ``bounds`` and ``custom`` are as for :func:`import_model`. ``fixed`` is done to the
    model when its inputs are tensors. Where outputs are sequences, the model is imported to see how long they are.
    """
    flat = with_tensor_inputs(model, lengths or {}, absent, dims or {})
    model = fixed(flat.model)
    if only_tensors(model.graph.output):
        return TensorInterface(model, flat.inputs, {value.name: value.name for value in model.graph.output})
    greatest = {name: extent.most if isinstance(extent, Range) else extent for name, extent in (dims or {}).items()}
    walk = _Walk(model, greatest, shapes or {}, bounds or {}, custom)
    model, outputs = with_tensor_outputs(model, {name: bound for name, _, bound in walk.results})
    return TensorInterface(model, flat.inputs, outputs)


MAX_DECIDING = 64
"""Elements of an input whose value is worth to be asked for."""


class _Walk:
    """The nodes, inputs and outputs of a model with static shapes, or with those of a ``probe`` as bounds."""

    def __init__(
        self, model: onnx.ModelProto, dims: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]],
        bounds: Mapping[str, int], custom: Operators, probe: Probe | None = None,
        arguments: Sequence[Argument] = (), kept: Collection[str] = (),
    ) -> None:  # fmt: skip
        stored = {tensor.name for tensor in model.graph.initializer}
        free = [value for value in model.graph.input if value.name not in stored]
        self.types = types = input_types(free, dims, shapes)
        self.model, self.probe = without_gradients(model, types), probe
        model = self.model
        self.scope = scope = Scope(opset_imports(model))
        scope.initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        if model.graph.sparse_initializer:
            names = ", ".join(tensor.values.name for tensor in model.graph.sparse_initializer)
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"sparse initializers are not supported: {names}")
        self.builder = FoldingBuilder(stored_bytes(model), probe, arguments)
        walker = Walker(self.builder, model_functions(model), CustomNodes(model, custom))
        self.inputs: list[Value] = []
        for argument in arguments:
            self.builder.names.fresh(argument.value.name)
        dimensions = {value.name: named_dimensions(value) for value in free}
        self.ranged = [
            Ranged(a, [(name, axis) for name, axes in dimensions.items() for axis in axes.get(a.symbol, ())])
            for a in arguments
        ]
        check_bounds(bounds, types, model.graph)
        self.builder.most = bounds
        for onnx_name, type_ in types.items():
            if type_.dtype is DType.CHAR:
                type_ = type_.with_shape((*type_.shape, string_bound(bounds, onnx_name, probe is not None)))
            value = Value(self.builder.names.fresh(onnx_name), type_)
            self.inputs.append(value)
            if not type_.size:
                empty = np.empty(type_.shape, type_.dtype.numpy)
                value = self.builder.typed_constant(empty, type_, f"{value.name}.empty")
            value = with_pitch(self.builder, value, self.ranged, kept)
            walker.bind(scope, onnx_name, input_strings(self.builder, value) if type_.dtype is DType.CHAR else value)
        scope.declare(model.graph.node, lambda: model_extents(model, types, described(self.builder, scope.values)))
        outputs = dict.fromkeys(value.name for value in model.graph.output)
        if len(outputs) < len(model.graph.output):
            log.warning("the model lists an output more than once; it is given once")
        output_names = {name: self.builder.names.fresh(name) for name in outputs}
        scope.names.update(output_names)
        scope.wanted.update(output_names)
        try:
            walker.walk(model.graph.node, scope)
            walker.problems.raise_any()
        except CcmlError as problem:
            if problem.deciding:
                raise self._decided_by_inputs(problem) from problem
            raise
        results = [(name, target, walker.read(scope, name, name)) for name, target in output_names.items()]
        read = {part.name for _, _, result in results for part in parts(result)}
        for name, alternative in self.builder.doubts.items():
            alternative.doubt.read |= name in read
            alternative.doubt.check()
        self.results = [(name, target, self._in_run(value, target)) for name, target, value in results]

    def _in_run(self, result: Bound, target: str) -> Bound:
        """A result as it is in a run, where it is a constant that depends on an extent."""
        builder = self.builder
        if self.probe is None or not isinstance(result, Value) or result.name not in builder.constants:
            return result
        table = builder.strings.get(result.name)
        if table is not None:  # the rows have the extents
            if table.rows.name in builder.constants and builder.extents_of(table.rows, target):
                reason = "an output of constant strings has the extent of a ranged dimension"
                raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=target)
            return result
        value = builder.numbers.in_run(result, target)
        extents = builder.extents_of(value, target)
        if not value.type.size:
            if extents:
                builder.extents[value.name] = extents
            return value
        if (value is not result or extents) and result.name == target:  # the output is another value now
            kept = Value(builder.names.fresh(f"{target}.const"), result.type)
            builder.rename(0, {target: kept.name})
            value = kept if value is result else value
        if not extents:
            return value
        made = value
        for axis, count in extents.items():
            numbers = np.arange(value.shape[axis]).reshape(-1, *[1] * (len(value.shape) - axis - 1))
            stems = [f"{target}{MARK}"]
            places = builder.constant(numbers, stems[0])
            zero = builder.constant(np.zeros((), value.dtype.numpy), stems[0])
            (inside,) = builder.emit_whole("lt", (places, count), loc=target, names=stems)
            (made,) = builder.emit_whole("where", (inside, made, zero), loc=target, names=stems)
        builder.extents[made.name] = extents
        return made

    @property
    def outputs(self) -> list[tuple[str, Value]]:
        """The names that the outputs are to have, and their values."""
        found = [(target, value) for _, target, value in self.results if isinstance(value, Value)]
        if not found or len(found) < len(self.results):
            lists = [name for name, _, value in self.results if isinstance(value, TensorList)]
            if lists:
                reason = f"outputs are sequences, but not declared as such: {', '.join(lists)}"
                raise CcmlError(ErrorCode.INVALID_MODEL, reason)
            raise CcmlError(ErrorCode.INVALID_MODEL, "the model has no outputs, or one that no node defines")
        return found

    def _decided_by_inputs(self, problem: CcmlError) -> CcmlError:
        """The problem with the inputs that decide about it: small ones of integers, on which alone the values depend
        that would have to be constant."""
        reached = self.builder.reached(problem.deciding)
        deciding = [value for value in self.inputs if value.name in reached]
        if any(value.dtype.is_float or value.type.size > MAX_DECIDING for value in deciding):
            deciding = []
        hint = problem.hint
        if deciding:
            option = " ".join(f"--fix {value.name}=..." for value in deciding)
            hint = f"{hint}; or fix the value of the input: {option}" if hint else f"fix the value: {option}"
        names_of = [value.name for value in deciding]
        return CcmlError(problem.kind, problem.reason, loc=problem.loc, hint=hint, deciding=names_of)

    def _probed(self, count: Value) -> int | None:
        """What an extent is in the second import."""
        known = self.builder.counts.of(count)
        return None if known is None else self.builder.counts.probed(known)

    def check(self) -> None:
        """Raises ``INVALID_MODEL`` where ONNX infers other shapes; notes where the file declares others."""
        extents = self.builder.extents
        if self.probe is not None:
            self.probe.check(self.builder.nodes, extents, self.builder.over_bounds, self._probed)
        check_inferred_shapes(self.model, self.types, described(self.builder, self.scope.values), extents)
        outputs = described(self.builder, dict(self.outputs))
        for difference in declared_differently(self.model.graph.output, outputs, extents):
            log.warning("%s", difference)
