"""Custom operators for the ONNX reference evaluator: by the user's Python function, else by the C on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import inliner

from ..custom_ops.attributes import onnx_node, result_types
from ..custom_ops.meaning import evaluate_custom
from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph, Node
from ..ir.types import DType
from ..ops.control import all_graphs
from ..ops.custom import CUSTOM

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun

log = logging.getLogger(__name__)


def custom_operators(graph: Graph) -> list[type[OpRun]]:
    """The operators of all ``custom`` nodes in an import. Warns of those that have no Python function: that they are
    wrong is then not found."""
    found: dict[tuple[str, str], list[Node]] = {}
    for part in all_graphs(graph):
        for node in part.nodes:
            if node.op == CUSTOM:
                proto = onnx_node(node.attrs)
                found.setdefault((proto.domain, proto.op_type), []).append(node)
    without = (node for nodes in found.values() for node in nodes if not node.attrs["meaning"])
    by_c = sorted({str(node.attrs["operator"]) for node in without})
    if by_c:
        log.warning("%s: its reference is the same C, compiled for this machine", ", ".join(by_c))
    return [_operator(*key, nodes) for key, nodes in found.items()]


def prepared(model: onnx.ModelProto, operators: Sequence[type[OpRun]]) -> onnx.ModelProto:
    """The model as the evaluator can run it with these operators: functions expanded, in which it would not know them,
    and with versions for their domains, which files may lack."""
    if not operators:
        return model
    whole = inliner.inline_local_functions(model) if model.functions else model
    missing = {operator.op_domain for operator in operators} - {"", *(entry.domain for entry in whole.opset_import)}
    if missing:
        whole = onnx.ModelProto.FromString(whole.SerializeToString())
        whole.opset_import.extend(onnx.helper.make_opsetid(domain, 1) for domain in sorted(missing))
    return whole


def _operator(domain: str, op_type: str, nodes: Sequence[Node]) -> type[OpRun]:
    from onnx.reference.op_run import OpRun

    def run(self: OpRun, *inputs: np.ndarray | None, **_: Any) -> tuple[np.ndarray, ...]:
        node = _node_for(nodes, inputs, self.onnx_node)
        given = [*inputs, *[None] * (len(node.inputs) - len(inputs))]
        made: Iterator[np.ndarray] = iter(evaluate_custom(given, node.attrs))
        results = [np.zeros(0, np.float32) if type_ is None else next(made) for type_ in result_types(node.attrs)]
        return tuple(results[: len(self.onnx_node.output)])

    return type(op_type, (OpRun,), {"op_domain": domain, "_run": run})


def _node_for(nodes: Sequence[Node], inputs: Sequence[np.ndarray | None], proto: onnx.NodeProto) -> Node:
    """The node of the import with these operands' types and these attributes (as far as they are not a function's)."""
    types = [None if array is None else (DType.from_numpy(array.dtype), array.shape) for array in inputs]
    fixed = {a.name: a.SerializeToString() for a in proto.attribute if not a.ref_attr_name}
    there = [bool(name) for name in proto.output]
    for node in nodes:
        own = [None if value is None else (value.dtype, value.shape) for value in node.inputs]
        results = [type_ is not None for type_ in result_types(node.attrs)]
        attributes = {a.name: a.SerializeToString() for a in onnx_node(node.attrs).attribute}
        operands = types + [None] * (len(own) - len(types))
        outputs = there + [False] * (len(results) - len(there))
        if own == operands and results == outputs and fixed.items() <= attributes.items():
            return node
    reason = f"no node of {nodes[0].attrs['operator']} has operands like those of the reference"
    raise CcmlError(ErrorCode.MISMATCH, reason, loc=proto.name or None)
