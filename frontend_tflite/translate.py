"""Model -> ONNX model: quantized tensors by QuantizeLinear and DequantizeLinear, names and layouts as in the file.

Every operator becomes nodes under its own name (``CONV_2D_3``). What the file declares as shapes is what rules go by;
afterwards ONNX's inference has to find the same.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper

from ..errors import CcmlError, ErrorCode
from ..frontend_onnx.problems import Problems
from ..printable import in_short
from .context import OpContext
from .model import ELEMENT_TYPES, Model, Operator, Subgraph, Tensor
from .onnx_nodes import IR_VERSION, OPSET, Names, OnnxGraph, rename
from .rules import CONTROL, RULES
from .shapes import check_shapes
from .states import States, value_info

log = logging.getLogger(__name__)

_MOST_OPERATORS = 50_000
"""Of all bodies together: a branch may stand in many places."""
_MOST_DEPTH = 20


def translate(model: Model, name: str) -> onnx.ModelProto:
    """Raises ``UNSUPPORTED_OPERATOR`` and ``UNSUPPORTED_FEATURE`` for everything at once, ``INVALID_MODEL`` for what
    contradicts itself."""
    return _Translator(model).translated(name)


@dataclass
class _Frame:
    """A subgraph where it is being translated; ``None`` is a value that failed."""

    subgraph: Subgraph
    graph: OnnxGraph
    path: str = ""
    depth: int = 0
    names: dict[int, str] = field(default_factory=dict)
    values: dict[int, str | None] = field(default_factory=dict)
    handles: dict[int, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)


class _Translator:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.names = Names()
        self.constants: dict[str, np.ndarray] = {}
        self.states = States(self.names)
        self.problems = Problems("ccml ops --tflite")
        self.count = 0

    def translated(self, name: str) -> onnx.ModelProto:
        main = self.model.subgraphs[0]
        frame = _Frame(main, OnnxGraph(self.names, self.constants))
        inputs = [(self._input(frame, index), main.tensors[index]) for index in main.inputs]
        for index in main.outputs:
            if index not in frame.names:
                frame.names[index] = self.names.fresh(main.tensors[index].name)
        self.states.changed.update(_assigned(main))
        self._walk(frame)
        self.problems.raise_any()
        outputs = [(self._output(frame, n, index), main.tensors[index]) for n, index in enumerate(main.outputs)]
        inputs += self.states.inputs.values()
        for new, tensor, value in self.states.results():
            frame.graph.nodes.append(helper.make_node("Identity", [value], [new], new))
            outputs.append((new, tensor))
        if not outputs:
            raise CcmlError(ErrorCode.INVALID_MODEL, "the model has no outputs")
        for _, tensor in (*inputs, *outputs):
            _check_type(tensor, tensor.name)
        given, made = ([value_info(key, tensor) for key, tensor in side] for side in (inputs, outputs))
        check_shapes(frame.graph.nodes, self.constants, given, _named_tensors(frame))
        return helper.make_model(
            frame.graph.proto(name, given, made, constants=True), opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION, producer_name="TensorFlow Lite", doc_string=self.model.description,
        )  # fmt: skip

    # ------------------------------------------------------------ inputs, outputs, tensors

    def _input(self, frame: _Frame, index: int) -> str:
        if index in frame.values:
            reason = "the tensor is an input twice"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=frame.subgraph.tensors[index].name)
        name = self.names.fresh(frame.subgraph.tensors[index].name)
        frame.names[index] = frame.values[index] = name
        return name

    def _output(self, frame: _Frame, number: int, index: int) -> str:
        """The name of an output: a tensor that is an input, a constant or another output as well is copied."""
        value = self._read(frame, index, "the model's outputs")
        assert value is not None
        name = frame.names.get(index)
        if value == name and index not in frame.subgraph.inputs and index not in frame.subgraph.outputs[:number]:
            return name
        if name is None or index in frame.subgraph.inputs or index in frame.subgraph.outputs[:number]:
            name = self.names.fresh(f"{frame.subgraph.tensors[index].name}_output")
        frame.graph.nodes.append(helper.make_node("Identity", [value], [name], name))
        return name

    def _read(self, frame: _Frame, index: int, loc: str) -> str | None:
        """The ONNX value of a tensor; ``None`` where what should have computed it has failed."""
        if index not in frame.values:
            tensor = frame.subgraph.tensors[index]
            if tensor.type not in ELEMENT_TYPES:
                raise _type_error(tensor, loc)
            if tensor.data is not None or not tensor.size:
                array = tensor.array if tensor.data is not None else np.zeros(tensor.shape, tensor.dtype)
                frame.values[index] = frame.graph.constant(array, tensor.name)
            elif tensor.is_variable:
                frame.values[index] = self.states.read(tensor.name, tensor)
            else:
                raise CcmlError(
                    ErrorCode.INVALID_MODEL, f"reads '{tensor.name}', which nothing before it computes", loc=loc
                )
        return frame.values[index]

    def _bind(self, frame: _Frame, index: int, value: str | None, nodes: Sequence[onnx.NodeProto]) -> None:
        """Gives a value that ``nodes`` have made the name of its tensor."""
        if index in frame.values:
            reason = f"'{frame.subgraph.tensors[index].name}' is computed twice"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=frame.graph.loc)
        frame.values[index] = value
        if value is None or value in frame.named or not any(value in node.output for node in nodes):
            return
        if index not in frame.names:
            frame.names[index] = self.names.fresh(frame.subgraph.tensors[index].name)
        name = frame.values[index] = frame.names[index]
        frame.named.add(name)
        rename(nodes, {value: name})
        self.states.rename(value, name)

    # ------------------------------------------------------------ operators

    def _walk(self, frame: _Frame) -> None:
        for op in frame.subgraph.operators:
            self.count += 1
            if self.count > _MOST_OPERATORS:
                reason = (
                    f"the model has more than {_MOST_OPERATORS} operators, those of bodies counted where they stand"
                )
                raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason)
            frame.graph.loc = f"{frame.path}{op.name}_{op.number}"
            if op.name not in RULES and op.name not in CONTROL:
                self.problems.add_operator("", op.name, frame.graph.loc)
                self._fail(frame, op)
                continue
            try:
                self._operator(frame, op)
            except CcmlError as problem:
                if problem.kind is not ErrorCode.UNSUPPORTED_FEATURE:
                    raise
                self.problems.add_feature(problem)
                self._fail(frame, op)

    def _fail(self, frame: _Frame, op: Operator) -> None:
        for index in op.outputs:
            if index >= 0:
                frame.values.setdefault(index, None)

    def _operator(self, frame: _Frame, op: Operator) -> None:
        loc = frame.graph.loc
        if op.name in ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"):
            self._variable(frame, op)
            return
        values = [None if index < 0 else self._read(frame, index, loc) for index in op.inputs]
        if any(value is None and index >= 0 for value, index in zip(values, op.inputs)):
            self._fail(frame, op)
            return
        mark = len(frame.graph.nodes)
        if op.name in ("IF", "WHILE"):
            results = self._control(frame, op, [value for value in values if value is not None])
        else:
            results = RULES[op.name](self._context(frame, op, values))
        outputs = [index for index in op.outputs if index >= 0]
        if len(results) < len(outputs):
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{op.name} has {len(outputs)} results", loc=loc)
        for index, value in zip(outputs, results):
            self._bind(frame, index, value, frame.graph.nodes[mark:])

    def _context(self, frame: _Frame, op: Operator, values: Sequence[str | None]) -> OpContext:
        tensors = frame.subgraph.tensors
        inputs = tuple(None if index < 0 else tensors[index] for index in op.inputs)
        outputs = tuple(tensors[index] for index in op.outputs if index >= 0)
        for tensor in (*inputs, *outputs):
            if tensor is not None:
                _check_type(tensor, frame.graph.loc)
        states = self.states if not frame.depth else None
        return OpContext(op, frame.graph, inputs, outputs, tuple(values), self.constants, states)

    # ------------------------------------------------------------ variables

    def _variable(self, frame: _Frame, op: Operator) -> None:
        if frame.depth:
            hint = "convert the model without variables in branches and loops"
            raise CcmlError(
                ErrorCode.UNSUPPORTED_FEATURE, "variables within IF and WHILE are not supported", loc=frame.graph.loc,
                hint=hint,
            )  # fmt: skip
        if op.name == "CALL_ONCE":
            self._initialize(op, frame.graph)
            return
        tensors = frame.subgraph.tensors
        if op.name == "VAR_HANDLE":
            index = _operand(op, op.outputs, 0)
            frame.handles[index] = _variable_key(op)
            return
        handle = frame.handles.get(_operand(op, op.inputs, 0))
        if handle is None:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{op.name} has no handle of a variable", loc=frame.graph.loc)
        if op.name == "READ_VARIABLE":
            index = _operand(op, op.outputs, 0)
            _check_type(tensors[index], frame.graph.loc)
            self._bind(frame, index, self.states.read(handle, tensors[index]), ())
            return
        value = self._read(frame, _operand(op, op.inputs, 1), frame.graph.loc)
        if value is not None:
            self.states.write(handle, value)

    def _initialize(self, op: Operator, graph: OnnxGraph) -> None:
        """What CALL_ONCE assigns to variables, if that is constant."""
        subgraph = self._body_of(op, "InitSubgraphIndex")
        frame = _Frame(subgraph, graph)
        for inner in subgraph.operators:
            if inner.name == "VAR_HANDLE":
                frame.handles[_operand(inner, inner.outputs, 0)] = _variable_key(inner)
                continue
            handle = frame.handles.get(_operand(inner, inner.inputs, 0))
            index = _operand(inner, inner.inputs, 1) if inner.name == "ASSIGN_VARIABLE" else -1
            if handle is None or index < 0 or subgraph.tensors[index].data is None:
                raise CcmlError(
                    ErrorCode.UNSUPPORTED_FEATURE, "CALL_ONCE may only assign constants to variables", loc=graph.loc
                )
            value = self._read(frame, index, graph.loc)
            if value is not None:
                array = self.constants[value]
                self.states.initial[handle] = value, array
                if handle in self.states.changed and np.any(array):
                    log.warning("the first run is to be given the state '%s': %s", handle, in_short(str(array)))

    # ------------------------------------------------------------ control flow

    def _body_of(self, op: Operator, option: str) -> Subgraph:
        index = op.options.get(option, 0)
        if not isinstance(index, int) or not 0 < index < len(self.model.subgraphs):
            raise CcmlError(ErrorCode.INVALID_MODEL, f"there is no subgraph {index!r} for a body", loc=op.name)
        return self.model.subgraphs[index]

    def _control(self, frame: _Frame, op: Operator, values: Sequence[str]) -> Sequence[str]:
        if frame.depth >= _MOST_DEPTH:
            reason = f"bodies lie more than {_MOST_DEPTH} deep in each other, or in themselves"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=frame.graph.loc)
        if op.name == "IF":
            if not values:
                raise CcmlError(ErrorCode.INVALID_MODEL, "IF has no condition", loc=frame.graph.loc)
            branches = {
                name: self._branch(frame, self._body_of(op, option), values[1:], name)
                for name, option in (("then_branch", "ThenSubgraphIndex"), ("else_branch", "ElseSubgraphIndex"))
            }
            return frame.graph.emit_all("If", values[:1], len(op.outputs), **branches)
        return self._loop(frame, op, values)

    def _branch(self, frame: _Frame, subgraph: Subgraph, values: Sequence[str], name: str) -> onnx.GraphProto:
        inner = self._inner(frame, subgraph, frame.graph.body(), values, name)
        results = self._results(inner)
        return inner.graph.proto(f"{frame.graph.loc}/{name}", [], results)

    def _inner(self, frame: _Frame, subgraph: Subgraph, graph: OnnxGraph, values: Sequence[str], name: str) -> _Frame:
        """A body, translated with ``values`` as its inputs."""
        if len(values) != len(subgraph.inputs):
            reason = f"a body has {len(subgraph.inputs)} inputs and is given {len(values)}"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=frame.graph.loc)
        path = f"{frame.graph.loc}/{name}/"
        inner = _Frame(subgraph, graph, path, frame.depth + 1, values=dict(zip(subgraph.inputs, values)))
        self._walk(inner)
        return inner

    def _results(self, inner: _Frame) -> list[onnx.ValueInfoProto]:
        """The outputs of a body, each by a node of its own."""
        return [
            value_info(inner.graph.emit("Identity", value), inner.subgraph.tensors[index])
            for index in inner.subgraph.outputs
            if (value := self._read(inner, index, inner.path)) is not None
        ]

    def _loop(self, frame: _Frame, op: Operator, values: Sequence[str]) -> Sequence[str]:
        """While: the condition is computed before the loop and at the end of each pass."""
        condition, body = self._body_of(op, "CondSubgraphIndex"), self._body_of(op, "BodySubgraphIndex")
        loc = frame.graph.loc
        first = self._condition(frame, condition, frame.graph, values, "first")
        frame.graph.loc = loc
        graph = frame.graph.body()
        counter, was_true = (self.names.fresh(f"{loc}/{what}") for what in ("pass", "condition"))
        states = [self.names.fresh(f"{loc}/{body.tensors[index].name}") for index in body.inputs]
        inner = self._inner(frame, body, graph, values if len(values) != len(states) else states, "body")
        results = self._results(inner)
        again = self._condition(inner, condition, graph, [result.name for result in results], "condition")
        scalar = Tensor("", (), "BOOL", None, None, False)
        inputs = [
            value_info(counter, Tensor("", (), "INT64", None, None, False)), value_info(was_true, scalar),
            *(value_info(name, body.tensors[index]) for name, index in zip(states, body.inputs)),
        ]  # fmt: skip
        outputs = [value_info(graph.emit("Identity", again), scalar), *results]
        proto = graph.proto(f"{loc}/body", inputs, outputs)
        return frame.graph.emit_all("Loop", ["", first, *values], len(op.outputs), body=proto)

    def _condition(self, frame: _Frame, subgraph: Subgraph, graph: OnnxGraph, values: Sequence[str], name: str) -> str:
        inner = self._inner(frame, subgraph, graph, values, name)
        if len(subgraph.outputs) != 1:
            raise CcmlError(ErrorCode.INVALID_MODEL, "a condition has one result", loc=inner.path)
        value = self._read(inner, subgraph.outputs[0], inner.path)
        if value is None:
            return self.names.fresh("failed")  # what failed is reported instead of the model
        return graph.emit("Reshape", value, graph.constant(np.zeros(0, np.int64)))


def _named_tensors(frame: _Frame) -> dict[str, Tensor]:
    """The tensors of a subgraph by the values that they are."""
    return {name: frame.subgraph.tensors[index] for index, name in frame.values.items() if name is not None}


def _assigned(subgraph: Subgraph) -> set[str]:
    """The variables that a run assigns to."""
    handles = {index: _variable_key(op) for op in subgraph.operators if op.name == "VAR_HANDLE" for index in op.outputs}
    targets = (op.inputs[0] for op in subgraph.operators if op.name == "ASSIGN_VARIABLE" and op.inputs)
    return {handles[index] for index in targets if index in handles}


def _variable_key(op: Operator) -> str:
    name = op.options.get("SharedName", b"")
    return name.decode("utf-8", "replace") if isinstance(name, bytes) and name else "variable"


def _operand(op: Operator, operands: Sequence[int], position: int) -> int:
    if position >= len(operands) or operands[position] < 0:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"{op.name} has too few operands", loc=f"{op.name}_{op.number}")
    return operands[position]


def _check_type(tensor: Tensor, loc: str) -> None:
    if tensor.type not in ELEMENT_TYPES:
        raise _type_error(tensor, loc)


def _type_error(tensor: Tensor, loc: str) -> CcmlError:
    reason = f"'{tensor.name}' has the element type {tensor.type}, which is not supported"
    return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=loc)
