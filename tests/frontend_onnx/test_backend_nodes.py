"""The ONNX backend suite: importer, core operators and compiled code against the results that ONNX publishes for each
operator. ``test_backend_nodes_c.py`` compiles the same cases as C."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model

from tests.frontend_onnx.backend_nodes import (
    CONTRADICTING,
    check_jit,
    check_meaning,
    expected_to_pass,
    node_tests,
    prepare,
)

EXPECTED = expected_to_pass()


@pytest.mark.parametrize("name", EXPECTED)
def test_node(name: str) -> None:
    if name not in node_tests():
        pytest.skip("the installed onnx has no such test")
    case = prepare(node_tests()[name], EXPECTED[name])
    check_meaning(case)
    check_jit(case)


@pytest.mark.parametrize("name", CONTRADICTING)
def test_published_results_that_contradict_the_text(name: str) -> None:
    """They still do, and all routes agree on what the text says."""
    case = prepare(node_tests()[name], tuple(node_tests()[name].inputs)[1:])
    for route in (check_meaning, check_jit):
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            route(case)


def test_all_others_are_refused() -> None:
    """What is not in the table ends in an error for people: never in a traceback, never in a result."""
    kinds = {ErrorCode.UNSUPPORTED_OPERATOR, ErrorCode.UNSUPPORTED_FEATURE}
    surprises = {}
    for test in node_tests().values():
        if test.name not in EXPECTED and test.name not in CONTRADICTING:
            try:
                with np.errstate(all="ignore"):
                    import_model(test.model, shapes={name: array.shape for name, array in test.inputs.items()})
                surprises[test.name] = "is imported"
            except CcmlError as error:
                if error.kind not in kinds:
                    surprises[test.name] = str(error)
    assert not surprises
