"""The shapes that a model says its values have: declared in the file, or found by ``onnx.shape_inference``.

Where an operand that decides an output's shape is computed at run time, the output's shape comes from here. It decides
how large the output is, never which memory is read: what depends on the operand's value is kept within its tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import helper, shape_inference

from ..ir.types import TensorType
from .skeleton import skeleton

Extents = tuple[int | None, ...]
"""A shape whose ``None`` are not known."""

_SAME_SHAPE = frozenset({
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Cast", "CastLike", "Ceil", "Celu",
    "Clip", "Cos", "Cosh", "CumProd", "CumSum", "DequantizeLinear", "Elu", "Erf", "Exp", "Floor", "Gelu",
    "HardSigmoid", "HardSwish", "Hardmax", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "LogSoftmax", "Mish",
    "Neg", "Not", "QuantizeLinear", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softmax", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu",
})  # fmt: skip
"""Operators whose result has the shape of their first operand."""

_BROADCAST = frozenset({
    "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
    "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
})  # fmt: skip
"""Operators whose result has the shape of an operand when all others are scalars."""


@dataclass
class Declared:
    """Shapes of the values of one graph or function body by their ONNX names.

    ``find`` is asked once, when the first shape is wanted. ``shape_of`` tells shapes that the importer knows already.
    """

    nodes: Sequence[onnx.NodeProto]
    find: Callable[[], Mapping[str, Extents]]
    shape_of: Callable[[str], Extents | None] = lambda name: None
    _found: dict[str, Extents] | None = field(default=None)

    def extents(self, name: str) -> Extents | None:
        """What is known of a value's shape; ``None`` where not even its rank is."""
        if self._found is None:
            self._found = dict(self.find())
            _backward(self.nodes, self._found, self.shape_of)
        return self._found.get(name)


def file_extents(infos: Iterable[onnx.ValueInfoProto], names: Mapping[str, int]) -> dict[str, Extents]:
    """The shapes that a file declares, with the extents of its symbolic dimensions."""
    found = {}
    for info in infos:
        if info.type.HasField("tensor_type") and info.type.tensor_type.HasField("shape"):
            found[info.name] = tuple(_extent(dim, names) for dim in info.type.tensor_type.shape.dim)
    return found


def _extent(dim: onnx.TensorShapeProto.Dimension, names: Mapping[str, int]) -> int | None:
    """Exporters write -1 for "unknown"."""
    if dim.WhichOneof("value") == "dim_value":
        return dim.dim_value if dim.dim_value >= 0 else None
    return names.get(dim.dim_param)


def model_extents(
    model: onnx.ModelProto, types: Mapping[str, TensorType], values: Mapping[str, object]
) -> dict[str, Extents]:
    """Shapes of the values of the model's graph when its inputs have these types: inferred, else as declared.

    ``values`` are those that are imported already. The inference names extents that it does not know. A declared extent
    of such a name holds wherever it stands.
    """
    graph = model.graph
    infos = [*graph.value_info, *graph.output]
    names = symbolic_extents(graph.input, types)
    declared = file_extents(infos, names)
    if model.functions:
        return declared  # the inference recurses into them without bounds
    bare = skeleton(model, types, values)
    first = _inferred(bare)
    for info in first:
        for dim, extent in zip(info.type.tensor_type.shape.dim, declared.get(info.name, ())):
            if extent is not None and dim.dim_param:
                names.setdefault(dim.dim_param, extent)
    found = declared | {name: _merged(e, declared.get(name)) for name, e in file_extents(first, names).items()}
    kept = {name for node in bare.graph.node for name in node.output}
    for info in [*bare.graph.value_info, *bare.graph.output]:
        if info.name in kept and info.name in found and info.type.tensor_type.elem_type:
            typed = helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, found[info.name])
            info.CopyFrom(typed)
    second = file_extents(_inferred(bare), names)
    return found | {name: _merged(extents, found.get(name)) for name, extents in second.items()}


def _inferred(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """What ONNX infers; nothing where it fails, as it does where the file contradicts itself."""
    try:
        graph = shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # of several classes
        return []
    return [*graph.value_info, *graph.output]


def symbolic_extents(inputs: Iterable[onnx.ValueInfoProto], types: Mapping[str, TensorType]) -> dict[str, int]:
    """The extents that the inputs' types give to their symbolic dimensions."""
    names = {}
    for info in inputs:
        if info.name in types:
            for dim, extent in zip(info.type.tensor_type.shape.dim, types[info.name].shape):
                if dim.dim_param:
                    names[dim.dim_param] = extent
    return names


def _merged(inferred: Extents, declared: Extents | None) -> Extents:
    if declared is None or len(declared) != len(inferred):
        return inferred
    return tuple(own if own is not None else other for own, other in zip(inferred, declared))


def _backward(
    nodes: Sequence[onnx.NodeProto], found: dict[str, Extents], shape_of: Callable[[str], Extents | None]
) -> None:
    """Adds operands that must have the shape of their node's result, the last nodes first."""
    scalars = {node.output[0] for node in nodes if node.op_type == "Constant" and node.output and _is_scalar(node)}
    ranks = dict[str, int]()
    for node in nodes:
        x = (found.get(node.input[0]) or shape_of(node.input[0])) if node.op_type == "Slice" and node.input else None
        if x is not None and node.output:
            ranks[node.output[0]] = len(x)
    for node in reversed(nodes):
        if not node.output or node.output[0] not in found or node.domain not in ("", "ai.onnx"):
            continue
        operands: list[str] = []
        if node.op_type in _BROADCAST:
            _ones([name for name in node.input if name not in scalars], found[node.output[0]], found, ranks)
        if node.op_type in _SAME_SHAPE:
            operands = list(node.input[:1])
        elif node.op_type in _BROADCAST:
            operands = [n for n in node.input if n not in scalars and () not in (found.get(n), shape_of(n))]
        if len(operands) == 1:
            found[operands[0]] = _merged(found.get(operands[0], found[node.output[0]]), found[node.output[0]])


def _ones(operands: Iterable[str], result: Extents, found: dict[str, Extents], ranks: Mapping[str, int]) -> None:
    """Adds that operands of a broadcast, whose ``ranks`` are known, have an extent of 1 where its result has."""
    for name in operands:
        own = found.get(name, (None,) * ranks.get(name, 0))
        behind = result[len(result) - len(own) :] if len(own) <= len(result) else (None,) * len(own)
        if own:
            found[name] = tuple(1 if extent is None and other == 1 else extent for extent, other in zip(own, behind))


def _is_scalar(node: onnx.NodeProto) -> bool:
    return any(a.name in ("value_int", "value_float") or (a.name == "value" and not a.t.dims) for a in node.attribute)
