"""Rows of the operators of ai.onnx.ml, in types that ONNX Runtime has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.frontend_onnx.tree_models import MODES, Leaf, Split, grow, listed, numbered
from tests.fuzz.build import Builder, Tensor, UnfitError
from tests.fuzz.row import Row

ML = "ai.onnx.ml"
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")


def rows(b: Builder, kinds: tuple[str, ...] = ("float32",), low: float = -3.0, high: float = 3.0) -> Tensor:
    """Samples with at least one feature each."""
    shape = b.shape(2, 2)
    if not all(shape):
        raise UnfitError("no features")
    return b.data(b.dtype(kinds), shape, low, high)


def numbers(b: Builder, count: int, low: float = -2.0, high: float = 2.0) -> list[float]:
    return [b.uniform(low, high) for _ in range(count)]


def per_feature(b: Builder, x: Tensor, low: float = -2.0, high: float = 2.0) -> list[float]:
    return numbers(b, b.pick([1, x.shape[1]]), low, high)


def scaler(b: Builder) -> list[Tensor]:
    x = rows(b, ("float32", "float64", "int64", "int32"))
    count = b.pick([1, x.shape[1]])
    return b.node("Scaler", [x], domain=ML, offset=numbers(b, count), scale=numbers(b, count))


def normalizer(b: Builder) -> list[Tensor]:
    return b.node("Normalizer", [rows(b)], domain=ML, norm=b.pick(["L1", "L2"]))


def imputer(b: Builder) -> list[Tensor]:
    x = rows(b, ("float32", "int64"))
    if x.dtype == "float32":
        more: dict[str, Any] = {"replaced_value_float": b.pick([float("nan"), 0.0])}
        return b.node("Imputer", [x], domain=ML, imputed_value_floats=per_feature(b, x), **more)
    values = [b.between(-5, 5) for _ in range(b.pick([1, x.shape[1]]))]
    return b.node("Imputer", [x], domain=ML, imputed_value_int64s=values, **b.some(replaced_value_int64=1))


def binarizer(b: Builder) -> list[Tensor]:
    return b.node("Binarizer", [rows(b)], domain=ML, **b.some(threshold=b.uniform(-1, 1)))


def label_encoder(b: Builder) -> list[Tensor]:
    kind = b.pick(["int64", "float32"])
    x, count = b.data(kind, b.shape(), 0, 5, exact=True), b.between(1, 5)
    if kind == "int64":
        keys: dict[str, Any] = {"keys_int64s": [int(key) for key in b.rng.permutation(6)[:count]]}
    else:
        keys = {"keys_floats": [float(key) for key in b.rng.permutation(6)[:count]]}
    if b.flip():
        values: dict[str, Any] = {"values_floats": numbers(b, count), "default_float": b.uniform(-1, 1)}
    else:
        values = {"values_int64s": [b.between(-9, 9) for _ in range(count)], "default_int64": b.between(-9, 9)}
    return b.node("LabelEncoder", [x], domain=ML, **keys, **values)


def one_hot_encoder(b: Builder) -> list[Tensor]:
    x = b.data(b.pick(["int64", "int32", "float32", "float64"]), b.shape(1, 3), 0, 5, exact=True)
    return b.node("OneHotEncoder", [x], domain=ML, cats_int64s=[0, 2, 3, 5], **b.some(zeros=1))


def feature_vectorizer(b: Builder) -> list[Tensor]:
    first = rows(b)
    second = b.data("float32", (first.shape[0], b.between(1, 4)))
    dims = [b.between(1, 5), b.between(1, 5)]
    return b.node("FeatureVectorizer", [first, second], domain=ML, inputdimensions=dims)


def array_feature_extractor(b: Builder) -> list[Tensor]:
    x = rows(b, ("float32", "float64", "int64", "int32"))
    indices = [b.between(0, x.shape[1] - 1) for _ in range(b.between(1, 4))]
    return b.node("ArrayFeatureExtractor", [x, b.given(np.asarray(indices, np.int64))], domain=ML)


def zip_map(b: Builder) -> list[Tensor]:
    x = rows(b)
    return b.node("ZipMap", [x], domain=ML, classlabels_int64s=list(range(x.shape[1])))


def linear_regressor(b: Builder) -> list[Tensor]:
    x, targets = rows(b), b.between(1, 3)
    more = b.some(intercepts=numbers(b, targets), post_transform=b.pick(TRANSFORMS))
    return b.node(
        "LinearRegressor", [x], domain=ML, coefficients=numbers(b, targets * x.shape[1]), targets=targets, **more
    )


def linear_classifier(b: Builder) -> list[Tensor]:
    x, classes = rows(b), b.between(2, 4)
    scores = 1 if classes == 2 and b.flip() else classes
    more = b.some(post_transform=b.pick(TRANSFORMS), multi_class=b.between(0, 1))
    return b.node(
        "LinearClassifier", [x], 2, domain=ML, coefficients=numbers(b, scores * x.shape[1]),
        intercepts=numbers(b, scores), classlabels_ints=[int(label) for label in b.rng.permutation(9)[:classes]],
        **more,
    )  # fmt: skip


def _splits(b: Builder, x: Tensor, trees: int, targets: int, modes: Sequence[str] = MODES) -> list[Split]:
    found: list[Split] = []
    while len(found) < trees:
        tree = grow(b.rng, b.between(1, 3), x.shape[1], targets, tuple(modes), missing=b.flip(), positive=b.flip(),
                    targets_of_leaf=(b.between(0, targets - 1),) if b.flip() else None)  # fmt: skip
        found += [tree] if isinstance(tree, Split) else []
    return found


def _everywhere(trees: Sequence[Split], targets: int) -> list[Split]:
    """With weights of every target in a leaf of the first tree: ONNX Runtime leaves the base out of a sum of none."""
    leaf = Leaf(tuple((target, 0.5) for target in range(targets)))
    return [*trees, Split("BRANCH_LEQ", 0, 0.0, False, leaf, leaf)]


def tree_regressor(b: Builder) -> list[Tensor]:
    x, targets = rows(b), b.between(1, 3)
    trees = _everywhere(_splits(b, x, b.between(1, 4), targets), targets)
    more = b.some(base_values=numbers(b, targets), post_transform=b.pick(TRANSFORMS),
                  aggregate_function=b.pick(["SUM", "AVERAGE", "MIN", "MAX"]))  # fmt: skip
    return b.node("TreeEnsembleRegressor", [x], domain=ML, n_targets=targets, **numbered(list(trees), "target"), **more)


def tree_classifier(b: Builder) -> list[Tensor]:
    x, classes = rows(b), b.between(3, 4)
    trees = _everywhere(_splits(b, x, b.between(1, 4), classes), classes)
    more = b.some(base_values=numbers(b, classes), post_transform=b.pick(TRANSFORMS))
    labels = [int(label) for label in b.rng.permutation(9)[:classes]]
    return b.node(
        "TreeEnsembleClassifier", [x], 2, domain=ML, classlabels_int64s=labels, **numbered(list(trees), "class"), **more
    )


def tree_ensemble(b: Builder) -> list[Tensor]:
    x, targets = rows(b, ("float32", "float64")), b.between(1, 3)
    trees = []
    for target in range(targets):
        trees += [grow(b.rng, 2, x.shape[1], targets, MODES, missing=b.flip(), targets_of_leaf=(target,))]
    splits = [Split("BRANCH_LEQ", 0, 0.0, False, tree, tree) for tree in trees]
    more = b.some(aggregate_function=b.between(0, 3), post_transform=b.pick([0, 3]))
    return b.node("TreeEnsemble", [x], domain=ML, n_targets=targets, **listed(list(splits), np.dtype(x.dtype)), **more)


_PARAMS = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.25, 1.0, 2.0], "RBF": [0.25, 0.0, 0.0], "SIGMOID": [0.25, 0.5, 0.0]}


def _kernel(b: Builder) -> dict[str, Any]:
    kind = b.pick(list(_PARAMS))
    return {"kernel_type": kind, "kernel_params": _PARAMS[kind]}


def svm_regressor(b: Builder) -> list[Tensor]:
    x, count = rows(b), b.between(0, 4)
    size = count or x.shape[1]
    kernel = _kernel(b) if count else {"kernel_type": "LINEAR", "kernel_params": _PARAMS["LINEAR"]}
    vectors = {"support_vectors": numbers(b, count * x.shape[1]), **kernel} if count else kernel
    return b.node("SVMRegressor", [x], domain=ML, coefficients=numbers(b, size), rho=numbers(b, 1), n_supports=count,
                  **vectors)  # fmt: skip


def svm_classifier(b: Builder) -> list[Tensor]:
    x, classes = rows(b), b.between(2, 4)
    supports = [b.between(1, 3) for _ in range(classes)]
    count, pairs = sum(supports), classes * (classes - 1) // 2
    return b.node(
        "SVMClassifier", [x], 2, domain=ML, classlabels_ints=[int(n) for n in b.rng.permutation(9)[:classes]],
        support_vectors=numbers(b, count * x.shape[1]), coefficients=numbers(b, count * (classes - 1)),
        rho=numbers(b, pairs), vectors_per_class=supports, **_kernel(b),
    )  # fmt: skip


_ROWS: dict[str, Row] = {
    "ArrayFeatureExtractor": Row(array_feature_extractor), "Binarizer": Row(binarizer),
    "FeatureVectorizer": Row(feature_vectorizer), "Imputer": Row(imputer), "LabelEncoder": Row(label_encoder),
    "LinearClassifier": Row(linear_classifier), "LinearRegressor": Row(linear_regressor),
    "Normalizer": Row(normalizer), "OneHotEncoder": Row(one_hot_encoder), "SVMClassifier": Row(svm_classifier),
    "SVMRegressor": Row(svm_regressor), "Scaler": Row(scaler),
    "TreeEnsemble": Row(tree_ensemble), "TreeEnsembleClassifier": Row(tree_classifier),
    "TreeEnsembleRegressor": Row(tree_regressor),
    "ZipMap": Row(zip_map),
}  # fmt: skip
ROWS = {f"{ML}.{name}": row for name, row in _ROWS.items()}
