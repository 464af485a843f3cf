"""Node tests of the ONNX backend suite: the meaning of what the importer makes of them, and those with operands frozen
into initializers. ``tests/onnx_suite`` runs the suite itself, compiled."""

from __future__ import annotations

import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model

from tests.frontend_onnx.backend_nodes import (
    check_jit,
    check_meaning,
    expected_to_pass,
    frozen_tests,
    node_tests,
    prepare,
)


@pytest.mark.parametrize("name", expected_to_pass())
def test_meaning(name: str) -> None:
    check_meaning(prepare(node_tests()[name], expected_to_pass()[name]))


@pytest.mark.parametrize("name", frozen_tests())
def test_with_constant_operands(name: str) -> None:
    if name not in node_tests():
        pytest.skip("the installed onnx has no such test")
    check_jit(prepare(node_tests()[name], frozen_tests()[name]))


@pytest.mark.parametrize("name", frozen_tests())
def test_what_passes_only_with_constant_operands_is_refused_otherwise(name: str) -> None:
    """The error names the inputs whose values have to be known."""
    if name not in node_tests():
        pytest.skip("the installed onnx has no such test")
    with pytest.raises(CcmlError) as error:
        import_model(node_tests()[name].model)
    assert error.value.kind is ErrorCode.UNSUPPORTED_FEATURE and error.value.deciding == frozen_tests()[name]
    assert f"--fix {error.value.deciding[0]}=..." in str(error.value)
