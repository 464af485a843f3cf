"""Short ways to write ONNX models, and to run one through the importer and the meaning of the core operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.graph import Graph
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import OPERATORS
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import TensorProto, helper, numpy_helper

Operand = np.ndarray | np.generic


def value(
    name: str, shape: Sequence[int | str | None] | None, elem_type: int = TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, elem_type, shape)


def untyped(*names: str) -> list[onnx.ValueInfoProto]:
    """Outputs about which the model says nothing."""
    return [helper.make_value_info(name, onnx.TypeProto()) for name in names]


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    constants: Mapping[str, Operand] | None = None,
    opset: int = 21,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "g", list(inputs), untyped(*outputs), initializers)
    opsets = [helper.make_opsetid(domain, version) for domain, version in {"": opset, **(domains or {})}.items()]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def checked_import(proto: onnx.ModelProto, **options: Any) -> Graph:
    """Imports and verifies."""
    graph = import_model(proto, **options)
    verify_graph(graph, OPERATORS)
    return graph


def run(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray], **options: Any) -> list[np.ndarray]:
    """Imports, verifies and evaluates; the model's outputs in order."""
    graph = checked_import(proto, **options)
    values = evaluate_graph(graph, feeds)
    return [values[output.name] for output in graph.outputs]


def run_compiled(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray], **options: Any) -> list[np.ndarray]:
    """Imports, compiles for this machine and runs; the model's outputs in order, in the shapes that they have."""
    graph = optimize(checked_import(proto, **options))
    results = JitModel(lower_graph(graph, host_machine())).run(feeds)
    return [results[output.name] for output in graph.outputs if output.name in results]


def one_node(
    op_type: str, arrays: Sequence[Operand | None], opset: int, frozen: Sequence[int] = (), **attrs: Any
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of one node, and what to feed it with; the operands with the ``frozen`` numbers are initializers."""
    names = ["" if array is None else f"x{n}" for n, array in enumerate(arrays)]
    while names and not names[-1]:
        names.pop()
    given = {f"x{n}": np.asarray(array) for n, array in enumerate(arrays) if array is not None}
    feeds = {name: array for name, array in given.items() if int(name[1:]) not in frozen}
    inputs = [value(n, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for n, a in feeds.items()]
    outputs = [f"y{n}" for n in range(attrs.pop("outputs", 1))]
    node = helper.make_node(op_type, names, outputs, **attrs)
    return model([node], inputs, outputs, {n: a for n, a in given.items() if n not in feeds}, opset), feeds
