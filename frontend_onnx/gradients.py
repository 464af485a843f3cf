"""Gradient nodes (ai.onnx.preview.training) as the nodes that compute them: differentiation of a graph in reverse.

A Gradient node names tensors of the graph around it: ``xs`` and ``zs``, of which ``y`` is a function, and is given the
values at which the derivatives of ``y`` (of the sum of its elements) by ``xs`` are wanted. Where these are the tensors
themselves, the values in between are those of the graph; otherwise they are computed once more. See Griewank and
Walther, "Evaluating Derivatives", chapter 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from onnx import helper, shape_inference

from ..errors import CcmlError, ErrorCode
from ..ir.types import TensorType
from .derivatives import RULES, Tape

DOMAIN = "ai.onnx.preview.training"
MOST_NODES = 10_000
"""Nodes that gradients may add to a model."""
MOST_GRADIENTS = 64
"""Gradient nodes in a model: for each of them the shapes of all values are inferred, those of derivatives too."""


def without_gradients(model: onnx.ModelProto, types: Mapping[str, TensorType]) -> onnx.ModelProto:
    """``model`` with the nodes of its derivatives in place of Gradient; itself where it has none.

    ``types`` are those of the inputs. Raises ``UNSUPPORTED_FEATURE`` for operators whose derivative is not known, or
    where shapes in between are, and ``INVALID_MODEL`` where ``y`` is no function of tensors that are named.
    """
    wanted = sum(map(_is_gradient, model.graph.node))
    if not wanted:
        return model
    if wanted > MOST_GRADIENTS:
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"{wanted} Gradient nodes; up to {MOST_GRADIENTS} are supported")
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    opset = max((entry.version for entry in model.opset_import if not entry.domain), default=1)
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        if _is_gradient(node):
            tape = Tape(opset, _shapes(changed, nodes, types), prefix=f"{node.output[0] or node.name}/gradient")
            _differentiate(node, nodes, tape)
            nodes += tape.nodes
            changed.graph.initializer.extend(tape.constants)
        else:
            nodes.append(node)
        if len(nodes) > len(model.graph.node) + MOST_NODES:
            reason = f"gradients expand to more than {MOST_NODES} nodes"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=_place(node))
    del changed.graph.node[:]
    changed.graph.node.extend(nodes)
    return changed


def _is_gradient(node: onnx.NodeProto) -> bool:
    return node.domain == DOMAIN and node.op_type == "Gradient"


def _place(node: onnx.NodeProto) -> str:
    return node.name or "Gradient"


def _shapes(
    model: onnx.ModelProto, nodes: Sequence[onnx.NodeProto], types: Mapping[str, TensorType]
) -> dict[str, onnx.TypeProto.Tensor]:
    """Types of all values of a graph of ``nodes``, as far as ONNX infers them."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    del whole.graph.node[:], whole.graph.output[:]
    whole.graph.node.extend(nodes)
    for value in whole.graph.input:
        if value.name in types:
            dims = value.type.tensor_type.shape
            del dims.dim[:]
            dims.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=extent) for extent in types[value.name].shape)
    inferred = shape_inference.infer_shapes(whole, data_prop=True).graph
    found = {value.name: value.type.tensor_type for value in (*inferred.input, *inferred.value_info)}
    for tensor in model.graph.initializer:
        found[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims).tensor_type
    return found


def _differentiate(node: onnx.NodeProto, nodes: Sequence[onnx.NodeProto], tape: Tape) -> None:
    """Puts the nodes that compute the outputs of a Gradient ``node`` on the tape."""
    attributes = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    xs, zs = ([name.decode() for name in attributes.get(key, [])] for key in ("xs", "zs"))
    y = attributes["y"].decode() if "y" in attributes else ""
    given = dict(zip([*xs, *zs], node.input))
    if not xs or len(given) != len(node.input) or len(node.output) > len(xs):
        reason = "xs and zs do not name a tensor for each input, and xs one for each output"
        raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=_place(node))
    path = _between(y, given, nodes)
    if any(name != value for name, value in given.items()):
        path, names = tape.replayed(path, given)
        y = names.get(y, y)
    sums = _adjoints(y, path, {given[name] for name in xs}, tape, _place(node))
    for name, result in zip(xs, node.output):
        if result:
            found = sums.get(given[name]) or tape.zeros(given[name])
            tape.nodes.append(helper.make_node("Identity", [found], [result], f"{_place(node)}/{name}"))


def _between(y: str, given: Mapping[str, str], nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The nodes that make ``y`` of the ``given`` tensors and of constants, in order."""
    wanted, found = {y}, []
    for node in reversed(nodes):
        if wanted & set(node.output) - given.keys():
            found.append(node)
            wanted |= set(node.input)
    return found[::-1]


def _adjoints(
    y: str, path: Sequence[onnx.NodeProto], xs: set[str], tape: Tape, place: str
) -> dict[str, str]:
    """Tensor name -> the derivative of the sum of ``y`` by it, for all that depends on ``xs``."""
    dependent = set(xs)
    for node in path:
        if dependent & set(node.input):
            dependent |= set(node.output)
    sums: dict[str, str] = {}
    if y in dependent:
        sums[y] = tape.ones(y)
    for node in reversed(path):
        arriving = sums.get(node.output[0])
        if arriving is None:
            continue
        rule = RULES.get(node.op_type) if not node.domain else None
        if rule is None or any(name in sums for name in node.output[1:]):
            reason = f"no derivative of {node.op_type} is known; there are those of: {', '.join(sorted(RULES))}"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=place)
        for name, part in zip(node.input, rule(tape, node, arriving)):
            if part is not None and name in dependent:
                sums[name] = tape.node("Add", sums[name], part) if name in sums else part
    return sums
