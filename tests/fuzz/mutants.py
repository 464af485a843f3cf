"""Damaged models: bits, structure, sizes, names. Most are invalid; all have to end in a result or in an error."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests.fuzz.cases import graph, single
from tests.fuzz.table import operators

EXTREMES = [-(2**63), -(2**31), -1000, -2, -1, 0, 1, 2, 3, 7, 65, 1000, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1]
_FLOATS = [0.0, -1.0, 1e-45, 1e38, -1e38, float("nan"), float("inf"), 0.5, 3.7]
_NAMES = ["", "x" * 5000, "a b", "\u202etxt", "*/", "nothing", "0", "\n"]
_KINDS = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 22, 99]


def mutant(seed: int) -> bytes:
    """A damaged model file."""
    rng = random.Random(seed)
    proto = onnx.ModelProto()
    proto.CopyFrom(_original(rng.randrange(_ORIGINALS)))
    if rng.random() < 0.25:
        return _damaged_bytes(proto.SerializeToString(), rng)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        with suppress(Exception):  # nothing there to damage, or onnx and protobuf refuse it
            rng.choice(_MUTATIONS)(proto, rng)
    return proto.SerializeToString()


_ORIGINALS = 400


@lru_cache(maxsize=_ORIGINALS)
def _original(number: int) -> onnx.ModelProto:
    """A valid model: of one operator mostly."""
    names = operators()
    case = graph(number) if number % 10 == 0 else single(names[number * 7 % len(names)], number)
    if case is None:
        return _original(number + 1)
    return case.parts.model(case.opset)


def _damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    if rng.random() < 0.2:
        return bytes(damaged[: rng.randrange(len(damaged))])
    if rng.random() < 0.1:
        place = rng.randrange(len(damaged))
        damaged[place:place] = rng.randbytes(rng.randrange(1, 30))
        return bytes(damaged)
    for _ in range(rng.choice([1, 1, 2, 8])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _node(proto: onnx.ModelProto, rng: random.Random) -> onnx.NodeProto:
    return rng.choice(proto.graph.node)


def _attribute(proto: onnx.ModelProto, rng: random.Random) -> None:
    attribute = rng.choice(_node(proto, rng).attribute)
    if attribute.type == AttributeProto.INT:
        attribute.i = rng.choice(EXTREMES)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = rng.choice(_FLOATS)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = rng.choice([b"", b"x", b"\xff\xfe", b"SAME_UPPER", b"linear", b"reverse", b"ij,jk->ik"])
    elif attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(EXTREMES)
    elif attribute.type == AttributeProto.INTS:
        attribute.ints.append(rng.choice(EXTREMES))


def _attribute_count(proto: onnx.ModelProto, rng: random.Random) -> None:
    node = _node(proto, rng)
    attribute = rng.choice(node.attribute)
    which = rng.randrange(4)
    if which == 0:
        node.attribute.remove(attribute)
    elif which == 1 and attribute.ints:
        attribute.ints.append(rng.choice(EXTREMES))
    elif which == 2 and attribute.ints:
        attribute.ints.pop()
    else:
        attribute.type = rng.choice([1, 2, 3, 4, 5, 6, 7, 8])


def _attribute_of_another(proto: onnx.ModelProto, rng: random.Random) -> None:
    name = rng.choice(["axis", "axes", "keepdims", "perm", "to", "group", "kernel_shape", "pads", "auto_pad", "mode"])
    value = rng.choice([rng.choice(EXTREMES), [rng.choice(EXTREMES)] * rng.randrange(1, 5), 0.5, "x"])
    node = _node(proto, rng)
    for attribute in [own for own in node.attribute if own.name == name]:
        node.attribute.remove(attribute)
    node.attribute.append(helper.make_attribute(name, value))


def _operator(proto: onnx.ModelProto, rng: random.Random) -> None:
    name = rng.choice(operators())
    domain, _, op_type = name.rpartition(".")
    node = _node(proto, rng)
    node.op_type, node.domain = op_type, domain


def _operands(proto: onnx.ModelProto, rng: random.Random) -> None:
    node, known = _node(proto, rng), [*proto.graph.node[0].input, *proto.graph.node[0].output, "nothing", ""]
    which = rng.randrange(4)
    if which == 0:
        node.input[rng.randrange(len(node.input))] = rng.choice(known)
    elif which == 1:
        node.input.append(rng.choice(known))
    elif which == 2:
        node.input.pop()
    else:
        node.output.append(rng.choice([*known, "more"]))


def _elements(proto: onnx.ModelProto, rng: random.Random) -> None:
    """Of an initializer: shapes, axes and the like become extreme."""
    tensor = rng.choice(proto.graph.initializer)
    array = numpy_helper.to_array(tensor).copy()
    flat = array.reshape(-1)
    place = rng.randrange(flat.size)
    if array.dtype.kind == "f":
        flat[place] = rng.choice(_FLOATS)
    else:
        info = np.iinfo(array.dtype)
        flat[place] = min(max(rng.choice(EXTREMES), info.min), info.max)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _stored_shape(proto: onnx.ModelProto, rng: random.Random) -> None:
    tensor = rng.choice(proto.graph.initializer)
    which = rng.randrange(4)
    if which == 0:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(EXTREMES)
    elif which == 1:
        tensor.dims.extend([1] * rng.choice([1, 70]))
    elif which == 2:
        tensor.data_type = rng.choice(_KINDS)
    else:
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=rng.choice(["../x", "/etc/passwd", "x", "", "."]))


def _declared_type(proto: onnx.ModelProto, rng: random.Random) -> None:
    value = rng.choice([*proto.graph.input, *proto.graph.output])
    kind = value.type.tensor_type
    which = rng.randrange(4)
    if which == 0:
        kind.elem_type = rng.choice(_KINDS)
    elif which == 1:
        rng.choice(kind.shape.dim).dim_value = rng.choice([0, 1, 2, 5, 70000, *EXTREMES])
    elif which == 2:
        for _ in range(rng.choice([1, 1, 66])):
            kind.shape.dim.add().dim_value = rng.choice([1, 2])
    else:
        value.type.Clear()


def _rank(proto: onnx.ModelProto, rng: random.Random) -> None:
    """Another rank or extent of an input, which stays valid for many operators."""
    kind = rng.choice(proto.graph.input).type.tensor_type
    if rng.random() < 0.5:
        del kind.shape.dim[rng.randrange(len(kind.shape.dim))]
    else:
        rng.choice(kind.shape.dim).dim_value = rng.choice([0, 1, 2, 3, 4, 6, 17])


def _names(proto: onnx.ModelProto, rng: random.Random) -> None:
    which, name = rng.randrange(4), rng.choice(_NAMES)
    if which == 0:
        rng.choice([*proto.graph.input, *proto.graph.output, *proto.graph.initializer]).name = name
    elif which == 1:
        node = _node(proto, rng)
        node.output[rng.randrange(len(node.output))] = name
    elif which == 2:
        _node(proto, rng).name = name
    else:
        old = rng.choice(proto.graph.input).name
        content = proto.SerializeToString()
        if len(name.encode()) == len(old.encode()):
            proto.ParseFromString(content.replace(old.encode(), name.encode()))


def _arrangement(proto: onnx.ModelProto, rng: random.Random) -> None:
    nodes = list(proto.graph.node)
    which = rng.randrange(4)
    if which == 0:
        rng.shuffle(nodes)
    elif which == 1:
        nodes.remove(rng.choice(nodes))
    elif which == 2:
        nodes.append(rng.choice(nodes))
    else:
        first, second = rng.choice(nodes), rng.choice(nodes)
        first.input[0], second.output[0] = second.output[0], first.input[0]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del proto.graph.node[:]
    proto.graph.node.extend(copies)


def _opset(proto: onnx.ModelProto, rng: random.Random) -> None:
    entry = rng.choice(proto.opset_import)
    entry.version = rng.choice([0, 1, 5, 7, 9, 11, 13, 18, 21, 28, 29, 2**40])


def _frozen(proto: onnx.ModelProto, rng: random.Random) -> None:
    """An input becomes a constant with extreme elements."""
    value = rng.choice(proto.graph.input)
    kind = value.type.tensor_type
    shape = [min(max(dim.dim_value, 0), 8) for dim in kind.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    array = np.full(shape, rng.choice([0, 1, 2, 127])).astype(dtype)
    proto.graph.initializer.append(numpy_helper.from_array(array, value.name))
    proto.graph.input.remove(value)


_MUTATIONS: tuple[Callable[[onnx.ModelProto, random.Random], None], ...] = (
    _attribute, _attribute, _attribute, _attribute_count, _attribute_of_another, _operator, _operands, _operands,
    _elements, _elements, _stored_shape, _declared_type, _rank, _rank, _names, _arrangement, _opset, _frozen,
)  # fmt: skip
