"""Symbolic dimensions, and inputs that initializers stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import checked_import, model, value

ADD = [helper.make_node("Add", ["x", "s"], ["y"])]


def two_inputs(x: list[int | str | None] | None, s: list[int | str | None] | None) -> onnx.ModelProto:
    return model(ADD, [value("x", x), value("s", s)], ["y"])


def import_error(proto: onnx.ModelProto, **options: Any) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        import_model(proto, **options)
    return caught.value


def test_dimensions_are_bound_by_name() -> None:
    graph = checked_import(two_inputs(["batch", "seq"], ["batch", 1]), dims={"batch": 2, "seq": 5})
    assert [value.shape for value in graph.inputs] == [(2, 5), (2, 1)]
    assert graph.outputs[0].shape == (2, 5)


@pytest.mark.parametrize("anonymous", ["?", ""])
def test_anonymous_dimensions_are_not_one(anonymous: str) -> None:
    proto = two_inputs([anonymous, 3], [anonymous, 3])
    graph = checked_import(proto, shapes={"x": (4, 3), "s": (1, 3)})
    assert [value.shape for value in graph.inputs] == [(4, 3), (1, 3)]
    assert "--shape x=1,3" in str(import_error(proto).hint)


def test_a_whole_shape_binds_the_names_in_it() -> None:
    graph = checked_import(two_inputs(["batch", "seq"], ["batch", 1]), shapes={"x": (3, 4)})
    assert [value.shape for value in graph.inputs] == [(3, 4), (3, 1)]


def test_all_open_dimensions_are_reported_at_once() -> None:
    error = import_error(two_inputs(["batch", "seq", 8], ["batch", "n", 8]), dims={"seq": 4})
    assert error.kind is ErrorCode.UNBOUND_DIMENSION
    assert "x[batch, 4, 8], s[batch, n, 8]" in error.reason
    assert error.hint is not None and "--dim batch=1 --dim n=1" in error.hint


@pytest.mark.parametrize("batch", ["batch", "N"])
def test_a_batch_that_alone_is_open_is_one(batch: str, caplog: pytest.LogCaptureFixture) -> None:
    graph = checked_import(two_inputs([batch, 3], [batch, 1]))
    assert [value.shape for value in graph.inputs] == [(1, 3), (1, 1)]
    assert f"the first dimension of x, s ({batch}) is taken as 1; --dim {batch}=... sets it" in caplog.text


def test_the_unknown_first_dimension_of_one_input_is_one(caplog: pytest.LogCaptureFixture) -> None:
    graph = checked_import(two_inputs([None, 3], [1, 3]))
    assert graph.inputs[0].shape == (1, 3)
    assert "the first dimension of x is taken as 1; --shape x=... sets it" in caplog.text


@pytest.mark.parametrize(
    "shapes", [(["a", 3], ["b", 3]), (["a", "b"], [1, 1]), ([3, "a"], [1, 1]), (["a", 3], [1, "a"])]
)
def test_other_open_dimensions_are_no_batch(shapes: tuple[list[object], list[object]]) -> None:
    assert import_error(two_inputs(*shapes)).kind is ErrorCode.UNBOUND_DIMENSION


def test_what_the_hint_says_works() -> None:
    graph = checked_import(two_inputs(["batch", "seq", 8], ["batch", "n", 8]), dims={"batch": 1, "seq": 1, "n": 1})
    assert graph.outputs[0].shape == (1, 1, 8)


def test_dimensions_without_a_name_need_a_shape() -> None:
    error = import_error(two_inputs([None, 3], None))
    assert error.kind is ErrorCode.UNBOUND_DIMENSION
    assert error.hint is not None and "--shape x=1,3" in error.hint and "--shape s=" in error.hint
    graph = checked_import(two_inputs([None, 3], None), shapes={"x": (1, 3), "s": (3,)})
    assert graph.outputs[0].shape == (1, 3)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"dims": {"bach": 1}}, "its symbolic dimensions are batch"),
        ({"dims": {"batch": 0}}, "cannot be 0"),
        ({"dims": {"batch": -1}}, "cannot be -1"),
        ({"dims": {"batch": 4_000_000_000}}, "has 12,000,000,000 elements (44.7 GiB)"),
        ({"shapes": {"z": (1,)}}, "the inputs are x, s"),
        ({"shapes": {"x": (1, 2, 3)}}, "rank 2"),
        ({"shapes": {"x": (1, 9)}}, "contradicts"),
        ({"shapes": {"x": (1, 3), "s": (2, 1)}}, "contradicts"),
        ({"dims": {"batch": 2}, "shapes": {"x": (1, 3)}}, "contradicts"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], text: str) -> None:
    error = import_error(two_inputs(["batch", 3], ["batch", 1]), **options)
    assert error.kind is ErrorCode.BAD_OPTION and text in str(error)


def test_an_input_with_an_initializer_is_a_constant() -> None:
    """As all models before IR version 4 have it."""
    proto = model(ADD, [value("x", [2]), value("s", [2])], ["y"], {"s": np.ones(2, np.float32)})
    graph = checked_import(proto)
    assert [value.name for value in graph.inputs] == ["x"] and list(graph.constants) == ["s"]


def test_inputs_that_nothing_reads_are_kept() -> None:
    nodes = [helper.make_node("Relu", ["b"], ["y"])]
    inputs = [value("a", [1], TensorProto.INT64), value("b", [2]), value("c", [])]
    assert [value.name for value in checked_import(model(nodes, inputs, ["y"])).inputs] == ["a", "b", "c"]


def test_inputs_have_to_be_tensors_of_a_supported_type() -> None:
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [1])
    error = import_error(model(ADD, [sequence, value("s", [1])], ["y"]))
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and "sequence" in str(error) and error.loc == "x"
    error = import_error(model(ADD, [value("x", [1], TensorProto.COMPLEX64), value("s", [1])], ["y"]))
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and "complex64" in str(error)


def test_an_input_of_impossible_size() -> None:
    assert import_error(two_inputs([2**20, 2**20], [1])).kind is ErrorCode.BAD_OPTION
