"""Graph -> ModelProto: a ``channels_first`` graph of float operators, quantize and dequantize as standard ONNX.

What other runtimes load after quantization, and what Netron shows. Values keep their names; a node is named after its
``loc``. Importing the result gives a graph with the same meaning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .. import __version__
from ..custom_ops.attributes import onnx_node
from ..errors import CcmlError, ErrorCode
from ..ir.extents import axes_of
from ..ir.graph import Graph, NameSupply, Node, Value
from ..ir.types import DType, TensorType
from ..ops.control import BODIES, all_graphs, bodies_of
from ..ops.custom import CUSTOM
from ..passes.control import name_apart
from ..passes.rewrite import rename
from ..record import record
from .export_context import ELEMENT_TYPES, ExportContext
from .export_rules import RULES

VERSIONS = {"ordinary": (19, 9), "wide": (21, 10)}
"""Operator set and the oldest format that may hold it; the wide one has 4 and 16 bits, blocks, and samples of
volumes."""

_IMAGE_RANK = 4

_LATER = {"cumprod": "CumProd needs operator set 26; written are 19 and 21, which more runtimes load"}
"""Why operators are not written that ONNX has."""


def export_model(graph: Graph) -> onnx.ModelProto:
    """Raises ``UNSUPPORTED_FEATURE`` that names the node where ONNX has no such operator: after integerization, layout
    or fusion; and where an extent is an argument: shapes inside are those of the bounds."""
    for extent in graph.argument_extents:
        reason = f"export: {extent.value} is chosen in a run"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, hint="--dim NAME=N fixes a dimension")
    graph = name_apart(graph)
    parts = list(all_graphs(graph))
    wide = any(_is_wide(node) for part in parts for node in part.nodes)
    proto, packed = _written(graph, wide)
    if packed and not wide:
        proto, wide = _written(graph, True)[0], True
    opset, ir_version = VERSIONS["wide" if wide else "ordinary"]
    domains = sorted({onnx_node(n.attrs).domain for part in parts for n in part.nodes if n.op == CUSTOM} - {""})
    imports = [helper.make_operatorsetid("", opset), *(helper.make_operatorsetid(domain, 1) for domain in domains)]
    return helper.make_model(
        proto, producer_name="ccml", producer_version=__version__, opset_imports=imports, ir_version=ir_version
    )


def _written(graph: Graph, wide: bool) -> tuple[onnx.GraphProto, set[str]]:
    """The graph, and its constants of 4 bits."""
    parts = all_graphs(graph)
    values = NameSupply(name for part in parts for name in (*(value.name for value in part.values()), *part.constants))
    packed: set[str] = set()
    dense, apart = _with_gaps(graph)
    proto = _Writer(values, NameSupply(), packed, wide).graph(dense, graph.inputs)
    _cut_to_extents(proto, graph, apart, values)
    return proto, packed


@record
class _Writer:
    """``values`` and ``names`` are of the whole model; ``packed`` and ``wide`` as in :class:`ExportContext`."""

    values: NameSupply
    names: NameSupply
    packed: set[str]
    wide: bool

    def graph(self, graph: Graph, inputs: Sequence[Value]) -> onnx.GraphProto:
        """``graph`` with these inputs; what else it reads is found in the graph around it."""
        nodes: list[onnx.NodeProto] = []
        constants = dict(graph.constants)
        for node in graph.nodes:
            context = ExportContext(node, graph, nodes, constants, self.values, self.names, self.packed, self.wide)
            rule = RULES.get(node.op)
            if node.op in BODIES:
                self._control(context)
            elif rule is None:
                raise context.unsupported(_LATER.get(node.op, f"ONNX has no operator {node.op}"))
            else:
                rule(context)
        read = {name for node in nodes for name in node.input} | {value.name for value in graph.outputs}
        read |= {value.name for node in graph.nodes if node.op in BODIES for value in node.operands}
        return helper.make_graph(
            nodes,
            graph.name,
            [_value_info(value) for value in inputs],
            [_value_info(value) for value in graph.outputs],
            [_initializer(name, array, name in self.packed) for name, array in constants.items() if name in read],
            value_info=[_value_info(value) for node in graph.nodes if node.op == CUSTOM for value in node.outputs],
        )

    def _control(self, context: ExportContext) -> None:
        if context.node.op == "if":
            then, orelse = (
                self.graph(_seeing(body, 0, context.node.operands[1:]), ()) for _, body in bodies_of(context.node)
            )
            condition = context.node.operands[0].name
            context.emit("If", [condition], context.outputs(), then_branch=then, else_branch=orelse)
        else:
            self._loop(context)

    def _loop(self, context: ExportContext) -> None:
        """A limit is the trip count, or bounds it."""
        node, states, limit = context.node, context.integer("states"), context.integer("limit")
        ((_, step),) = bodies_of(node)
        count, going = ("" if value is None else value.name for value in node.inputs[:2])
        if limit >= 0:
            most = context.constant(np.array(limit, np.int64), "limit")
            count = context.emit("Min", [count, most]) if count else most
        step = _seeing(step, 1 + states, node.operands[len(node.operands) - (len(step.inputs) - 1 - states) :])
        condition = Value(self.values.fresh("going"), TensorType(DType.BOOL, ()))
        inputs = (step.inputs[0], condition, *step.inputs[1 : 1 + states])
        body = self.graph(step, inputs)
        if not context.integer("tested"):
            on = self.values.fresh("going_on")
            body.node.append(helper.make_node("Identity", [condition.name], [on], name=self.names.fresh(on)))
            body.output.insert(0, _value_info(Value(on, condition.type)))
        first = [value.name for value in node.inputs[2 : 2 + states] if value is not None]
        context.emit("Loop", [count, going, *first], context.outputs(), body=body)


def _with_gaps(graph: Graph) -> tuple[Graph, dict[str, str]]:
    """``graph`` without what moves the elements of outputs together, whose extents a run tells, and by outputs the
    values with these elements apart."""
    apart: dict[str, str] = {}
    dropped: set[str] = set()
    for value in graph.outputs:
        dense = graph.producer(value.name) if axes_of(graph.extents, value.name) else None
        packed = None if dense is None or dense.op != "reshape" else graph.producer(dense.operands[0].name)
        if dense is not None and packed is not None and packed.op == "pack":
            apart[value.name] = packed.operands[0].name
            dropped |= {value.name, packed.output.name}
    return graph.with_nodes(node for node in graph.nodes if node.outputs[0].name not in dropped), apart


def _cut_to_extents(proto: onnx.GraphProto, graph: Graph, apart: Mapping[str, str], values: NameSupply) -> None:
    """Outputs have the shapes that a run tells; the extents, which are outputs of their own, show in these."""
    counts = {extent.value for extent in graph.extents}
    kept = [info for info in proto.output if info.name not in counts]
    for info in kept:
        extents = axes_of(graph.extents, info.name)
        if extents:
            _cut(proto, info, {axis: extent.value for axis, extent in extents.items()}, apart.get(info.name), values)
    del proto.output[:]
    proto.output.extend(kept)


def _cut(
    proto: onnx.GraphProto, info: onnx.ValueInfoProto, counts: Mapping[int, str], whole: str | None, values: NameSupply
) -> None:
    """The output ``info`` as the first elements along some axes of ``whole``, or of what had its name."""
    if whole is None:
        whole = values.fresh(f"{info.name}.whole")
        for node in proto.node:
            for names in (node.input, node.output):
                names[:] = [whole if name == info.name else name for name in names]
    zero, axes, one, ends = (values.fresh(f"{info.name}.{stem}") for stem in ("zero", "axes", "one", "ends"))
    numbers = {zero: [0] * len(counts), axes: sorted(counts), one: [1]}
    proto.initializer.extend(numpy_helper.from_array(np.array(n, np.int64), name) for name, n in numbers.items())
    parts = []
    for axis, count in sorted(counts.items()):
        parts.append(values.fresh(f"{info.name}.end"))
        proto.node.append(helper.make_node("Reshape", [count, one], [parts[-1]], name=parts[-1]))
        info.type.tensor_type.shape.dim[axis].dim_param = count
    proto.node.append(helper.make_node("Concat", parts, [ends], name=ends, axis=0))
    proto.node.append(helper.make_node("Slice", [whole, zero, ends, axes], [info.name], name=f"{info.name}/Slice"))


def _seeing(body: Graph, own: int, captured: Sequence[Value]) -> Graph:
    """``body`` with what follows its ``own`` inputs called as it is around it."""
    return rename(body, {v.name: outer.name for v, outer in zip(body.inputs[own:], captured, strict=True)})


def save_graph(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Writes :func:`export_model`'s result. Raises ``OUTPUT_FOLDER`` where the file cannot be written."""
    content = export_model(graph).SerializeToString(deterministic=True)
    try:
        Path(path).write_bytes(content)
    except OSError as problem:
        reason = f"cannot write the file: {problem.strerror or problem}"
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=str(path)) from problem


