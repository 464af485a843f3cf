"""Matching arrays with a model's inputs."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.ir.program import Interface
from ccml.ir.types import DType, TensorType
from ccml.samples import Batching, match_samples, random_samples


def side(name: str, *shape: int, dtype: DType = DType.F32) -> Interface:
    return Interface(name, name, TensorType(dtype, shape), name)


IMAGE = side("image", 1, 8, 8)
STATE = side("state", 2, 4)
RATE = side("rate", dtype=DType.I64)
OUT = side("out", 1, 3)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_samples_stand_in_place_of_a_leading_one() -> None:
    found = match_samples({"image": zeros(5, 8, 8), "out": zeros(5, 3)}, [IMAGE], [OUT])
    assert (found.count, found.batching) == (5, Batching.LEADING)
    assert [inputs["image"].shape for inputs in found] == [(1, 8, 8)] * 5
    assert found.expected["out"].shape == (5, 1, 3)
    joined = found.joined([{"out": zeros(1, 3)}] * 5)
    assert joined["out"].shape == (5, 3)


def test_an_input_without_samples_is_shared() -> None:
    arrays = {"in:state": zeros(7, 2, 4), "in:rate": np.array(16000), "in:image": zeros(7, 1, 8, 8)}
    found = match_samples(arrays, [IMAGE, STATE, RATE], [OUT])
    assert (found.count, found.batching) == (7, Batching.ADDED)
    assert [int(inputs["rate"]) for inputs in found] == [16000] * 7
    assert found.joined([{"out": zeros(1, 3)}] * 7)["out"].shape == (7, 1, 3)


def test_one_sample() -> None:
    found = match_samples({"input": zeros(1, 8, 8)}, [IMAGE], [OUT])
    assert (found.count, found.batching) == (1, Batching.NONE)
    assert found.joined([{"out": zeros(1, 3)}])["out"].shape == (1, 3)


def test_first_samples() -> None:
    found = match_samples({"image": zeros(5, 8, 8), "expected": zeros(5, 3)}, [IMAGE], [OUT]).first(2)
    assert (found.count, len(list(found)), found.expected["out"].shape) == (2, 2, (2, 1, 3))


def test_expected_outputs_that_do_not_fit_are_ignored() -> None:
    found = match_samples({"image": zeros(5, 8, 8), "out": zeros(5, 4), "label": zeros(5)}, [IMAGE], [OUT])
    assert found.expected == {}
    assert found.ignored == ("out", "label")


def test_counts_have_to_agree() -> None:
    with pytest.raises(CcmlError, match="image has 5, state has 3"):
        match_samples({"image": zeros(5, 8, 8), "state": zeros(3, 2, 4)}, [IMAGE, STATE], [OUT])


def test_random_samples_are_seeded_and_typed() -> None:
    inputs = [IMAGE, RATE, side("mask", 4, dtype=DType.BOOL)]
    first, second = (list(random_samples(inputs, 2)) for _ in range(2))
    for lhs, rhs in zip(first, second):
        for interface in inputs:
            assert lhs[interface.name].dtype == interface.type.dtype.numpy
            np.testing.assert_array_equal(lhs[interface.name], rhs[interface.name])
    assert not np.array_equal(first[0]["image"], first[1]["image"])
