"""The list behind ``ccml ops``."""

from __future__ import annotations

from ccml.frontend_onnx.rules import RULES
from ccml.frontend_onnx.supported import How, supported_operators
from onnx import defs

from tests.frontend_onnx.backend_nodes import expected_to_pass, node_tests


def test_every_rule_is_for_an_operator_of_onnx() -> None:
    schemas = defs.get_all_schemas_with_history()
    names = {f"{schema.domain}.{schema.name}" if schema.domain else schema.name for schema in schemas}
    assert not RULES.keys() - names


def test_the_list() -> None:
    operators = {operator.name: operator for operator in supported_operators()}
    assert operators["Conv"].how is How.RULE and operators["Conv"].since[:2] == (1, 11)
    assert operators["Attention"].how is How.FUNCTION
    assert operators["If"].how is How.NESTED
    assert "ImageDecoder" not in operators and "ai.onnx.ml.DictVectorizer" not in operators
    assert operators["ai.onnx.preview.training.Adam"].how is How.RULE
    assert operators["ai.onnx.preview.FlexAttention"].how is How.FUNCTION
    assert operators["com.microsoft.QLinearAdd"].how is How.FUNCTION
    assert list(operators) == sorted(operators)


def test_what_is_listed_passes_a_test_of_the_backend_suite() -> None:
    """Where the suite has one at all: every operator in the list has a node test that passes, but for those
    whose tests hold random numbers."""
    tested: dict[str, bool] = {}
    for name, test in node_tests().items():
        for node in test.model.graph.node:
            tested[node.op_type] = tested.get(node.op_type, False) or name in expected_to_pass()
    listed = {operator.name for operator in supported_operators()}
    assert {name for name in listed if not tested.get(name, True)} == {"Bernoulli", "RandomUniformLike"}
