"""The generator has a row for every supported operator, and rows know all attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from ccml.frontend_onnx.supported import supported_operators
from onnx import defs

from tests.fuzz.cases import single
from tests.fuzz.table import ROWS, operators, opsets


def test_every_supported_operator_has_a_row() -> None:
    """Whoever adds an operator writes how to make valid nodes of it."""
    assert set(ROWS) == {operator.name for operator in supported_operators()}


UNSET = {
    ("Cast", "round_mode"), ("CastLike", "round_mode"),  # of float8
    ("Constant", "sparse_value"), ("Constant", "value_string"), ("Constant", "value_strings"),  # strings: rows_strings
    ("GRU", "activation_alpha"), ("GRU", "activation_beta"), ("LSTM", "activation_alpha"),
    ("LSTM", "activation_beta"), ("RNN", "activation_alpha"), ("RNN", "activation_beta"),  # refused, but for defaults
    ("LSTM", "clip"),  # ONNX Runtime does not clip all that the operator's text names
    ("QuantizeLinear", "precision"), ("DequantizeLinear", "output_dtype"),  # no reference computes them
    ("TfIdfVectorizer", "pool_strings"),
    ("Scan", "scan_input_axes"), ("Scan", "scan_output_axes"),
}  # fmt: skip
"""Attributes that no row sets, and why."""


def _all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Nodes, and those of their bodies."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _all_nodes(attribute.g.node)


def test_rows_set_every_attribute() -> None:
    """Every attribute of an operator's newest definition is set in one of some cases."""
    missing = []
    for operator in operators():
        if "." in operator or not defs.has(operator):
            continue
        opset = max(opsets(operator))
        wanted = {name for name in defs.get_schema(operator, opset, "").attributes if (operator, name) not in UNSET}
        rows = (single(operator, seed) for seed in range(40))
        seen: set[str] = set()
        for case in rows:
            for node in _all_nodes(case.parts.nodes) if case is not None else ():
                if node.op_type == operator:
                    seen |= {attribute.name for attribute in node.attribute}
            if wanted <= seen:
                break
        missing += [f"{operator}.{name}" for name in sorted(wanted - seen)]
    assert not missing
