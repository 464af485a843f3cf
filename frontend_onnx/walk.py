"""The walk over an ONNX graph: every node in order becomes core operators, constants, or further nodes to walk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from .bounded_shapes import bounded_operands
from .constant_operators import FOLDABLE, fold
from .context import NodeContext, Rule
from .contrib import contrib_function, has_contrib
from .custom import CustomNodes
from .folding import Alternative, Doubt, FoldingBuilder
from .functions import Schema, bindings, has_body, schema_body, schema_of
from .narrow_operands import computed_operands, narrow_results
from .nested import branch, call, loop, scan, sequence_map
from .node_check import check_known_attributes, check_node, fault_of_node
from .node_order import in_order, names_read
from .old_forms import NEW_FORMS, modern
from .ops_sequence import PASSED, sequence_rule
from .own_functions import own_function_call
from .problems import LimitError, Problems
from .rules import RULES, RUNTIME_RULES, SEQUENCE_RULES, STRING_RULES
from .runtime_operands import check_results, counted_operands, derived_operands
from .scope import AnyList, Bound, Missing, Results, Scope, Site, parts, qualified, schema_domain, with_parts
from .string_operands import string_operands
from .tensors import to_array

log = logging.getLogger(__name__)

NESTED: Mapping[str, Callable[[Walker, Site], Results]] = {
    "If": branch, "Loop": loop, "Scan": scan, "SequenceMap": sequence_map,
}  # fmt: skip

MAX_DEPTH = 64
"""Nested functions and branches."""

MAX_EXPANDED = 50_000
"""Nodes, calls and iterations that functions, branches and loops add to the nodes of the model's graph."""


