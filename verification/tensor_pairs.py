"""What a quantized graph and its float graph have in common, tensor by tensor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import AttrValue, Graph, Node, Value
from ..ir.types import DType, TensorType
from ..ops.attributes import floats
from ..ops.opdef import Kind
from ..ops.quantization import evaluate_dequantize, evaluate_quantize
from ..ops.response import Response, response
from ..ops.table import OPS
from ..record import record

Arrays = Mapping[str, np.ndarray]

_LOCAL = "local:"


@record
class Encoding:
    """How a tensor is stored: the attributes of its ``dequantize`` node, with one scale and zero point."""

    dtype: DType
    attrs: Mapping[str, AttrValue]

    def real(self, stored: np.ndarray) -> np.ndarray:
        return evaluate_dequantize([stored], self.attrs)[0]

    def stored(self, x: np.ndarray) -> np.ndarray:
        return evaluate_quantize([x], {**self.attrs, "to": self.dtype})[0]

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """``x`` as it is after having been stored."""
        return self.real(self.stored(x))

    @property
    def step(self) -> float:
        """The distance of neighbours among the numbers that can be stored."""
        return floats(self.attrs, "scale")[0]

    @property
    def real_range(self) -> tuple[float, float]:
        """The least and the greatest number that can be stored."""
        limits = np.iinfo(self.dtype.numpy)
        least, greatest = self.real(np.array([limits.min, limits.max], self.dtype.numpy)).tolist()
        return least, greatest


@record
class Tensor:
    """A tensor that both models have: ``origin`` in the float graph, ``value`` in the quantized one, where ``made`` is
    its float form before it is stored. ``encoding`` is ``None`` for floats: outputs, and results of layers whose
    weights alone are stored. ``layer`` is the ONNX node that makes it (the contraction before an activation function),
    or the name of an input. ``response`` is what the float graph makes of an element, where that is a function."""

    origin: str
    value: str
    made: str
    layer: str
    encoding: Encoding | None
    response: Response | None = None

    def told_apart(self, x: np.ndarray) -> np.ndarray:
        """``x`` where it can be stored, or else up to where its readers tell one number from another."""
        if self.encoding is None or self.response is None or not x.size:
            return x
        low, high = self.encoding.real_range
        least, greatest = float(x.min()), float(x.max())
        if (low <= least and greatest <= high) or not self.response.is_finite(least, greatest):
            return x
        lowest, highest = self.response.limits(least, greatest)
        return np.clip(x, min(lowest, low), max(highest, high))

    def real(self, values: Arrays) -> np.ndarray:
        """Its float form among the values of the quantized model."""
        array = values[self.value]
        return array if self.encoding is None else self.encoding.real(array)


def common_tensors(original: Graph, quantized: Graph) -> list[Tensor]:
    """The stored tensors, the float results of stored weights and the float outputs of a quantized graph, in order,
    with those of the float graph.

    A tensor keeps its name in one of its three forms: before it is stored, stored, and read.
    """
    known, makers = {value.name for value in original.values()}, original.producers()
    readers = {node.operands[0].name: node for node in quantized.nodes if node.op == "dequantize"}
    producers = quantized.producers()
    found = []
    for value in quantized.inputs:
        if value.name in readers and value.dtype is not DType.F32:
            found.append(Tensor(value.name, value.name, value.name, value.name, _encoding(readers[value.name], value)))
    for node in quantized.nodes:
        if _weights_are_stored(node, producers) and node.output.name in makers:
            found.append(Tensor(node.output.name, node.output.name, node.output.name, node.output.name, None))
        if node.op != "quantize":
            continue
        made, stored = node.operands[0], node.output
        read = [readers[stored.name].output.name] if stored.name in readers else []
        origin = next((name for name in (made.name, stored.name, *read) if name in known), None)
        if origin is not None and not _is_moved(node, producers):
            found.append(Tensor(origin, stored.name, made.name, origin, _encoding(node, stored)))
    origins = {tensor.origin for tensor in found}
    for value in quantized.outputs:
        if value.name not in origins and value.dtype is DType.F32 and value.name in makers:
            found.append(Tensor(value.name, value.name, value.name, value.name, None))
    return [
        replace(tensor, layer=_anchor(tensor.origin, makers, origins), response=_response(original, tensor, origins))
        for tensor in found
    ]


def _response(original: Graph, tensor: Tensor, stored: Collection[str]) -> Response | None:
    """Of a stored tensor, up to the next stored tensors."""
    if tensor.encoding is None:
        return None
    return response(original, [tensor.origin], lambda node: True, lambda name: name not in stored)


def _weights_are_stored(node: Node, producers: Mapping[str, Node]) -> bool:
    """Whether weights are, and the operand is not."""
    if node.op != "matmul":
        return False
    x, w = (producers.get(value.name) for value in node.operands[:2])
    stored = w is not None and w.op in ("dequantize", "dequantize_blocks")
    return stored and (x is None or x.op != "dequantize")


def _anchor(name: str, makers: Mapping[str, Node], stored: Collection[str]) -> str:
    """The name of the layer that makes a tensor: the contraction before an activation function, say."""
    while name in makers:
        sources = [value.name for value in makers[name].operands if value.name in makers]
        through = OPS[makers[name].op].kind is Kind.POINTWISE and len(sources) == 1 and sources[0] not in stored
        if not through:
            return makers[name].loc or name
        (name,) = sources
    return name


def _is_moved(quantize: Node, producers: Mapping[str, Node]) -> bool:
    """Whether only elements of another stored tensor are stored again, as they are."""
    mover = producers.get(quantize.operands[0].name)
    if mover is None or OPS[mover.op].kind is not Kind.VIEW:
        return False
    sources = [producers.get(value.name) for value in mover.operands]
    return all(
        source is not None and source.op == "dequantize"
        and all(source.attrs[name] == quantize.attrs[name] for name in ("scale", "zero_point"))
        for source in sources
    )  # fmt: skip


def _encoding(node: Node, stored: Value) -> Encoding:
    return Encoding(stored.dtype, {name: node.attrs[name] for name in ("scale", "zero_point", "axis")})


def local_graph(original: Graph, quantized: Graph, tensors: Iterable[Tensor]) -> tuple[Graph, dict[str, str]]:
    """The float graph, and beside it each layer with quantized weights, reading the float graph's tensors.

    Returned with it are the names under which the results of these layers stand, by the tensor's ``origin``.
    """
    floats = {value.name: value for value in original.values()}
    stored = {tensor.value: tensor for tensor in tensors if tensor.encoding is not None}
    stands_for = {value.name: floats[value.name] for value in quantized.inputs if value.name in floats}
    unstored = {tensor.made: floats[tensor.origin] for tensor in tensors if tensor.encoding is None}
    local: dict[str, Value] = {}
    steps = {name: tensor.encoding.step for name, tensor in stored.items() if tensor.encoding is not None}
    nodes = list(original.nodes)
    constants = {**original.constants, **{_LOCAL + name: array for name, array in quantized.constants.items()}}
    for node in quantized.nodes:
        if node.op == "dequantize" and node.operands[0].name in quantized.constants:
            array = quantized.constants[node.operands[0].name]
            constants[_LOCAL + node.output.name] = _frozen(evaluate_dequantize([array], node.attrs)[0])
        elif node.op == "quantize":
            name = node.output.name
            steps.setdefault(name, _step(node))
            stands_for[name] = floats[stored[name].origin] if name in stored else _local(node.operands[0], stands_for)
        elif node.op == "dequantize" and node.operands[0].name in steps:
            value = _local(node.operands[0], stands_for)
            factor = _step(node) / steps[node.operands[0].name]
            if factor != 1.0:
                number = Value(f"{_LOCAL}{node.output.name}.factor", TensorType(DType.F32, ()))
                constants[number.name] = _frozen(np.asarray(factor, np.float32))
                nodes.append(Node("mul", (value, number), (replace(node.output, name=_LOCAL + node.output.name),)))
                value = nodes[-1].output
            stands_for[node.output.name] = value
        else:
            outputs = tuple(replace(value, name=_LOCAL + value.name) for value in node.outputs)
            inputs = tuple(None if value is None else _local(value, stands_for) for value in node.inputs)
            for old, new in zip(node.outputs, outputs):
                if old.name in unstored:
                    local[unstored[old.name].name] = new
                stands_for[old.name] = unstored.get(old.name, new)
            nodes.append(replace(node, inputs=inputs, outputs=outputs))
    made = {tensor.origin: stands_for[tensor.made] for tensor in tensors if tensor.made in stands_for}
    local.update((origin, value) for origin, value in made.items() if value.name.startswith(_LOCAL))
    graph = Graph(original.name, original.inputs, tuple(local.values()), tuple(nodes), constants)
    return graph, {origin: value.name for origin, value in local.items()}


def _step(node: Node) -> float:
    return floats(node.attrs, "scale")[0]


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _local(value: Value, stands_for: Mapping[str, Value]) -> Value:
    return stands_for[value.name] if value.name in stands_for else replace(value, name=_LOCAL + value.name)
