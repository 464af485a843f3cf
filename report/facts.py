"""What an ONNX file says of itself, before ccml has any opinion on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import onnx

from ..record import record


@record
class ModelFacts:
    """``interface`` rows are (input or output, name, type, shape). ``operators`` counts nodes, subgraphs included."""

    file: str
    opsets: str
    producer: str
    interface: list[tuple[str, str, str, str]]
    operators: dict[str, int]


def model_facts(model: onnx.ModelProto, file: str) -> ModelFacts:
    given = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in given]
    sides = [("input", value) for value in inputs] + [("output", value) for value in model.graph.output]
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    counts = Counter(_operators(nodes))
    return ModelFacts(
        file=file,
        opsets=", ".join(f"{opset.domain or 'ai.onnx'} {opset.version}" for opset in model.opset_import),
        producer=f"{model.producer_name} {model.producer_version}".strip() or "not said",
        interface=[(side, value.name, *_type(value)) for side, value in sides],
        operators=dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))),
    )


def _operators(nodes: list[onnx.NodeProto]) -> Iterator[str]:
    for node in nodes:
        yield node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _operators(list(graph.node))


def _type(value: onnx.ValueInfoProto) -> tuple[str, str]:
    if not value.type.HasField("tensor_type"):
        return value.type.WhichOneof("value") or "?", "?"
    tensor = value.type.tensor_type
    names = onnx.TensorProto.DataType.items()
    dtype = next((name.lower() for name, number in names if number == tensor.elem_type), "?")
    if not tensor.HasField("shape"):
        return dtype, "?"
    dims = [dim.dim_param or (str(dim.dim_value) if dim.HasField("dim_value") else "?") for dim in tensor.shape.dim]
    return dtype, "x".join(dims) or "scalar"
