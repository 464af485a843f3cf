"""Attributes that a model leaves out have the values of the operators' schemas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from ccml.driver import import_source
from ccml.frontend_onnx.context import NodeContext
from onnx import defs, helper

from tests.fuzz.cases import single
from tests.fuzz.table import operators

_DOMAINS = ("", "ai.onnx.preview.training")
_PER_DIRECTION = ("RNN", "activations")
"""The schema's default is that of two directions."""


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[tuple[str, int, str], object]]:
    """What the rules take for attributes that are not there, by operator, version and name."""
    taken: dict[tuple[str, int, str], object] = {}
    ask = NodeContext._attribute

    def spied(context: NodeContext, name: str, kind: int, read: object, default: object) -> object:
        if name not in context.attributes and default is not None:
            taken[context.op_type, context.opset, name] = default
        return ask(context, name, kind, read, default)  # type: ignore[arg-type]

    monkeypatch.setattr(NodeContext, "_attribute", spied)
    yield taken


def test_defaults_are_those_of_the_schemas(left_out: dict[tuple[str, int, str], object]) -> None:
    for operator in operators():
        for seed in range(3):
            case = single(operator, 4000 + seed)
            if case is not None:
                with np.errstate(all="ignore"):
                    import_source("defaults.onnx", case.parts.model(case.opset))
    compared = 0
    for (op_type, opset, name), default in left_out.items():
        declared = _declared(op_type, opset, name)
        if declared is not None and (op_type, name) != _PER_DIRECTION:
            compared += 1
            assert _plain(default) == _plain(declared), f"{op_type}, operator set {opset}: {name}"
    assert compared > 100


def _declared(op_type: str, opset: int, name: str) -> object:
    for domain in _DOMAINS:
        try:
            schema = defs.get_schema(op_type, opset if not domain else 1, domain)
        except defs.SchemaError:
            continue
        attribute = schema.attributes.get(name)
        if attribute is not None and attribute.default_value.type:
            return helper.get_attribute_value(attribute.default_value)
    return None


def _plain(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return np.float32(value)
    return value.decode() if isinstance(value, bytes) else value