def _initializer(name: str, array: np.ndarray, packed: bool) -> onnx.TensorProto:
    """Packed: two elements a byte, the first in the low bits."""
    if not packed:
        return numpy_helper.from_array(array, name)
    flat = array.reshape(-1).astype(np.uint8)
    low, high = (np.resize(np.append(part, 0), -(-flat.size // 2)) for part in (flat[::2], flat[1::2]))
    content = ((low & 15) | (high << 4)).astype(np.uint8).tobytes()
    return onnx.TensorProto(name=name, data_type=onnx.TensorProto.INT4, dims=array.shape, raw_data=content)


def _is_wide(node: Node) -> bool:
    if node.op == "dequantize_blocks" or (node.op == "sample" and node.operands[0].type.rank > _IMAGE_RANK):
        return True
    stored = {"quantize": node.outputs, "dequantize": node.operands}.get(node.op, ())
    values = (*node.operands, *node.outputs)
    nibbles = any(value.dtype in (DType.I4, DType.U4) for value in values)
    return nibbles or any(value.dtype in (DType.I16, DType.U16) for value in stored)


def _value_info(value: Value) -> onnx.ValueInfoProto:
    assert value.dtype is not DType.INDEX
    return helper.make_tensor_value_info(value.name, ELEMENT_TYPES[value.dtype], value.shape)
