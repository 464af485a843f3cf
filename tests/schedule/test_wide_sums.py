"""Contractions of halfwords by halfwords: the sums of their definition, in 64 bits, in digits and by SMLALD."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.steps import walk_calls
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.program.build import lower_graph
from ccml.schedule import generators
from ccml.schedule.kernel import KernelContext
from ccml.schedule.sums import DigitSums, LongSums, sums_of
from ccml.targets import Machine, select

from tests.artifacts.machines import GENERIC, X86, machine_id, runs_here
from tests.schedule.test_helium import M55, with_helium
from tests.schedule.test_staged import BLOCKS_FIRST, M4, Route, by_c, by_jit, by_objects, with_blocks
from tests.tools import needs


@dataclass(frozen=True)
class Layer:
    """``x`` by ``w`` of int16 (without a ``shift`` int8): a product of matrices, or a convolution (channels last)
    padded by ``pad``. Weights go up to ``largest``."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    shift: int
    zero: int = 0
    pad: int = 0
    group: int = 1
    dtype: DType = DType.I16
    largest: int = 32767
    bias: bool = True

    def arrays(self) -> dict[str, np.ndarray]:
        rng, limits = np.random.default_rng(4), np.iinfo(self.dtype.numpy)
        x = rng.integers(limits.min, limits.max, self.x, endpoint=True).astype(self.dtype.numpy)
        x.flat[0] = limits.min
        w = rng.integers(-self.largest - 1, self.largest, self.w, endpoint=True)
        w = w.astype(np.int16 if self.shift or self.largest > 127 else np.int8)
        w.flat[0] = -self.largest - 1
        columns = self.w[-1] if len(self.w) == 2 else self.w[0]
        bias = rng.integers(-(2 ** (29 + self.shift)), 2 ** (29 + self.shift), columns)
        found = {"x": x, "w": w, "b": bias if self.shift else bias.astype(np.int32)}
        return found if self.bias else {name: found[name] for name in ("x", "w")}

    def attrs(self) -> dict[str, AttrValue]:
        sums = {"zero_point": self.zero, "shift": self.shift} if self.shift else {"zero_point": self.zero}
        if len(self.w) == 2:
            return dict(sums)
        rank = len(self.w) - 2
        return {
            **sums, "stride": (1,) * rank, "pad": (self.pad,) * 2 * rank,
            "dilation": (1,) * rank, "group": self.group, "layout": "channels_last",
        }  # fmt: skip

    def graph(self) -> Graph:
        arrays = self.arrays()
        for array in arrays.values():
            array.flags.writeable = False
        values = [Value(name, TensorType(DType.from_numpy(a.dtype), a.shape)) for name, a in arrays.items()]
        inner = GraphBuilder(infer_types, NameSupply(list(arrays)))
        y = inner.emit1("matmul" if len(self.w) == 2 else "conv", *values, name="y", loc="anchor", **self.attrs())
        body = Graph("body", tuple(values), (y,), tuple(inner.nodes))
        node = Node("fused", body.inputs, (y,), {"body": body}, "layer")
        return Graph("model", (values[0],), (y,), (node,), {n: a for n, a in arrays.items() if n != "x"})

    def computed(self) -> Graph:
        """The same with ``w`` as an input."""
        graph = self.graph()
        values = {value.name: value for value in graph.nodes[0].operands}
        return replace(graph, inputs=(values["x"], values["w"]), constants={})

    def expected(self) -> np.ndarray:
        """From the definition, in Python's integers."""
        arrays = self.arrays()
        x, w = (arrays[name].astype(object) for name in ("x", "w"))
        bias = arrays["b"].astype(object) if self.bias else 0
        x = x - self.zero
        if len(self.w) == 2:
            total = x @ w + bias
        else:
            padded = np.pad(x, ((0, 0), (self.pad, self.pad), (self.pad, self.pad), (0, 0)), constant_values=0)
            count, height, width, depth = self.w
            rows, columns, part = padded.shape[1] - height + 1, padded.shape[2] - width + 1, count // self.group
            total = np.zeros((padded.shape[0], rows, columns, count), object)
            for r, c, o in np.ndindex(rows, columns, count):
                first = o // part * depth
                seen = padded[:, r : r + height, c : c + width, first : first + depth]
                total[:, r, c, o] = (seen * w[o]).sum(axis=(1, 2, 3))
            total = total + bias
        half = (1 << self.shift) >> 1
        return np.vectorize(lambda value: int(value) + half >> self.shift, otypes=[np.int64])(total).astype(np.int32)


