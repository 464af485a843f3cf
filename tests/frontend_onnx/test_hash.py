"""The MurmurHash3 of ONNX Runtime's domain, by LLVM and as C, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx.dims import Range
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import checked_import, model, value
from tests.frontend_onnx.test_strings import programs

TEXTS = np.array([["", "a", "ab"], ["abc", "abcd", "Zoë 日本"]], object)


def hashed(shape: Sequence[int | str], dtype: int, **attrs: int) -> onnx.ModelProto:
    node = helper.make_node("MurmurHash3", ["x"], ["y"], domain="com.microsoft", **attrs)
    return model([node], [value("x", list(shape), dtype)], ["y"], domains={"com.microsoft": 1})


def check(proto: onnx.ModelProto, *arrays: np.ndarray, **options: object) -> None:
    for program in programs(proto, **options):
        for x in arrays:
            (found,), (wanted,) = program.run({"x": x}).values(), onnxruntime(proto, {"x": x})
            np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("attrs", [{}, {"positive": 0, "seed": 42}, {"seed": -3}], ids=str)
def test_strings_of_all_lengths_modulo_a_word(attrs: dict[str, int]) -> None:
    check(hashed([2, 3], TensorProto.STRING, **attrs), TEXTS)


def test_a_bound_that_is_no_multiple_of_a_word() -> None:
    texts = np.array(["seven b", "six by", "", "x"], object)
    check(hashed([4], TensorProto.STRING), texts, bounds={"x": 7})


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_numbers(dtype: str) -> None:
    x = np.array([0, 1, 2**31 - 1, -(2**31)] if dtype[0] != "u" else [0, 1, 2**32 - 1, 77]).astype(dtype)
    check(hashed([4], helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), positive=0, seed=7), x)


def test_as_many_as_a_run_has() -> None:
    for dtype, x in ((TensorProto.STRING, TEXTS), (TensorProto.INT64, np.arange(-3, 3).reshape(2, 3))):
        check(hashed(["n", 3], dtype), x, x[:1], dims={"n": Range(1, 4)})


def test_numbers_of_other_sizes_are_refused() -> None:
    with pytest.raises(CcmlError, match=r"MurmurHash3 of u8\[3\]") as caught:
        checked_import(hashed([3], TensorProto.UINT8))
    assert caught.value.kind is ErrorCode.INVALID_MODEL