class Walker:
    """Imports nodes into ``builder``. Unsupported ones are noted in ``problems`` and the walk goes on."""

    def __init__(
        self, builder: FoldingBuilder, functions: Mapping[tuple[str, str], onnx.FunctionProto], custom: CustomNodes
    ) -> None:
        self.builder = builder
        self._custom = custom
        self.problems = Problems(own="; --custom-op DOMAIN::NAME=FILE.c gives the C of one")
        self._functions = functions
        self._bound: set[str] = set()
        self.unrollable: dict[str, bool] = {}
        """Loops that were tried before, by their place, and whether they could be unrolled."""
        self._expanded = 0

    def walk(self, nodes: Sequence[onnx.NodeProto], scope: Scope) -> None:
        """Imports ``nodes``, whose names are those of ``scope``; ``scope.wanted`` holds what is read behind them."""
        if scope.depth > MAX_DEPTH:
            reason = f"more than {MAX_DEPTH} nested functions or branches"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=scope.place)
        order = in_order(nodes)
        if order != range(len(nodes)):
            place = f" of {scope.place}" if scope.place else ""
            log.warning("the nodes%s are not in topological order; they are sorted", place)
        scope.wanted.update(name for node in nodes for name in names_read(node))
        self._expand(scope)
        for index in order:
            self._expand(scope)
            self._node(nodes[index], scope.locate(nodes[index], index), scope)

    def _expand(self, scope: Scope) -> None:
        """Counts what is not in the model's own graph, so that nothing grows without bounds."""
        self._expanded += scope.depth > 0
        if self._expanded > MAX_EXPANDED:
            reason = f"functions and loops expand to more than {MAX_EXPANDED} nodes"
            raise LimitError(reason, loc=scope.place or None)

    def mark(self) -> Callable[[], None]:
        """What forgets all that will have been imported since. What was expanded stays counted."""
        count, problems, counts = len(self.builder.nodes), self.problems.copy(), self.builder.counts.state()

        def back() -> None:
            del self.builder.nodes[count:]
            self.problems = problems
            self.builder.counts.back_to(counts)
            self.builder.numbers.forget()

        return back

    def bind(self, scope: Scope, onnx_name: str, value: Bound) -> None:
        """Defines ``onnx_name``. Raises ``INVALID_MODEL`` where it is defined already."""
        if onnx_name in scope.values:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"'{onnx_name}' is defined twice", loc=scope.place or None)
        scope.values[onnx_name] = value
        self._bound.update(part.name for part in parts(value))

    def read(self, scope: Scope, onnx_name: str, loc: str) -> Bound:
        """The value behind a name; initializers become constants when they are first read."""
        if not onnx_name:
            return Missing.ABSENT
        owner = scope.owner(onnx_name, loc)
        if onnx_name not in owner.values:
            tensor = owner.initializers[onnx_name]
            self.bind(owner, onnx_name, self.builder.constant(to_array(tensor, onnx_name), onnx_name))
        return owner.values[onnx_name]

    def name(self, scope: Scope, onnx_name: str) -> str:
        """The IR name that belongs to an ONNX name."""
        return scope.names.pop(onnx_name, None) or self.builder.names.fresh(onnx_name)

    def _node(self, node: onnx.NodeProto, loc: str, scope: Scope) -> None:
        outputs: Results | None = None
        try:
            operands = [self.read(scope, name, loc) for name in node.input]
            if Missing.UNKNOWN in operands:
                self._note_unsupported(node, loc, scope)
            else:
                outputs = self._import(node, operands, loc, scope)
            if outputs is not None and self.builder.doubts:
                self._settle_ranks(node, operands, outputs, loc, scope)
        except CcmlError as problem:
            if problem.kind is not ErrorCode.UNSUPPORTED_FEATURE or isinstance(problem, LimitError):
                raise
            self.problems.add_feature(problem)
        for position, name in enumerate(node.output):
            if name:
                if name in scope.initializers:
                    raise CcmlError(ErrorCode.INVALID_MODEL, f"'{name}' is an initializer already", loc=loc)
                there = outputs is not None and position < len(outputs)
                self.bind(scope, name, outputs[position] if outputs is not None and there else Missing.UNKNOWN)

    def _import(self, node: onnx.NodeProto, operands: Sequence[Bound], loc: str, scope: Scope) -> Results | None:
        """The outputs of a node, or ``None`` where its operator is not supported (which is noted)."""
        local, opset = self._functions.get((node.domain, node.op_type)), scope.opset_of(node)
        inputs = self._tables_in_run(operands, loc)
        lists = {place: operand for place, operand in enumerate(operands) if isinstance(operand, AnyList)}
        site = Site(node, scope.resolved_attributes(node), inputs, opset or 0, loc, scope, lists)
        operator = self._custom.of(node)
        if operator is not None:
            start = len(self.builder.nodes)
            return self._named(site, start, self._custom.results(self.context(site), site, operator))
        if local is not None:
            start = len(self.builder.nodes)
            known = own_function_call(self.context(site), local)
            if known is not None:
                return self._named(site, start, known)
            return call(self, site, local, bindings(local, site.attributes, None))
        schema = None if opset is None else schema_of(node.op_type, opset, schema_domain(node))
        rule = RUNTIME_RULES.get(f"{node.domain}.{node.op_type}")
        if rule is not None:
            start = len(self.builder.nodes)
            return self._named(site, start, rule(self.context(site)))
        body = self._contrib(site) if schema is None else None
        if body is not None:
            return call(self, site, body, bindings(body, site.attributes, None))
        if schema is None:
            self._note_unsupported(node, loc, scope)
            return None
        check_node(node, site.attributes, schema, site.opset, loc)
        context = self.context(site)
        if qualified(node) in SEQUENCE_RULES:
            return self._of_sequences(site, context, schema)
        if site.lists and node.op_type not in NESTED:
            reason = f"{node.op_type} takes tensors; {node.input[next(iter(site.lists))]} is a sequence"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=loc)
        plain, moved = string_operands(context, schema, qualified(node), STRING_RULES)
        plain = counted_operands(bounded_operands(plain))
        derived = derived_operands(plain)
        results = self._results(replace(site, inputs=derived.inputs), schema)
        if derived is not plain and results is not None:
            check_results(derived, results)
        return results if results is None else moved.results(context, schema, results)

    def _settle_ranks(
        self, node: onnx.NodeProto, operands: Sequence[Bound], outputs: Results, loc: str, scope: Scope
    ) -> None:  # fmt: skip
        """Tries the node with operands as they would be if what is in doubt was otherwise. Where that is invalid, it
        is not; else results are in doubt that are others then."""
        doubts = self.builder.doubts
        read = {v.name for v in operands if isinstance(v, Value)}
        tried = {id(doubts[name].doubt): doubts[name].doubt for name in read if name in doubts}
        for doubt in {id(each.doubt): each.doubt for each in doubts.values()}.values():
            if doubt.numbers & read:
                doubt.numbers.update(v.name for v in outputs if isinstance(v, Value))
        for doubt in tried.values():
            doubt.read = True
            if doubt.settled:
                continue
            back, names = self.mark(), dict(scope.names)
            made: Results | None = None
            try:
                with self.builder.names.aside():
                    made = self._import(node, [self._doubtful(value, doubt, loc) for value in operands], loc, scope)
            except CcmlError as problem:
                doubt.settled = problem.kind is ErrorCode.INVALID_MODEL and not doubt.numbers & read
            finally:
                back()
                scope.names = names
            for value, other in zip(outputs, made or ()):
                if isinstance(value, Value) and isinstance(other, Value):
                    self._note_alternative(node, doubt, value, other)

    def _note_alternative(self, node: onnx.NodeProto, doubt: Doubt, value: Value, other: Value) -> None:
        """Notes that a result would be ``other``, where that is another shape or constant."""
        own, array = (self.builder.constants.get(each.name) for each in (value, other))
        same = value.shape == other.shape
        if not same or (own is not None and array is not None and not np.array_equal(own, array, equal_nan=True)):
            self.builder.doubts[value.name] = Alternative(doubt, other.shape, array)
        elif node.op_type == "Shape" and array is None:
            doubt.numbers.add(value.name)

    def _doubtful(self, operand: Bound, doubt: Doubt, loc: str) -> Bound:
        """A value of a run in the shape that an operand would have; what is in it does not matter."""
        if not isinstance(operand, Value) or operand.name not in self.builder.doubts or not operand.type.size:
            return operand
        alternative = self.builder.doubts[operand.name]
        if alternative.doubt is not doubt:
            return operand
        if alternative.constant is not None:
            return self.builder.constant(alternative.constant, f"{loc}.doubt")
        rank = len(operand.shape)
        one = {"starts": (0,) * rank, "steps": (1,) * rank, "sizes": (1,) * rank}
        (first,) = self.builder.emit_whole("slice", [operand], one, loc=loc)
        (scalar,) = self.builder.emit_whole("reshape", [first], {"shape": ()}, loc=loc)
        return self.builder.emit_whole("expand", [scalar], {"shape": alternative.shape}, loc=loc)[0]

    def _tables_in_run(self, operands: Sequence[Bound], loc: str) -> tuple[Value | None, ...]:
        """The tensors among operands. Beside values of a run, tables of constants that depend on extents are such, too;
        alone they are folded further."""
        inputs = tuple(operand if isinstance(operand, Value) else None for operand in operands)
        constants = self.builder.constants
        if not self.builder.ranged or all(value is None or value.name in constants for value in inputs):
            return inputs
        return tuple(None if value is None else self.builder.numbers.table_in_run(value, loc) for value in inputs)

    def _results(self, site: Site, schema: Schema) -> Results | None:
        """The outputs of a node by its rule, by the body of its schema, or folded by ONNX's reference."""
        node, inputs, loc, scope = site.node, site.inputs, site.loc, site.scope
        if node.op_type in FOLDABLE and not schema_domain(node) and not self._on_strings(site):
            arrays = [self.builder.constants.get(value.name) for value in inputs if value is not None]
            known = [array for array in arrays if array is not None]
            folded = fold(node, site.attributes, known, loc) if len(known) == len(node.input) else None
            if folded is not None and not self._is_extended(node, folded, inputs):
                values = [self.builder.constant(array, f"{loc}.folded") for array in folded]
                return self._named(site, len(self.builder.nodes), values)
            if folded is not None:
                masked = [None if value is None else self.builder.numbers.masked(value, loc) for value in inputs]
                site = replace(site, inputs=tuple(masked))
        if node.op_type in NESTED or qualified(node) in RULES:
            check_known_attributes(node, site.attributes, schema, loc)
            start = len(self.builder.nodes)
            nested = node.op_type in NESTED
            results = NESTED[node.op_type](self, site) if nested else self._apply_rule(site, schema)
            return self._named(site, start, results)
        opsets = {**scope.opsets, schema.domain: site.opset}
        body = schema_body(schema, opsets, node, site.attributes, inputs)
        if body is not None:
            return call(self, site, body, bindings(body, site.attributes, schema))
        self._note_unsupported(node, loc, scope)
        return None

    def _is_extended(
        self, node: onnx.NodeProto, results: Sequence[np.ndarray], inputs: Sequence[Value | None]
    ) -> bool:  # fmt: skip
        """Whether results of constants are others at other extents, in which operands have known parts."""
        probe, arguments = self.builder.probe, self.builder.arguments
        if probe is None or all(probe.is_part(name, each, arguments) for name, each in zip(node.output, results)):
            return False
        try:
            found = [self.builder.extents_of(value, "") for value in inputs if value is not None]
        except CcmlError:
            return False
        return any(found)

    def _of_sequences(self, site: Site, context: NodeContext, schema: Schema) -> Results:
        """The outputs of an operator that may take or give sequences and optionals."""
        node, start = site.node, len(self.builder.nodes)
        check_known_attributes(node, site.attributes, schema, site.loc)
        operands = [site.operand(place) for place in range(len(node.input))]
        given = [part.name for operand in operands if operand is not None for part in parts(operand)]
        if qualified(node) not in PASSED and any(name in self.builder.strings for name in given):
            raise context.unsupported("sequences of strings are not supported")
        return self._named(site, start, sequence_rule(context, qualified(node), operands)(context, operands))

    def _contrib(self, site: Site) -> onnx.FunctionProto | None:
        """The body of an operator of ONNX Runtime."""
        outputs = site.node.output
        return contrib_function(
            site.node, site.attributes, site.inputs,
            lambda n: site.declared(n) if n < len(outputs) else None, site.loc,
        )  # fmt: skip

    def context(self, site: Site) -> NodeContext:
        outputs = site.node.output
        return NodeContext(
            site.node.op_type, site.opset, site.loc, next(filter(None, outputs), site.node.op_type), site.inputs,
            len(outputs), tuple(name in site.scope.wanted for name in outputs), site.attributes, self.builder,
            site.declared,
        )  # fmt: skip

    def _apply_rule(self, site: Site, schema: Schema) -> Results:
        op_type = site.node.op_type
        old = site.opset < NEW_FORMS and not schema_domain(site.node)
        context, narrow_types = computed_operands(self.context(site), schema)
        try:
            computed = self._rule(site)(modern(context) if old else context)
            results = narrow_results(context, schema, narrow_types, computed)
        except CcmlError:
            raise
        except Exception as problem:  # a fault of the model where ONNX finds one as well, or else of the rule
            constants, domain = self.builder.constants, schema_domain(site.node)
            reason = fault_of_node(site.node, site.attributes, site.inputs, constants, site.opset, domain)
            if reason is None:
                raise
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{op_type}: {reason}", loc=site.loc) from problem
        return results

    def _rule(self, site: Site) -> Rule:
        name = qualified(site.node)
        return STRING_RULES[name] if self._on_strings(site) and name in STRING_RULES else RULES[name]

    def _on_strings(self, site: Site) -> bool:
        return any(value is not None and value.name in self.builder.strings for value in site.inputs)

    def _named(self, site: Site, start: int, results: Results) -> Results:
        """Gives new values among the results the names of the ONNX outputs; ``start`` is the node's first."""
        names: dict[str, str] = {}
        for result, output in zip(results, site.node.output):
            for number, value in enumerate(parts(result)):
                if output and value.name not in self._bound and value.name not in names:
                    element = self.builder.names.fresh(f"{output}_{number}") if result is not value else None
                    names[value.name] = element or self.name(site.scope, output)
        self.builder.rename(start, names)
        return [with_parts(r, [Value(names.get(v.name, v.name), v.type) for v in parts(r)]) for r in results]

    def _note_unsupported(self, node: onnx.NodeProto, loc: str, scope: Scope) -> None:
        """Notes the node where nothing can import it, and looks for such nodes in its subgraphs."""
        known = self._custom.of(node) is not None or (node.domain, node.op_type) in self._functions
        known = known or has_contrib(node) or f"{node.domain}.{node.op_type}" in RUNTIME_RULES or node.op_type in NESTED
        opset = scope.opset_of(node)
        schema = None if opset is None else schema_of(node.op_type, opset, schema_domain(node))
        if not known and (schema is None or not (qualified(node) in {**RULES, **SEQUENCE_RULES} or has_body(schema))):
            self.problems.add_operator(node.domain, node.op_type, loc)
        for attribute in node.attribute:
            for index, inner in enumerate(attribute.g.node):
                self._note_unsupported(inner, inner.name or f"{loc}/{inner.op_type}_{index}", scope)
