"""Models that take images of multiples of a number only, compiled for a range of these, against ONNX Runtime."""

from __future__ import annotations

from itertools import product

import click
import numpy as np
import onnx
import pytest
from ccml.cli.parameter_types import NameValue
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import Range, import_model
from ccml.ir.graph_text import parse_graph, print_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.verification.c_model import CModel
from onnx import helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import Operand, model, value
from tests.tools import needs

N = helper.make_node
RNG = np.random.default_rng(3)
C: dict[str, Operand] = {
    "w1": RNG.standard_normal((4, 3, 3, 3)).astype(np.float32),
    "w2": RNG.standard_normal((4, 4, 3, 3)).astype(np.float32),
    "w3": RNG.standard_normal((4, 8, 3, 3)).astype(np.float32),
    "t": RNG.standard_normal((4, 4, 2, 2)).astype(np.float32), "rows": np.array([0, 4, -1]), "all": np.array([2]),
    "twice": np.array([1, 1, 2, 2], np.float32), "quarter": np.array([1, 1, 0.25, 0.25], np.float32),
}  # fmt: skip
DOWN = {"pads": [1, 1, 1, 1], "strides": [2, 2]}
FLOAT = onnx.TensorProto.FLOAT
MODELS: dict[str, list[onnx.NodeProto]] = {
    "U-Net": [
        N("Conv", ["x", "w1"], ["a"], **DOWN), N("Conv", ["a", "w2"], ["b"], **DOWN),
        N("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        N("Resize", ["c", "", "twice"], ["c2"], mode="nearest"), N("Concat", ["c2", "b"], ["d"], axis=1),
        N("Conv", ["d", "w3"], ["e"], pads=[1, 1, 1, 1]), N("ConvTranspose", ["e", "t"], ["f"], strides=[2, 2]),
        N("Add", ["f", "a"], ["y"]),
    ],
    "pyramid": [
        N("Conv", ["x", "w1"], ["a"], **DOWN), N("Conv", ["a", "w2"], ["b"], **DOWN),
        N("Conv", ["b", "w2"], ["c"], **DOWN),
        *(N("Reshape", [name, "rows"], [f"{name}r"]) for name in "abc"),
        N("Concat", ["ar", "br", "cr"], ["j"], axis=2), N("Softmax", ["j"], ["y"], axis=2),
    ],
    "parts of an image": [
        N("SpaceToDepth", ["x"], ["s"], blocksize=8), N("ReduceSum", ["s", "all"], ["y"]),
    ],
    "scales that are quotients of extents": [
        N("Conv", ["x", "w1"], ["a"], **DOWN), N("Conv", ["a", "w2"], ["b"], **DOWN),
        N("Shape", ["a"], ["wanted"]), N("Shape", ["b"], ["own"]), N("Cast", ["wanted"], ["fw"], to=FLOAT),
        N("Cast", ["own"], ["fo"], to=FLOAT), N("Div", ["fw", "fo"], ["scales"]),
        N("Resize", ["b", "", "scales"], ["c"], mode="nearest"), N("Add", ["a", "c"], ["y"]),
    ],
    "images made smaller": [
        N("Resize", ["x", "", "quarter"], ["s"], mode="linear"), N("Conv", ["s", "w1"], ["y"], pads=[1, 1, 1, 1]),
    ],
}  # fmt: skip
RANGES = {"h": Range(8, 40, 8), "w": Range(16, 32, 8)}


def made(name: str) -> onnx.ModelProto:
    nodes = MODELS[name]
    read = {operand for node in nodes for operand in node.input}
    return model(nodes, [value("x", [1, 3, "h", "w"])], ["y"], {key: array for key, array in C.items() if key in read})


def images(extents: tuple[int, int]) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(extents).standard_normal((1, 3, *extents)).astype(np.float32)}


@pytest.mark.parametrize("name", MODELS)
def test_every_multiple(name: str) -> None:
    proto = made(name)
    compiled = JitModel(lower_graph(optimize(import_model(proto, RANGES)), host_machine()))
    for extents in product(range(8, 41, 8), range(16, 33, 8)):
        feeds = images(extents)
        (wanted,), found = onnxruntime(proto, feeds), compiled.run(feeds)["y"]
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_an_error_names_multiples() -> None:
    with pytest.raises(CcmlError) as caught:
        import_model(made("U-Net"), {"h": Range(8, 40), "w": Range(16, 32)})
    assert "different extents" in caught.value.reason and "--dim h=32*1..7" in str(caught.value.hint)
    with pytest.raises(CcmlError) as caught:
        import_model(made("parts of an image"), {"h": Range(8, 40), "w": 16})
    assert "every extent" in caught.value.reason and "--dim h=32*1..7" in str(caught.value.hint)


@pytest.mark.parametrize("range_", [Range(8, 20, 8), Range(4, 16, 8), Range(8, 16, 0)])
def test_ends_are_multiples(range_: Range) -> None:
    with pytest.raises(CcmlError) as caught:
        import_model(made("U-Net"), {"h": range_, "w": 16})
    assert caught.value.kind is ErrorCode.BAD_OPTION and "multiples" in caught.value.reason


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("h=32*1..7", Range(32, 224, 32)), ("h=8*..2", Range(8, 16, 8)), ("h=4*0..2", Range(0, 8, 4)),
        ("h=1..7", Range(1, 7)),
    ],
)  # fmt: skip
def test_option(text: str, wanted: Range) -> None:
    assert NameValue().convert(text, None, None) == ("h", wanted)
    assert NameValue().convert(f"h={wanted}", None, None) == ("h", wanted)


@pytest.mark.parametrize("text", ["h=32*7", "h=*1..7", "h=0*1..7", "h=a*1..7", "h=2*3*1..7"])
def test_option_that_means_nothing(text: str) -> None:
    with pytest.raises(click.BadParameter):
        NameValue().convert(text, None, None)


def test_text_of_a_graph() -> None:
    graph = optimize(import_model(made("U-Net"), RANGES))
    text = print_graph(graph)
    assert "in 8 to 40 by 8" in text
    assert print_graph(parse_graph(text, constants=graph.constants)) == text


@needs("gcc")
def test_c_and_jit_refuse_what_is_no_multiple() -> None:
    machine, proto = host_machine(), made("U-Net")
    program = lower_graph(optimize(import_model(proto, RANGES)), machine)
    feeds = images((24, 16))
    for compiled in (CModel(program, machine, "gcc"), JitModel(program)):
        np.testing.assert_allclose(compiled.run(feeds)["y"], onnxruntime(proto, feeds)[0], rtol=1e-3, atol=1e-4)
        with pytest.raises(CcmlError) as caught:
            compiled.run(images((20, 16)))
        assert "not a multiple of 8" in caught.value.reason
