"""The walk over an ONNX graph: every node in order becomes core operators, constants, or further nodes to walk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from .context import NodeContext
from .folding import FoldingBuilder
from .functions import Schema, bindings, has_body, schema_body, schema_of
from .node_check import check_node, is_default
from .problems import Problems
from .reference import FOLDABLE, fold_with_reference
from .rules import RULES
from .scope import Missing, Scope
from .tensors import is_packed, to_array

Results = Sequence[Value | Missing]

MAX_DEPTH = 64
"""Nested functions and branches."""

MAX_NODES = 1_000_000
"""Nodes of the model, with all functions expanded."""


class Walker:
    """Imports nodes into ``builder``. Unsupported ones are noted in ``problems`` and the walk goes on."""

    def __init__(self, builder: FoldingBuilder, functions: Mapping[tuple[str, str], onnx.FunctionProto]) -> None:
        self.builder = builder
        self.problems = Problems()
        self._functions = functions
        self._bound: set[str] = set()
        self._packed: set[str] = set()
        self._count = 0

    def walk(self, nodes: Iterable[onnx.NodeProto], scope: Scope) -> None:
        if scope.depth > MAX_DEPTH:
            reason = f"more than {MAX_DEPTH} nested functions or branches"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=scope.place)
        for index, node in enumerate(nodes):
            self._count += 1
            if self._count > MAX_NODES:
                raise CcmlError(ErrorCode.INVALID_MODEL, f"more than {MAX_NODES} nodes, with functions expanded")
            self._node(node, scope.locate(node, index), scope)

    def bind(self, scope: Scope, onnx_name: str, value: Value | Missing) -> None:
        """Defines ``onnx_name``. Raises ``INVALID_MODEL`` where it is defined already."""
        if onnx_name in scope.values:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"'{onnx_name}' is defined twice", loc=scope.path or None)
        scope.values[onnx_name] = value
        if isinstance(value, Value):
            self._bound.add(value.name)

    def read(self, scope: Scope, onnx_name: str, loc: str) -> Value | Missing:
        """The value behind a name; initializers become constants when they are first read."""
        if not onnx_name:
            return Missing.ABSENT
        owner = scope.owner(onnx_name, loc)
        if onnx_name not in owner.values:
            tensor = owner.initializers[onnx_name]
            value = self.builder.constant(to_array(tensor, onnx_name, widen=True), self._name(owner, onnx_name))
            if is_packed(tensor):
                self._packed.add(value.name)
            self.bind(owner, onnx_name, value)
        return owner.values[onnx_name]

    def _refuse_packed(self, operands: Sequence[Value | Missing], loc: str) -> None:
        """Widened 4-bit integers have the right values, but not the type that other operators go by."""
        for operand in operands:
            if isinstance(operand, Value) and operand.name in self._packed:
                reason = f"{operand.name} has integers of less than a byte, which only DequantizeLinear can read"
                raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=loc)

    def _name(self, scope: Scope, onnx_name: str) -> str:
        """The IR name that belongs to an ONNX name."""
        return scope.names.pop(onnx_name, None) or self.builder.names.fresh(onnx_name)

    def _node(self, node: onnx.NodeProto, loc: str, scope: Scope) -> None:
        try:
            operands = [self.read(scope, name, loc) for name in node.input]
            if self._packed and node.op_type != "DequantizeLinear":
                self._refuse_packed(operands, loc)
            if Missing.UNKNOWN in operands:
                self._note_unsupported(node, loc, scope)
                outputs: Results | None = None
            else:
                inputs = tuple(None if isinstance(operand, Missing) else operand for operand in operands)
                outputs = self._import(node, inputs, loc, scope)
        except CcmlError as problem:
            if problem.kind is not ErrorCode.UNSUPPORTED_FEATURE:
                raise
            self.problems.add_feature(problem)
            outputs = None
        for position, name in enumerate(node.output):
            if name and name not in scope.values:
                missing = outputs is None or position >= len(outputs)
                self.bind(scope, name, Missing.UNKNOWN if missing else outputs[position])  # type: ignore[index]

    def _import(
        self, node: onnx.NodeProto, inputs: tuple[Value | None, ...], loc: str, scope: Scope
    ) -> Results | None:
        """The outputs of a node, or ``None`` where its operator is not supported (which is noted)."""
        local = self._functions.get((node.domain, node.op_type))
        attributes = scope.resolved_attributes(node)
        if local is not None:
            return self._call(local, bindings(local, attributes, None), node, inputs, loc, scope)
        opset = scope.opset_of(node)
        schema = None if opset is None else schema_of(node.op_type, opset)
        if schema is None or opset is None:
            self._note_unsupported(node, loc, scope)
            return None
        check_node(node, attributes, schema, opset, loc)
        if node.op_type == "If":
            return self._branch(node, attributes, inputs, loc, scope)
        if node.op_type in RULES:
            return self._apply_rule(node, attributes, inputs, schema, opset, loc, scope)
        body = schema_body(schema, opset, node, attributes, inputs)
        if body is not None:
            return self._call(body, bindings(body, attributes, schema), node, inputs, loc, scope)
        if node.op_type in FOLDABLE and all(v is None or v.name in self.builder.constants for v in inputs):
            arrays = [None if value is None else self.builder.constants[value.name] for value in inputs]
            results = fold_with_reference(node, attributes, arrays, opset, loc)
            return [self.builder.constant(a, self._name(scope, o)) for a, o in zip(results, node.output)]
        self._note_unsupported(node, loc, scope)
        return None

    def _apply_rule(
        self, node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], inputs: tuple[Value | None, ...],
        schema: Schema, opset: int, loc: str, scope: Scope,
    ) -> Results:  # fmt: skip
        """Runs the rule; new values among its results get the names of the ONNX outputs."""
        context = NodeContext(
            node.op_type, opset, loc, next(filter(None, node.output), node.op_type), inputs,
            len(node.output), tuple(bool(name) for name in node.output), attributes, self.builder,
        )  # fmt: skip
        start = len(self.builder.nodes)
        try:
            results = RULES[node.op_type](context)
        except CcmlError:
            raise
        except Exception as problem:  # what no rule foresaw is still a fault of the model, reported at its node
            what = str(problem) if isinstance(problem, ValueError) else repr(problem)
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{node.op_type}: {what}", loc=loc) from problem
        unread = [name for name, a in attributes.items() if name not in context.used and not is_default(a, schema)]
        if unread:
            raise context.unsupported(f"attribute {', '.join(unread)} is not supported")
        names: dict[str, str] = {}
        for value, output in zip(results, node.output):
            if output and value.name not in self._bound and value.name not in names:
                names[value.name] = self._name(scope, output)
        self.builder.rename(start, names)
        return [Value(names.get(value.name, value.name), value.type) for value in results]

    def _call(
        self, function: onnx.FunctionProto, attributes: Mapping[str, onnx.AttributeProto], node: onnx.NodeProto,
        inputs: tuple[Value | None, ...], loc: str, scope: Scope,
    ) -> Results:  # fmt: skip
        """Walks a function's body in a scope of its own."""
        if len(inputs) > len(function.input) or len(node.output) > len(function.output):
            raise CcmlError(ErrorCode.INVALID_MODEL, f"too many operands or results for {node.op_type}", loc=loc)
        opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in function.opset_import}
        inner = Scope(opsets, attributes, None, loc, loc, scope.depth + 1)
        for position, formal in enumerate(function.input):
            value = inputs[position] if position < len(inputs) else None
            inner.values[formal] = Missing.ABSENT if value is None else value
        inner.names = {f: self._name(scope, o) for f, o in zip(function.output, node.output) if o}
        self.walk(function.node, inner)
        wanted = [formal if actual else "" for formal, actual in zip(function.output, node.output)]
        return [self.read(inner, formal, loc) for formal in wanted]

    def _branch(
        self, node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], inputs: tuple[Value | None, ...],
        loc: str, scope: Scope,
    ) -> Results | None:  # fmt: skip
        """Walks the branch that a constant condition chooses."""
        condition = None if inputs[0] is None else self.builder.constants.get(inputs[0].name)
        if condition is None or condition.size != 1:
            self.problems.add_operator("If whose condition is computed at run time", loc)
            self._note_unsupported(node, loc, scope)
            return None
        chosen = "then_branch" if condition.reshape(-1)[0] else "else_branch"
        graph = attributes[chosen].g
        inner = Scope(scope.opsets, scope.attributes, scope, scope.path, loc, scope.depth + 1)
        inner.initializers = {tensor.name: tensor for tensor in graph.initializer}
        inner.names = {g.name: self._name(scope, o) for g, o in zip(graph.output, node.output) if o}
        self.walk(graph.node, inner)
        return [self.read(inner, output.name, loc) for output in graph.output]

    def _note_unsupported(self, node: onnx.NodeProto, loc: str, scope: Scope) -> None:
        """Notes the node where nothing can import it, and looks for such nodes in its subgraphs."""
        known = (node.domain, node.op_type) in self._functions or node.op_type == "If"
        opset = scope.opset_of(node)
        schema = None if opset is None else schema_of(node.op_type, opset)
        if not known and (schema is None or not (node.op_type in RULES or has_body(schema))):
            self.problems.add_operator(f"{node.domain}.{node.op_type}" if node.domain else node.op_type, loc)
        for attribute in node.attribute:
            for index, inner in enumerate(attribute.g.node):
                self._note_unsupported(inner, inner.name or f"{loc}/{inner.op_type}_{index}", scope)