LAYERS = {
    "product": Layer((5, 48), (48, 20), 7),
    "nothing whole": Layer((2, 3, 7), (7, 5), 5, zero=-300),
    "one of everything": Layer((1, 1), (1, 1), 6),
    "no bias": Layer((4, 9), (9, 17), 4, bias=False),
    "shift beyond a digit": Layer((3, 600), (600, 9), 9, largest=16000),
    "digits that need more than 32 bits": Layer((3, 2100), (2100, 6), 10),
    "bytes": Layer((4, 40), (40, 7), 6, zero=3, dtype=DType.I8),
    "convolution": Layer((1, 5, 6, 8), (10, 3, 3, 8), 7, pad=1),
    "odd channels": Layer((1, 4, 3, 3), (5, 3, 2, 3), 6, zero=77, pad=1),
    "groups": Layer((1, 4, 5, 12), (6, 3, 3, 4), 6, pad=1, group=3),
    "depthwise": Layer((1, 5, 5, 6), (6, 3, 3, 1), 6, pad=1, group=6),
}
BYTES = {
    "rows": Layer((6, 40), (40, 7), 0, zero=11, largest=127),
    "odd": Layer((5, 7), (7, 4), 0, zero=-300, largest=127),
    "padded": Layer((1, 5, 6, 1), (9, 3, 4, 1), 0, zero=1000, pad=1, largest=127),
    "channels in fours": Layer((1, 4, 3, 8), (6, 3, 3, 8), 0, pad=1, largest=127),
    "one pixel a row": Layer((1, 4, 3, 3), (5, 1, 3, 3), 0, zero=-5, largest=127),
    "weights of 4 bits": Layer((1, 3, 3, 32), (48, 3, 3, 32), 0, pad=1, largest=7),
    "one pixel": Layer((1, 70), (70, 13), 0, zero=-9, largest=126),
    "one pixel, a window": Layer((1, 3, 3, 5), (6, 3, 3, 5), 0, zero=100, largest=126),
    "one pixel, one product": Layer((1, 1), (1, 1), 0, largest=126, bias=False),
}
by_layer = pytest.mark.parametrize("layer", LAYERS.values(), ids=list(LAYERS))


@by_layer
def test_meaning(layer: Layer) -> None:
    found = evaluate_graph(layer.graph(), {"x": layer.arrays()["x"]})["y"]
    np.testing.assert_array_equal(found, layer.expected())


MACHINES = [pytest.param(each, marks=runs_here(each), id=machine_id(each)) for each in (GENERIC, *X86)]


@pytest.mark.parametrize("machine", MACHINES)
@by_layer
def test_in_process(layer: Layer, machine: Machine) -> None:
    found = JitModel(lower_graph(layer.graph(), machine), machine).run({"x": layer.arrays()["x"]})["y"]
    np.testing.assert_array_equal(found, layer.expected())


def by_route(layer: Layer, machine: Machine, route: Route, folder: Path) -> None:
    program = lower_graph(layer.graph(), machine)
    np.testing.assert_array_equal(route(program, machine, {"x": layer.arrays()["x"]}, folder), layer.expected())


FEW = pytest.mark.parametrize("name", ["nothing whole", "convolution", "depthwise"])


