"""Elementwise work on bytes of DSP cores: the bytes of the operators' meaning on every way."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph
from ccml.schedule.unsigned_lookups import look_up_unsigned
from ccml.targets import Machine, select

from tests.schedule.block_cases import BOARD, Route, by_c, by_objects
from tests.schedule.graphs import lookup_graph, random_inputs, sum_of_two_graph
from tests.tools import needs

M4 = select("cortex-m4")
GENERIC = select("generic")
PACKED = replace(GENERIC, cpu=replace(GENERIC.cpu, features=GENERIC.cpu.features | M4.cpu.features))
"""The C twins of the instructions on this machine."""


def product_graph(shape: tuple[int, ...], zeros: tuple[int, int]) -> Graph:
    x, r = (Value(name, TensorType(DType.I8, shape)) for name in ("x", "r"))
    builder = GraphBuilder(infer_types, NameSupply(["x", "r"]))
    attrs: dict[str, AttrValue] = {"m": 9639, "bias": 300_000, "shift": 20, "lo": -110, "hi": 127, "zero_point": 3}
    y = builder.emit1(
        "rescale_product", x, r, z1=zeros[0], z2=zeros[1], to=DType.I8, y_scale=0.1, **attrs
    )  # fmt: skip
    return fuse(Graph("g", (x, r), (y,), tuple(builder.nodes)))


def scaled_product_graph(
    shape: tuple[int, ...], zeros: tuple[int, int], scale: float, gate: tuple[int, ...] | None = None
) -> Graph:
    """A product that meets a float32 scale; the second operand may have a shape of its own."""
    shapes = (shape, shape if gate is None else gate)
    operands = [Value(name, TensorType(DType.I8, own)) for name, own in zip(("x", "r"), shapes, strict=True)]
    builder = GraphBuilder(infer_types, NameSupply(["x", "r"]))
    centred = []
    for value, zero in zip(operands, zeros, strict=True):
        wide = builder.emit1("cast", value, to=DType.I32)
        centred.append(builder.emit1("sub", wide, builder.constant(np.array(zero, np.int32))))
    ends = [end - zero for zero in zeros for end in (-128, 127)]
    products = [a * b for a in ends[:2] for b in ends[2:]]
    bounds: dict[str, AttrValue] = {"acc_lo": min(products), "acc_hi": max(products), "lo": -120, "hi": 127}
    y = builder.emit1(
        "requantize", builder.emit1("mul", *centred), builder.constant(np.array(scale, np.float32)), **bounds,
        zero_point=-7, to=DType.I8, y_scale=0.1,
    )  # fmt: skip
    return fuse(Graph("g", tuple(operands), (y,), tuple(builder.nodes), builder.constants))


def halves_graph(shape: tuple[int, ...]) -> Graph:
    """A concatenation of parts of several lengths: copies of neighbours."""
    values = [Value(name, TensorType(DType.I8, (*shape, extent))) for name, extent in (("x", 5), ("r", 19), ("s", 33))]
    builder = GraphBuilder(infer_types, NameSupply(["x", "r", "s"]))
    y = builder.emit1("concat", *values, axis=len(shape))
    return fuse(Graph("g", tuple(values), (y,), tuple(builder.nodes)))


GRAPHS = {
    "product": product_graph((3, 7, 5), (-128, 127)),
    "product, a zero point of zero": product_graph((64,), (0, -7)),
    "scaled product": scaled_product_graph((3, 7, 5), (-128, 127), 0.0147413835),
    "gates": scaled_product_graph((2, 3, 5, 36), (-3, 127), 0.00473, (2, 1, 1, 36)),
    "gates of all": scaled_product_graph((2, 3, 5, 8), (-3, 0), 0.00473, (8,)),
    "gates of whole rows": scaled_product_graph((2, 3, 4, 5), (-3, 0), 0.00473, (1, 3, 4, 5)),
    "gates in no words": scaled_product_graph((2, 3, 5, 7), (-3, 127), 0.00473, (2, 1, 1, 7)),
    "gates of rows and channels": scaled_product_graph((2, 3, 5, 8), (-3, 127), 0.00473, (1, 3, 1, 8)),
    "sum": sum_of_two_graph((2, 5, 13)),
    "few elements": sum_of_two_graph((7,)),
    "table": lookup_graph((3, 5, 7)),
    "concatenation": halves_graph((2, 3)),
}


@pytest.mark.parametrize(
    ("name", "machine", "route"),
    [
        *(pytest.param(name, PACKED, by_c, id=f"{name}, twin", marks=needs("gcc")) for name in GRAPHS),
        *(
            pytest.param(name, select(f"cortex-{core}"), route, id=f"{name}, {core} {route.__name__}", marks=BOARD)
            for name in ("product", "scaled product", "gates", "table", "concatenation")
            for core, route in (("m4", by_c), ("m4", by_objects), ("m55", by_c), ("m55", by_objects))
        ),
    ],
)
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    inputs = random_inputs(graph)
    found = route(lower_graph(graph, machine), machine, inputs, tmp_path)
    wanted = evaluate_graph(graph, inputs)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], wanted[value.name], value.name)


def test_what_is_packed() -> None:
    packed = {name for name, graph in GRAPHS.items() if lower_graph(graph, M4).calls[0].generator.startswith("packed")}
    gates = {"gates", "gates of all", "gates of whole rows"}
    assert packed == {"product", "product, a zero point of zero", "scaled product", "sum"} | gates


def test_tables_are_turned() -> None:
    """The same values, by the bits of a byte."""
    graph = GRAPHS["table"]
    turned = look_up_unsigned(graph)
    body = turned.nodes[0].attrs["body"]
    assert isinstance(body, Graph) and [node.op for node in body.nodes] == ["bitcast", "lookup"]
    inputs, name = random_inputs(graph), graph.outputs[0].name
    np.testing.assert_array_equal(evaluate_graph(turned, inputs)[name], evaluate_graph(graph, inputs)[name])


def test_upper_words_are_one_instruction_of_objects() -> None:
    """Of products with a constant, too, which LLVM by itself takes for two products of 32 bits."""
    x, r = (Value(name, TensorType(DType.I8, (4, 64))) for name in ("x", "r"))
    builder = GraphBuilder(infer_types, NameSupply(["x", "r"]))
    attrs: dict[str, AttrValue] = {"m": 126_626_152, "bias": -13, "shift": 1, "lo": -128, "hi": 127, "zero_point": 3}
    y = builder.emit1("rescale_product", x, r, z1=5, z2=-5, to=DType.I8, y_scale=0.1, upper=True, **attrs)
    graph = fuse(Graph("g", (x, r), (y,), tuple(builder.nodes)))
    text = emit_assembly(lower_graph(graph, M4), M4)
    assert re.search(r"\bsmm(ul|la)\b", text) and not re.search(r"\bumull\b|\bmla\b", text)
