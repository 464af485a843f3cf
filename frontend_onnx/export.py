"""Graph -> ModelProto: a ``channels_first`` graph of float operators, quantize and dequantize as standard ONNX.

What other runtimes load after quantization, and what Netron shows. Values keep their names; a node is named after its
``loc``. Importing the result gives a graph with the same meaning.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .. import __version__
from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph, NameSupply, Node, Value
from ..ir.types import DType
from .export_context import ELEMENT_TYPES, ExportContext
from .export_rules import RULES

VERSIONS = {"ordinary": (19, 9), "wide": (21, 10)}
"""Operator set and the oldest format that may hold it; the wide one has QuantizeLinear to 16 bits, and blocks."""


def export_model(graph: Graph) -> onnx.ModelProto:
    """Raises ``UNSUPPORTED_FEATURE`` that names the node where ONNX has no such operator: after integerization, layout
    or fusion."""
    values = NameSupply.of(graph)
    nodes: list[onnx.NodeProto] = []
    constants = dict(graph.constants)
    names = NameSupply()
    packed: set[str] = set()
    for node in graph.nodes:
        rule = RULES.get(node.op)
        context = ExportContext(node, graph, nodes, constants, values, names, packed)
        if rule is None:
            raise context.unsupported(f"ONNX has no operator {node.op}")
        rule(context)
    read = {name for node in nodes for name in node.input} | {value.name for value in graph.outputs}
    proto = helper.make_graph(
        nodes,
        graph.name,
        [_value_info(value) for value in graph.inputs],
        [_value_info(value) for value in graph.outputs],
        [_initializer(name, array, name in packed) for name, array in constants.items() if name in read],
    )
    opset, ir_version = VERSIONS["wide" if any(_is_wide(node) for node in graph.nodes) else "ordinary"]
    imports = [helper.make_operatorsetid("", opset)]
    return helper.make_model(
        proto, producer_name="ccml", producer_version=__version__, opset_imports=imports, ir_version=ir_version
    )


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
    if node.op == "dequantize_blocks":
        return True
    stored = {"quantize": node.outputs, "dequantize": node.operands}.get(node.op, ())
    return any(value.dtype in (DType.I16, DType.U16) for value in stored)


def _value_info(value: Value) -> onnx.ValueInfoProto:
    assert value.dtype is not DType.INDEX
    return helper.make_tensor_value_info(value.name, ELEMENT_TYPES[value.dtype], value.shape)