@pytest.mark.check
@needs("gcc")
@by_layer
def test_portable_c(layer: Layer, tmp_path: Path) -> None:
    by_route(layer, select("generic"), by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_layer
def test_emulated_cortex_m4(layer: Layer, route: Route, tmp_path: Path) -> None:
    by_route(layer, M4, route, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m55"])
@FEW
def test_other_cores(name: str, core: str, tmp_path: Path) -> None:
    by_route(LAYERS[name], select(core), by_c, tmp_path)


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("route", [by_c, by_objects])
@FEW
def test_arm64(name: str, route: Route, tmp_path: Path) -> None:
    by_route(LAYERS[name], select("linux-arm64"), route, tmp_path)


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize("machine", [with_blocks(), with_helium(), GENERIC], ids=["blocks", "helium", "generic"])
def test_weights_of_bytes_in_process(name: str, machine: Machine) -> None:
    layer = BYTES[name]
    with patch.object(generators, "GENERATORS", BLOCKS_FIRST):
        program = lower_graph(layer.graph(), machine)
    blocks = any(isinstance(stmt, Invoke) for kernel in program.kernels for stmt in walk_stmts(kernel.body))
    assert blocks is (machine is not GENERIC)
    np.testing.assert_array_equal(JitModel(program, machine).run({"x": layer.arrays()["x"]})["y"], layer.expected())


@pytest.mark.parametrize(
    "layer",
    [Layer((1, 70), (70, 13), 0, largest=127), Layer((1, 1200), (1200, 5), 0, largest=126)],
    ids=["a weight of -128", "sums beyond 32 bits without their bias"],
)
def test_pixels_whose_weights_do_not_fit_a_block(layer: Layer) -> None:
    program = lower_graph(layer.graph(), M4)
    assert not any(isinstance(stmt, Invoke) for kernel in program.kernels for stmt in walk_stmts(kernel.body))


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@pytest.mark.parametrize("machine", [M4, M55, select("cortex-m0plus")], ids=machine_id)
@pytest.mark.parametrize("name", BYTES)
def test_weights_of_bytes_on_cortex_m(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    with patch.object(generators, "GENERATORS", BLOCKS_FIRST):
        by_route(BYTES[name], machine, route, tmp_path)


@pytest.mark.parametrize(
    ("core", "columns", "blocks"),
    [
        ("m55", 7, False), ("m55", 8, True), ("m3", 47, False), ("m3", 48, True), ("m0plus", 13, False),
        ("m0plus", 16, True),
    ],
)
def test_blocks_where_they_are_worth_it(core: str, columns: int, blocks: bool) -> None:
    """Not for so few products that their code is more, nor so few channels on a Cortex-M3 that staging
    takes more."""
    program = lower_graph(Layer((1, 70), (70, columns), 0, largest=127).graph(), select(f"cortex-{core}"))
    assert any(isinstance(stmt, Invoke) for kernel in program.kernels for stmt in walk_stmts(kernel.body)) is blocks


PRODUCTS = {
    "whole": Layer((8, 32), (32, 16), 5, bias=False),
    "nothing whole": Layer((5, 7), (7, 13), 4, bias=False),
    "one of everything": Layer((1, 1), (1, 1), 1, bias=False),
    "batch on the left": Layer((2, 3, 9), (9, 4), 4, bias=False),
    "32 bits are enough": Layer((3, 1), (1, 5), 0, largest=32767, bias=False),
    "the deepest in digits": Layer((2, 510), (510, 3), 9, bias=False),
    "deeper than digits": Layer((2, 511), (511, 3), 9, bias=False),
}


def by_product(name: str, machine: Machine, route: Route, folder: Path) -> set[str]:
    layer = PRODUCTS[name]
    arrays = {key: array.astype(np.int16) for key, array in layer.arrays().items()}
    program = lower_graph(layer.computed(), machine)
    np.testing.assert_array_equal(route(program, machine, arrays, folder), layer.expected())
    return {call.generator for call in walk_calls(program.body)}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_computed_products_in_process(name: str, machine: Machine, tmp_path: Path) -> None:
    found = by_product(name, machine, by_jit, tmp_path)
    assert found == {"nest" if machine is GENERIC or name == "deeper than digits" else "halfword product"}


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("name", ["nothing whole", "batch on the left", "32 bits are enough"])
def test_computed_products_on_cortex_m(name: str, core: str, tmp_path: Path) -> None:
    assert by_product(name, select(core), by_c, tmp_path) == {"halfword product"}


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_computed_products_in_objects(core: str, tmp_path: Path) -> None:
    by_product("nothing whole", select(core), by_objects, tmp_path)


def sums(layer: Layer, machine: Machine) -> type:
    """How the kernel of a product adds up."""
    graph = layer.graph()
    ctx = KernelContext(graph.nodes[0], machine.cpu, {}, graph.constant)
    return type(sums_of(ctx, *_anchor(ctx)))


def _anchor(ctx: KernelContext) -> tuple[Node, np.ndarray]:
    node, weights = ctx.contraction
    assert weights is not None
    return node, weights[None]


def test_digits_where_vectors_add_up_in_32_bits_and_hold_their_sums() -> None:
    x86 = select("x86", cpu="x86-64-v3")
    assert sums(LAYERS["product"], x86) is DigitSums
    assert sums(LAYERS["digits that need more than 32 bits"], x86) is LongSums
    assert sums(LAYERS["product"], select("cortex-m4")) is LongSums
