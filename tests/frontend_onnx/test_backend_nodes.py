"""The ONNX backend suite: importer and core operators against the results that ONNX publishes for each operator."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model

from tests.frontend_onnx.backend_nodes import check, expected_to_pass, node_tests

EXPECTED = expected_to_pass()


@pytest.mark.parametrize("name", EXPECTED)
def test_node(name: str) -> None:
    if name not in node_tests():
        pytest.skip("the installed onnx has no such test")
    check(node_tests()[name], EXPECTED[name])


def test_all_others_are_refused() -> None:
    """What is not in the table ends in an error for people: never in a traceback, never in a result."""
    kinds = {ErrorCode.UNSUPPORTED_OPERATOR, ErrorCode.UNSUPPORTED_FEATURE}
    surprises = {}
    for test in node_tests().values():
        if test.name not in EXPECTED:
            try:
                with np.errstate(all="ignore"):
                    import_model(test.model, shapes={name: array.shape for name, array in test.inputs.items()})
                surprises[test.name] = "is imported"
            except CcmlError as error:
                if error.kind not in kinds:
                    surprises[test.name] = str(error)
    assert not surprises
