"""Damaged models end in a :class:`CcmlError` or in a graph that keeps its invariants; never in anything else."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError
from ccml.frontend_onnx import load_model
from onnx import helper, numpy_helper

from tests.frontend_onnx.backend_nodes import NodeTest, expected_to_pass, node_tests
from tests.frontend_onnx.graphs import Operand, checked_import, model, value

EXTREMES = [-(2**63), -(2**31), -100, -2, -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1, 2**31, 2**40, 2**62]


def small_model() -> bytes:
    """Convolution, quantization, a branch, shape arithmetic and a function."""
    rng = np.random.default_rng(0)
    twice = helper.make_function(
        "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 21)]
    )
    branch = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["r"], [name])], name, [], [helper.make_value_info(name, onnx.TypeProto())]
        )
        for name, op in (("then", "Relu"), ("else", "Neg"))
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[2, 1], pads=[1, 0, 1, 2], name="conv"),
        helper.make_node("QuantizeLinear", ["c", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("Shape", ["d"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"]),
        helper.make_node("Concat", ["n", "rest"], ["flat"], axis=0),
        helper.make_node("Reshape", ["d", "flat"], ["r"]),
        helper.make_node("Equal", ["n", "one"], ["single"]),
        helper.make_node("If", ["single"], ["i"], **branch),
        helper.make_node("Twice", ["i"], ["y"], domain="local"),
    ]
    constants: dict[str, Operand] = {
        "w": rng.standard_normal((3, 2, 3, 3)).astype(np.float32), "b": np.zeros(3, np.float32),
        "s": np.float32(0.1), "z": np.array(2, np.uint8), "zero": np.array([0]), "one": np.array([1]),
        "rest": np.array([-1]),
    }  # fmt: skip
    inputs = [value("x", [1, 2, 8, 8])]
    return model(nodes, inputs, ["y"], constants, functions=[twice], domains={"local": 1}).SerializeToString()


def attempt(proto: onnx.ModelProto) -> bool:
    """Whether it is imported; any other exception than CcmlError fails the test."""
    try:
        with np.errstate(all="ignore"):
            checked_import(proto)
    except CcmlError:
        return False
    return True


def test_the_undamaged_model_is_imported() -> None:
    assert attempt(onnx.ModelProto.FromString(small_model()))


def test_every_truncation(tmp_path: Path) -> None:
    content, path = small_model(), tmp_path / "m.onnx"
    for end in range(0, len(content), 3):
        path.write_bytes(content[:end])
        try:
            attempt(load_model(path))
        except CcmlError as error:
            assert str(error).startswith("[E10")


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits(tmp_path: Path, seed: int) -> None:
    rng, content, path = random.Random(seed), small_model(), tmp_path / "m.onnx"
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 1, 2, 8])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            attempt(load_model(path))
        except CcmlError as error:
            assert error.kind.code.startswith("E1")


@pytest.mark.parametrize("seed", range(4))
def test_extreme_parameters(seed: int) -> None:
    """Node tests of ONNX with attributes, shapes, types and operands replaced."""
    rng = random.Random(seed)
    known = sorted(expected_to_pass().keys() & node_tests().keys())
    imported = 0
    for _ in range(150):
        test = node_tests()[rng.choice(known)]
        proto = frozen_model(test, rng)
        for _ in range(rng.choice([1, 2])):
            damage(proto, rng)
        imported += attempt(proto)
    assert imported > 15


def frozen_model(test: NodeTest, rng: random.Random) -> onnx.ModelProto:
    """With most integer operands constant, as importer rules want them."""
    proto = onnx.ModelProto()
    proto.CopyFrom(test.model)
    for name, array in test.inputs.items():
        if array.dtype.kind in "iu" and rng.random() < 0.8:
            proto.graph.initializer.append(numpy_helper.from_array(array, name))
    return proto


def damage(proto: onnx.ModelProto, rng: random.Random) -> None:
    node, kind = rng.choice(proto.graph.node), rng.randrange(5)
    if kind < 2 and node.attribute:
        attribute = rng.choice(node.attribute)
        if attribute.type == onnx.AttributeProto.INT:
            attribute.i = rng.choice(EXTREMES)
        elif attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(EXTREMES)
    elif kind == 2 and proto.graph.initializer:
        tensor = rng.choice(proto.graph.initializer)
        array = numpy_helper.to_array(tensor).copy()
        if array.dtype == np.int64 and array.size:
            array.reshape(-1)[rng.randrange(array.size)] = rng.choice(EXTREMES)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    elif kind == 3 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(["", "nothing", *node.input])
    elif kind == 4 and proto.graph.input:
        kinds = proto.graph.input[0].type.tensor_type
        if kinds.shape.dim:
            rng.choice(kinds.shape.dim).dim_value = rng.choice([0, 1, 2, 5, 65536])
        kinds.elem_type = rng.choice([kinds.elem_type, 1, 3, 6, 7, 9, 10])
