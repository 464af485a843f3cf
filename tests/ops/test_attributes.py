"""Attributes of operators: the rows name all that code reads, and what a row does not allow is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ccml
import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.ir.graph import AttrValue
from ccml.ir.graph_text import parse_graph
from ccml.ir.loops import Const, Type, Var
from ccml.ir.types import DType
from ccml.ir.verify import verify_graph
from ccml.ops import attributes
from ccml.ops.attributes import complaint
from ccml.ops.table import OPERATORS, OPS

from tests.ops.integer_recurrence import operands
from tests.ops.nest_harness import make_kernel, make_node
from tests.ops.test_table import SAMPLES, Sample, i

QUANTIZED = {"zero_point": 1, "y_scale": 0.5, "lo": -100, "hi": 100, "to": DType.I8}
BYTES = [i(2, 3, dtype=np.int8), i(2, 3, dtype=np.int8)]
INTEGER: dict[str, Sample] = {
    "requantize": ([i(2, 3), np.ones(3, np.float32)], QUANTIZED),
    "requantize_fixed": ([i(2, 3), i(3), i(3)], QUANTIZED),
    "lookup": ([i(2, 3, dtype=np.int8), i(256, dtype=np.int8)], {"zero_point": 1, "y_scale": 0.5}),
    "rescale": (BYTES, {**QUANTIZED, "m1": 3, "m2": 4, "bias": 5, "shift": 2}),
    "rescale_product": (BYTES, {**QUANTIZED, "z1": 1, "z2": 0, "m": 3, "bias": 5, "shift": 2}),
    "rescale_channels": ([i(2, 3, dtype=np.int8), i(3), i(3)], {**QUANTIZED, "shift": 2}),
    "rescale_sum": ([i(2, 3), i(3), i(3)], {**QUANTIZED, "shift": 2}),
    "int_softmax": (
        [i(2, 3, dtype=np.int8), i(256, low=1 << 20, high=1 << 22)],
        {"axis": 1, "step": 1 << 24, "shift": 5, "zero_point": 0, "y_scale": 1 / 256, "to": QUANTIZED["to"]},
    ),
    "int_normalize": (
        [i(2, 3, dtype=np.int8)],
        {**QUANTIZED, "axes": (1,), "mean": True, "x_zero_point": 0, "fraction": 8, "epsilon": 4, "factor": 1 << 20,
         "shift": 12},
    ),
    **{op: operands(op) for op in ("int_lstm", "int_gru", "int_rnn")},
}  # fmt: skip
PER_TENSOR = {op: SAMPLES[op][:1] for op in ("quantize", "dequantize")}
EVERY = {**SAMPLES, **PER_TENSOR, **{op: [sample] for op, sample in INTEGER.items()}}
"""Samples that can be lowered as they are."""


class Recorder(Mapping[str, AttrValue]):
    """Attributes that remember which names were asked for."""

    def __init__(self, attrs: Mapping[str, AttrValue]) -> None:
        self.attrs, self.asked = attrs, set[str]()

    def __getitem__(self, name: str) -> AttrValue:
        self.asked.add(name)
        return self.attrs[name]

    def __contains__(self, name: object) -> bool:
        return name in self.attrs

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.attrs else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.attrs)

    def __len__(self) -> int:
        return len(self.attrs)


def asked(op: str) -> set[str]:
    """Of inference, meaning and lowering."""
    found: set[str] = set()
    row = OPS[op]
    for arrays, attrs in EVERY[op]:
        record: Any = Recorder(attrs)
        with np.errstate(all="ignore"):
            row.evaluate(arrays, record)
        node = make_node(op, arrays, record)
        object.__setattr__(node, "attrs", record)
        if row.nest is not None and all(extent for value in node.operands for extent in value.shape):
            make_kernel(node)
        if row.index_map is not None:
            row.index_map(node, [Var(f"i{d}") for d in range(node.output.type.rank)])
        if row.scalar is not None and op != "lookup":
            row.scalar([Const(1, Type(v.dtype)) for v in node.operands], node, lambda stem, value: value)
        found |= record.asked
    return found


@pytest.mark.parametrize("op", EVERY)
def test_rows_name_what_their_code_reads(op: str) -> None:
    assert asked(op) <= OPS[op].attrs.keys()


def test_every_row_is_looked_at() -> None:
    assert EVERY.keys() == OPS.keys()


@pytest.mark.parametrize("op", EVERY)
def test_samples_have_the_attributes_of_the_row(op: str) -> None:
    for _, attrs in EVERY[op]:
        assert complaint(OPS[op].attrs, attrs) is None
        for name, attribute in OPS[op].attrs.items():
            without = {key: value for key, value in attrs.items() if key != name}
            assert (complaint(OPS[op].attrs, without) is None) == (not attribute.required)
            assert complaint(OPS[op].attrs, {**attrs, name: b"bytes"}) is not None  # type: ignore[dict-item]
        assert complaint(OPS[op].attrs, {**attrs, "colour": 1}) == "there is no attribute 'colour'"


def test_attributes_that_are_read_anywhere_have_a_row() -> None:
    """By the text of the code: ``attrs["axis"]``, ``attrs.get("axis")`` and ``ints(node.attrs, "axis")``."""
    root = Path(ccml.__file__).parent
    access = "|".join(("ints", "integer", "number", "text", "flag", "floats", "texts", "element_type", "subgraph"))
    assert all(hasattr(attributes, name) for name in access.split("|"))
    pattern = re.compile(rf'attrs\[\s*"(\w+)"\]|attrs\.get\("(\w+)"|\b(?:{access})\([\w.]*attrs, "(\w+)"\)')
    folders = ("ops", "passes", "schedule", "program", "quantization", "verification", "report")
    names = {
        next(filter(None, found))
        for folder in folders
        for path in (root / folder).rglob("*.py")
        for found in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert {"axis", "stride", "body", "acc_lo"} <= names
    assert names <= {name for row in OPS.values() for name in row.attrs}


REFUSED = [
    ("relu(%x) {axis=0}", "relu: there is no attribute 'axis'"),
    ("softmax(%x)", "softmax: the attribute 'axis' (int >= 0) is missing"),
    ("softmax(%x) {axis=0.0}", "softmax: the attribute 'axis' is 0.0, expected int >= 0"),
    ("softmax(%x) {axis=true}", "softmax: the attribute 'axis' is True, expected int >= 0"),
    ("softmax(%x) {axis=-1}", "softmax: the attribute 'axis' is -1, expected int >= 0"),
    ("reshape(%x) {shape=4}", "reshape: the attribute 'shape' is 4, expected ints >= 0"),
    ("reshape(%x) {shape=[4.0]}", "reshape: the attribute 'shape' is (4.0,), expected ints >= 0"),
    ("cast(%x) {to=\"f32\"}", "cast: the attribute 'to' is 'f32', expected element type"),
    ("clip(%x) {lo=0.0, hi=true}", "clip: the attribute 'hi' is True, expected number"),
    ("scatter(%x) {reduction=\"sub\"}", "scatter: the attribute 'reduction' is 'sub', expected none | add | mul"),
    ("normalize(%x) {axes=[0], epsilon=1}", "normalize: the attribute 'epsilon' is 1, expected float"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_what_a_row_does_not_allow(node: str, reason: str) -> None:
    text = f"graph g(%x: f32[4]) -> (%y)\n  %y : f32[4] = {node}\n"
    with pytest.raises(CcmlError) as refused:
        verify_graph(parse_graph(text), OPERATORS)
    assert refused.value.reason.startswith(f"G12: {reason}")
    with pytest.raises(CcmlError) as unread:
        parse_graph(text, table=OPERATORS)
    assert unread.value.reason.startswith(f"line 2: {reason}")


def test_the_parser_knows_operators() -> None:
    with pytest.raises(CcmlError, match="line 2: expected an operator, found 'swish'"):
        parse_graph("graph g(%x: f32[4]) -> (%y)\n  %y : f32[4] = swish(%x)\n", table=OPERATORS)
