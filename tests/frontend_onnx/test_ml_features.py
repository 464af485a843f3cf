"""Operators of ai.onnx.ml that prepare features, and linear models, compiled, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from onnx import helper

from tests.frontend_onnx.compiled import compiled
from tests.frontend_onnx.graphs import checked_import
from tests.frontend_onnx.ml_models import ML, agrees, floats, ml_node

ROWS = np.array([[1, -5, 3], [0, 0, 0], [-1, -2, -3]], np.float32)
NUMBERS = (np.float32, np.float64, np.int64, np.int32)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm: str, dtype: type[Any]) -> None:
    """Of rows, a row of zeros among them, and of one row."""
    for x in (ROWS, ROWS[0]):
        agrees("Normalizer", x.astype(dtype), norm=norm)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_scaler(dtype: type[Any]) -> None:
    for x in (ROWS, ROWS[0], ROWS[None]):
        agrees("Scaler", x.astype(dtype), offset=[1.0, 2.0, 3.5], scale=[2.0, 3.0, -0.1])
        agrees("Scaler", x.astype(dtype), offset=[0.5], scale=[0.3])


def test_imputer() -> None:
    """Doubles, which ONNX Runtime does not take, as floats."""
    x = np.array([[np.nan, 1], [2, np.nan]], np.float32)
    nan: dict[str, Any] = {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": float("nan")}
    for attrs in (nan, {"imputed_value_floats": [7.5], "replaced_value_float": 2.0}):
        expected = agrees("Imputer", x, **attrs)[0]
        (y,) = compiled(*ml_node("Imputer", [x.astype(np.float64)], **attrs))
        np.testing.assert_array_equal(y, expected.astype(np.float64), strict=True)


def test_imputer_of_integers() -> None:
    agrees("Imputer", np.array([[1, 2]], np.int64), imputed_value_int64s=[9], replaced_value_int64=2)
    (y,) = compiled(*ml_node("Imputer", [np.array([[1, 2]], np.int32)], imputed_value_int64s=[9, 7]))
    np.testing.assert_array_equal(y, [[1, 2]])


def test_binarizer() -> None:
    agrees("Binarizer", ROWS, threshold=-1.0)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
def test_binarizer_of_other_types(dtype: type[Any]) -> None:
    """Thresholds between integers, and beyond them; ONNX Runtime takes floats only."""
    x = np.arange(-3, 4).astype(dtype)
    for threshold in (-1.5, 0.0, 1.0, 1.5, 1e30, -1e30):
        (y,) = compiled(*ml_node("Binarizer", [x], threshold=threshold))
        np.testing.assert_array_equal(y, (x > threshold).astype(dtype))


def test_label_encoder_of_floats() -> None:
    """A key that occurs twice, and NaN, which is a key as any (ONNX Runtime never finds it)."""
    keys, x = [1.0, float("nan"), 2.0, 1.0], np.array([1, 2, 5], np.float32)
    agrees("LabelEncoder", x, keys_floats=keys, values_int64s=[3, 4, 5, 6], default_int64=-7)
    agrees("LabelEncoder", x, keys_floats=keys, values_floats=[3.0, 4.5, 5.0, 6.0])
    proto, feeds = ml_node("LabelEncoder", [np.array([1, np.nan], np.float32)], keys_floats=keys,
                           values_int64s=[3, 4, 5, 6])  # fmt: skip
    np.testing.assert_array_equal(compiled(proto, feeds)[0], [3, 4])


@pytest.mark.parametrize("keys", [[1, 2, 7], [5, -3, 5], [0, 2**40, -(2**50)], [2**63 - 1, -(2**63), 4]])
def test_label_encoder_of_integers(keys: list[int]) -> None:
    """Close together and far apart."""
    x = np.array([[*keys, 0, 3], [4, 2**63 - 1, -(2**63), -1, 8]], np.int64)
    agrees("LabelEncoder", x, keys_int64s=keys, values_floats=[3.0, 4.5, -1.0], default_float=9.0)
    agrees("LabelEncoder", x, keys_int64s=keys, values_int64s=[3, 4, 2**40])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.float32, np.float64])
def test_label_encoder_of_tensors(dtype: type[Any]) -> None:
    """Every numeric type of version 4."""
    keys, values = np.array([1, 5, 3], dtype), np.array([1.5, -2, 7], np.float64)
    proto, feeds = ml_node(
        "LabelEncoder", [np.array([3, 4, 1, 5], dtype)], version=4,
        keys_tensor=helper.make_tensor("k", helper.np_dtype_to_tensor_dtype(keys.dtype), keys.shape, keys),
        values_tensor=helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(values.dtype), values.shape, values),
        default_tensor=helper.make_tensor("d", helper.np_dtype_to_tensor_dtype(values.dtype), [1], [0.25]),
    )  # fmt: skip
    np.testing.assert_array_equal(compiled(proto, feeds)[0], [7, 0.25, 1.5, -2])


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_one_hot_encoder(dtype: type[Any]) -> None:
    agrees("OneHotEncoder", np.array([[1], [2.7], [5]]).astype(dtype), cats_int64s=[1, 2, 3])


def test_feature_vectorizer() -> None:
    """Operands are cut off and continued; other element types than float32 are cast."""
    a, b = floats(2, 3), floats(2, 1)
    for dims in ([3, 1], [2, 2], [5, 1]):
        agrees("FeatureVectorizer", a, b, inputdimensions=dims)
    integers = np.arange(6).reshape(2, 3)
    (y,) = compiled(*ml_node("FeatureVectorizer", [a, integers.astype(np.int32)], inputdimensions=[3, 3]))
    np.testing.assert_array_equal(y, np.concatenate([a, integers], axis=1).astype(np.float32))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_array_feature_extractor(dtype: type[Any]) -> None:
    x = ROWS.astype(dtype)
    agrees("ArrayFeatureExtractor", x, np.array([2, 0]))
    agrees("ArrayFeatureExtractor", x, np.array([[[2], [1]]]))
    agrees("ArrayFeatureExtractor", x[0], np.array([[2, 0]]))


def test_zip_map_is_the_tensor(caplog: pytest.LogCaptureFixture) -> None:
    x = floats(2, 3)
    for labels in ({"classlabels_int64s": [4, 5, 6]}, {"classlabels_strings": ["a", "b", "c"]}):
        np.testing.assert_array_equal(compiled(*ml_node("ZipMap", [x], **labels))[0], x)
    assert "a column for each class: 4, 5, 6" in caplog.text and "a, b, c" in caplog.text


TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
SCORES = np.array([[0.1], [0.9], [0.4], [0.5], [-0.3]], np.float32)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_regressor(transform: str) -> None:
    """Of one target and of two; with a row of scores that are all 0, of which SOFTMAX_ZERO makes no number."""
    agrees("LinearRegressor", SCORES, coefficients=[1.0], intercepts=[0.0], post_transform=transform)
    agrees("LinearRegressor", np.eye(3, 2, dtype=np.float32), coefficients=[1.0, 0.0, 0.0, 0.5], targets=2,
           post_transform=transform)  # fmt: skip
    agrees("LinearRegressor", SCORES, coefficients=[1.0, 2.0], intercepts=[0.0, 0.1], targets=2,
           post_transform=transform)  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_classifier(transform: str) -> None:
    """A score for each class, one of which is exactly 0 once, and one score for two classes."""
    for labels in ([3, 7, 9], [0, 1, 2]):
        agrees("LinearClassifier", floats(6, 2), outputs=2, coefficients=[1.0, -0.5, 0.1, 0.3, 0.2, 0.7],
               intercepts=[0.0, 0.5, 0.2], classlabels_ints=labels, post_transform=transform)  # fmt: skip
    two = {"coefficients": [1.0, -0.5], "intercepts": [0.0, 0.5], "classlabels_ints": [3, 7]}
    agrees("LinearClassifier", np.append(SCORES, [[0]], 0).astype(np.float32), outputs=2, post_transform=transform,
           **two)  # fmt: skip
    if transform != "PROBIT":
        agrees("LinearClassifier", SCORES, outputs=2, coefficients=[1.0], intercepts=[0.05], classlabels_ints=[3, 7],
               post_transform=transform)  # fmt: skip


@pytest.mark.parametrize("dtype", NUMBERS)
def test_linear_types(dtype: type[Any]) -> None:
    x = floats(6, 2) * 10
    agrees("LinearClassifier", x.astype(dtype), outputs=2, coefficients=[1.0, -0.5], intercepts=[0.0],
           classlabels_ints=[3, 7])  # fmt: skip


def refusal(op: str, *arrays: np.ndarray, outputs: int = 1, version: int = 3, **attrs: Any) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        checked_import(ml_node(op, arrays, outputs, version, **attrs)[0])
    return caught.value


WORDS = np.array([["b", "a", "", "zz"], ["Zoë", "b", "c", "a"]], object)
KEYS = ["c", "b", "Zoë", "b", ""]


@pytest.mark.parametrize("x", [WORDS, WORDS[0]])
def test_label_encoder_of_strings(x: np.ndarray) -> None:
    """Of equal keys the first counts (ONNX Runtime takes the last)."""
    unique = {"keys_strings": ["c", "b", "Zoë", ""]}
    agrees("LabelEncoder", x, **unique, values_int64s=[4, 5, 6, 7], default_int64=9)
    agrees("LabelEncoder", x, **unique, values_floats=[0.5, 5, 6, 7], default_float=-1.5)
    assert agrees("LabelEncoder", x, **unique, values_strings=["x", "longer", "ü", "w"])[0].shape == x.shape
    numbers = [[*KEYS, str(word)].index(str(word)) for word in x.reshape(-1)]
    (found,) = compiled(*ml_node("LabelEncoder", [x], keys_strings=KEYS, values_int64s=range(5), default_int64=5))
    assert found.reshape(-1).tolist() == numbers


def test_label_encoder_of_many_strings() -> None:
    keys = [f"{number:x}" * (1 + number % 3) for number in range(300)]
    x = np.array([keys[i] for i in (0, 299, 7, 151)] + ["300", "", "fff"], object)
    agrees("LabelEncoder", x, keys_strings=keys, values_int64s=list(range(300)))


def test_label_encoder_to_strings() -> None:
    agrees("LabelEncoder", np.array([[1, 7], [5, 1]]), keys_int64s=[1, 5], values_strings=["one", "fünf"])
    agrees("LabelEncoder", np.float32([1, 0.5, 2]), keys_floats=[1.0, 2.0], values_strings=["a", "b"])
    for x in (np.array([0, 2, 9]), np.array(["c", "x", "a"], object)):
        (found,) = compiled(*ml_node("LabelEncoder", [x], version=1, classes_strings=["a", "b", "c"]))
        assert found.tolist() == (["a", "c", "_Unused"] if x.dtype.kind == "i" else [2, -1, 0])


def test_category_mapper() -> None:
    both = {"cats_strings": ["cat", "dog"], "cats_int64s": [3, 9]}
    agrees("CategoryMapper", np.array(["dog", "cow", "cat"], object), version=1, **both)
    agrees("CategoryMapper", np.array([9, 4, 3]), version=1, **both, default_string="?")


def test_one_hot_encoder_of_strings() -> None:
    agrees("OneHotEncoder", WORDS, cats_strings=["a", "zz", ""], zeros=1)


@pytest.mark.parametrize("columns", [1, 2])
def test_labels_that_are_strings(columns: int) -> None:
    attrs: dict[str, Any] = {"coefficients": [1.0, -0.5][:columns], "intercepts": [0.0, 0.2][:columns]}
    agrees("LinearClassifier", floats(6, 1), outputs=2, classlabels_strings=["no", "perhaps"], **attrs)


INVALID_STRINGS: list[tuple[str, np.ndarray, dict[str, Any]]] = [
    ("LabelEncoder", np.array([1]), {"keys_strings": ["a"], "values_int64s": [1]}),
    ("LabelEncoder", np.array(["a"], object), {"keys_int64s": [1], "values_strings": ["a"]}),
    ("OneHotEncoder", np.array([1]), {"cats_strings": ["a"]}),
    ("OneHotEncoder", np.array(["a"], object), {"cats_int64s": [1]}),
    ("Binarizer", np.array(["a"], object), {}),
]


@pytest.mark.parametrize(("op", "x", "attrs"), INVALID_STRINGS)
def test_strings_in_the_place_of_numbers(op: str, x: np.ndarray, attrs: dict[str, Any]) -> None:
    assert refusal(op, x, **attrs).kind is ErrorCode.INVALID_MODEL


INVALID: list[tuple[str, tuple[np.ndarray, ...], dict[str, Any]]] = [
    ("Scaler", (ROWS,), {"scale": [1.0, 2.0]}),
    ("Normalizer", (ROWS,), {"norm": "L3"}),
    ("Imputer", (ROWS,), {"imputed_value_int64s": [1]}),
    ("LabelEncoder", (np.array([1]),), {"keys_int64s": [1, 2], "values_int64s": [1]}),
    ("LabelEncoder", (np.array([1]),), {"keys_floats": [1.0], "values_int64s": [1]}),
    ("FeatureVectorizer", (ROWS,), {"inputdimensions": [1, 2]}),
    ("FeatureVectorizer", (ROWS,), {"inputdimensions": [-1]}),
    ("ArrayFeatureExtractor", (ROWS[0], ROWS), {}),
    ("LinearRegressor", (ROWS,), {"coefficients": [1.0, 2.0]}),
    ("LinearRegressor", (ROWS,), {"coefficients": [1.0, 2.0, 3.0], "post_transform": "LOG"}),
    ("LinearClassifier", (ROWS,), {"coefficients": [1.0] * 6, "classlabels_ints": [1, 2, 3], "outputs": 2}),
]


@pytest.mark.parametrize(("op", "arrays", "attrs"), INVALID)
def test_invalid(op: str, arrays: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> None:
    error = refusal(op, *arrays, **attrs)
    assert error.kind in (ErrorCode.INVALID_MODEL, ErrorCode.SHAPE_MISMATCH), error
    assert error.loc


def test_the_domain_is_that_of_onnx() -> None:
    assert ML in str(refusal("DictVectorizer", floats(1, 2), int64_vocabulary=[1]))
