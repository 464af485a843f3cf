"""Tree ensembles of ai.onnx.ml, compiled, against ONNX Runtime and against their definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.loops_text import print_kernel
from ccml.ir.types import DType
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select
from onnx import helper

from tests.frontend_onnx.compiled import compiled, onnxruntime
from tests.frontend_onnx.graphs import checked_import
from tests.frontend_onnx.ml_models import agrees, ml_node
from tests.frontend_onnx.tree_models import MODES, Leaf, Split, features, grow, listed, numbered, scores, with_shares

FEATURES = 5


def forest(seed: int, count: int = 7, targets: int = 1, depth: int = 4, **more: Any) -> list[Split | Leaf]:
    rng = np.random.default_rng(seed)
    trees: list[Split | Leaf] = []
    while len(trees) < count:
        tree = grow(rng, depth, FEATURES, targets, **more)
        trees += [tree] if isinstance(tree, Split) else []
    return trees


def rows(dtype: type[Any] = np.float32, count: int = 40) -> np.ndarray:
    return features(np.random.default_rng(9), count, FEATURES, dtype)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str, missing: bool) -> None:
    """Each mode alone, on features that hit the splits, lie next to them, or are NaN of either sign."""
    trees = forest(MODES.index(mode), modes=(mode,), missing=missing)
    y = agrees("TreeEnsembleRegressor", rows(), n_targets=1, **numbered(trees, "target"))[0]
    np.testing.assert_allclose(y, scores(trees, rows(), 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_modes_in_one_ensemble(dtype: type[Any]) -> None:
    trees = forest(1, 12, modes=MODES, missing=True)
    (y,) = compiled(*ml_node("TreeEnsembleRegressor", [rows(dtype)], n_targets=1, **numbered(trees, "target")))
    np.testing.assert_allclose(y, scores(trees, rows(dtype), 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_integer_features(dtype: type[Any]) -> None:
    trees = forest(2)
    x = np.random.default_rng(0).integers(-3, 4, (20, FEATURES)).astype(dtype)
    (y,) = compiled(*ml_node("TreeEnsembleRegressor", [x], n_targets=1, **numbered(trees, "target")))
    np.testing.assert_allclose(y, scores(trees, x, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("targets", [1, 3])
def test_regressor(targets: int, transform: str) -> None:
    base = [0.25, -1.5, 2.0][:targets]
    attrs = numbered(forest(3, targets=targets), "target")
    agrees("TreeEnsembleRegressor", rows(), n_targets=targets, base_values=base, post_transform=transform, **attrs)


def test_probit() -> None:
    """Of scores between 0 and 1."""
    attrs = numbered(forest(3, count=1, positive=True), "target")
    agrees("TreeEnsembleRegressor", rows(), n_targets=1, post_transform="PROBIT", rtol=1e-4, atol=1e-4, **attrs)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 2])
def test_aggregates(targets: int, aggregate: str) -> None:
    attrs = numbered(forest(4, targets=targets), "target")
    for base in ([], [0.5, -1.0][:targets]):
        more = {"base_values": base} if base else {}
        agrees("TreeEnsembleRegressor", rows(), n_targets=targets, aggregate_function=aggregate, **more, **attrs)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_leaves_that_repeat_a_target(targets: int, aggregate: str) -> None:
    """scikit-learn's converter writes the path through a tree so, once for each class; the first one counts where there
    is one target, and all do where there are several."""
    attrs = numbered(forest(5, 3, targets), "target")
    for name in ("target_treeids", "target_nodeids", "target_ids", "target_weights"):
        attrs[name] = [entry for entry in attrs[name] for _ in range(3)]
    attrs["target_weights"] = [weight * (1 + n % 3) for n, weight in enumerate(attrs["target_weights"])]
    agrees("TreeEnsembleRegressor", rows(), n_targets=targets, aggregate_function=aggregate, **attrs)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_classes(transform: str) -> None:
    """Leaves with a weight for each class, as forests have them, and trees for one class each, as boosting has."""
    labels = [7, 3, 9]
    whole = numbered(forest(5, targets=3), "class")
    single = [forest(6 + n, count=2, targets=3, targets_of_leaf=(n,)) for n in range(3)]
    boosted = numbered([tree for trees in single for tree in trees], "class")
    for attrs in (whole, boosted):
        for base in ({}, {"base_values": [0.1, 0.7, -0.2]}):
            agrees("TreeEnsembleClassifier", rows(), outputs=2, classlabels_int64s=labels, post_transform=transform,
                   **base, **attrs)  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("positive", [False, True])
def test_two_classes_by_one_score(positive: bool, transform: str) -> None:
    """Weights of one of two classes, as binary classifiers are exported, without and with a base."""
    for which in (0, 1):
        trees = forest(7 + which, count=2, positive=positive, targets_of_leaf=(which,))
        attrs = numbered(trees, "class")
        base = {"base_values": [0.125]}
        for more in ({}, base) if which == 0 else ({},):
            agrees("TreeEnsembleClassifier", rows(), outputs=2, classlabels_int64s=[4, 8], post_transform=transform,
                   **more, **attrs)  # fmt: skip


def test_one_class() -> None:
    attrs = numbered(forest(8, count=2), "class")
    agrees("TreeEnsembleClassifier", rows(), outputs=2, classlabels_int64s=[3], **attrs)


def test_both_of_two_classes_have_weights() -> None:
    """The label is that of the greater score; ONNX Runtime puts out 0 or 1 by the sign of the second alone."""
    trees = forest(9, targets=2)
    attrs = numbered(trees, "class")
    label, probabilities = compiled(
        *ml_node("TreeEnsembleClassifier", [rows()], 2, classlabels_int64s=[4, 8], **attrs)
    )
    expected = scores(trees, rows(), 2)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(label, np.array([4, 8])[expected.argmax(1)])


def test_votes_that_are_equal() -> None:
    """Ten trees of leaves worth 1/10: five votes are not above one half, however 1/10 is rounded."""
    trees: list[Split | Leaf] = [
        Split("BRANCH_LEQ", n % FEATURES, 0.0, False, Leaf(((0, 0.1),)), Leaf(((0, 0.0),))) for n in range(10)
    ]
    x = np.where(np.arange(32)[:, None] >> np.arange(FEATURES) & 1, 1, -1).astype(np.float32)
    label, _ = agrees("TreeEnsembleClassifier", x, outputs=2, classlabels_int64s=[0, 1], **numbered(trees, "class"))
    np.testing.assert_array_equal(label, (x < 0).sum(1) * 2 > 5)


@pytest.mark.parametrize("spread", [1.0, 1e4, 1e9])
def test_leaves_of_very_different_sizes(spread: float) -> None:
    """Where integers could not hold small leaves next to large ones, sums are of floats."""
    rng = np.random.default_rng(3)
    trees: list[Split | Leaf] = [
        Split("BRANCH_LEQ", n % FEATURES, 0.0, False, Leaf(((0, float(np.float32(1 + rng.random()))),)),
              Leaf(((0, spread),)))
        for n in range(20)
    ]  # fmt: skip
    x = -np.abs(rng.standard_normal((4, FEATURES))).astype(np.float32)
    agrees("TreeEnsembleRegressor", x, n_targets=1, rtol=1e-6, atol=0, **numbered(trees, "target"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tree_ensemble_of_version_5(dtype: type[Any]) -> None:
    """Doubles are summed up as doubles."""
    trees = forest(10, 5, 3, modes=MODES, missing=True, targets_of_leaf=(1,))
    attrs = listed(trees, np.dtype(dtype))
    x = rows(dtype)
    (y,) = compiled(*ml_node("TreeEnsemble", [x], version=5, n_targets=3, **attrs))
    assert y.dtype == dtype
    tolerance = {np.float16: 1e-2, np.float32: 1e-6, np.float64: 1e-7}[dtype]
    np.testing.assert_allclose(y, scores(trees, x, 3), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("aggregate", range(4))
def test_numbers_of_version_5(aggregate: int) -> None:
    """Aggregates and transforms have numbers there; trees whose leaves belong to different targets.

    ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX, which is the other way round in ONNX.
    """
    single = [forest(20 + n, count=2, targets=2, targets_of_leaf=(n,)) for n in range(2)]
    attrs = listed([tree for trees in single for tree in trees], np.dtype(np.float32))
    attrs |= {"n_targets": 2, "aggregate_function": aggregate}
    y = agrees("TreeEnsemble", rows(), version=5, **attrs)[0].astype(np.float64)
    softmax = np.exp(y) / np.exp(y).sum(1, keepdims=True)
    for transform, expected in ((1, softmax), (2, 1 / (1 + np.exp(-y)))):
        (got,) = compiled(*ml_node("TreeEnsemble", [rows()], version=5, post_transform=transform, **attrs))
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def members(sets: list[list[float]], missing: bool) -> dict[str, Any]:
    """A chain of nodes that test whether features are in sets: leaf n is worth n + 1."""
    count = len(sets)
    values = [value for own in sets for value in (*own, float("nan"))]
    return {
        "n_targets": 1, "tree_roots": [0], "nodes_featureids": [n % FEATURES for n in range(count)],
        "nodes_modes": helper.make_tensor("m", 2, [count], [6] * count),
        "nodes_splits": helper.make_tensor("s", 1, [count], [0.0] * count),
        "nodes_truenodeids": list(range(count)), "nodes_trueleafs": [1] * count,
        "nodes_falsenodeids": [*range(1, count), count], "nodes_falseleafs": [0] * (count - 1) + [1],
        "nodes_missing_value_tracks_true": [int(missing)] * count, "leaf_targetids": [0] * (count + 1),
        "leaf_weights": helper.make_tensor("w", 1, [count + 1], [n + 1.0 for n in range(count + 1)]),
        "membership_values": helper.make_tensor("v", 1, [len(values)], values),
    }  # fmt: skip


@pytest.mark.parametrize("missing", [False, True])
def test_membership(missing: bool) -> None:
    """Sets of one value, of several in any order, of zeros, and one that is empty."""
    sets = [[1.0], [0.5, -0.75, 1.25, -1.5], [-0.0], [], [float("inf"), 0.25]]
    x = rows(count=80)
    expected = []
    for row in x:
        hits = [n for n, own in enumerate(sets) if row[n] in own or (missing and np.isnan(row[n]))]
        expected.append([min(hits, default=len(sets)) + 1.0])
    (y,) = compiled(*ml_node("TreeEnsemble", [x], version=5, **members(sets, missing)))
    np.testing.assert_array_equal(y, np.array(expected, np.float32))


def test_trees_that_are_leaves() -> None:
    trees: list[Split | Leaf] = [Leaf(((0, 1.5),)), Leaf(((0, 2.25),))]
    agrees("TreeEnsembleRegressor", rows(), n_targets=1, **numbered(trees, "target"))
    agrees("TreeEnsembleRegressor", rows(), n_targets=1, **numbered([*trees, *forest(1, 2)], "target"))


def test_rows_do_not_matter() -> None:
    """The label of a row is the same alone and among others."""
    attrs = numbered(forest(5, targets=3), "class")
    x = rows()
    together = compiled(*ml_node("TreeEnsembleClassifier", [x], 2, classlabels_int64s=[0, 1, 2], **attrs))
    for at in (0, 17):
        alone = compiled(*ml_node("TreeEnsembleClassifier", [x[at : at + 1]], 2, classlabels_int64s=[0, 1, 2], **attrs))
        for one, many in zip(alone, together):
            np.testing.assert_array_equal(one[0], many[at])


def test_labels_that_are_strings() -> None:
    attrs = numbered(forest(5, targets=3), "class")
    proto, feeds = ml_node("TreeEnsembleClassifier", [rows()], 2, classlabels_strings=["a", "bb", "Zoë"], **attrs)
    for found, expected in zip(compiled(proto, feeds), onnxruntime(proto, feeds), strict=True):
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        else:
            assert found.tolist() == expected.tolist() and len(set(found)) == 3


@pytest.mark.parametrize("mode", ["BRANCH_EQ", "BRANCH_LT"])
@pytest.mark.parametrize("missing", [0, 1])
def test_branches_that_lead_to_the_same_node(mode: str, missing: int) -> None:
    """As LightGBM's splits by sets of categories are exported: a chain of comparisons, each with one of them."""
    leaf = ["LEAF"] * 3
    attrs = {
        "nodes_treeids": [0] * 7, "nodes_nodeids": list(range(7)), "nodes_modes": [mode] * 3 + leaf[:1] + ["BRANCH_LEQ"]
        + leaf[1:], "nodes_featureids": [0, 0, 0, 0, 1, 0, 0], "nodes_values": [1.0, 3.0, 4.0, 0.0, 0.25, 0.0, 0.0],
        "nodes_truenodeids": [4, 4, 4, 0, 5, 0, 0], "nodes_falsenodeids": [1, 2, 3, 0, 6, 0, 0],
        "nodes_missing_value_tracks_true": [missing] * 3 + [0] * 4, "target_treeids": [0] * 3,
        "target_nodeids": [3, 5, 6], "target_ids": [0] * 3, "target_weights": [-1.0, 2.0, 3.5],
    }  # fmt: skip
    x = np.stack([np.repeat(np.float32([0, 1, 2, 3, 4, 5, np.nan, -1]), 2), np.tile(np.float32([0, 1]), 8)], 1)
    agrees("TreeEnsembleRegressor", np.concatenate([x, rows()[:16, 2:]], 1), n_targets=1, **attrs)


def chain(depth: int) -> list[Split | Leaf]:
    tree: Split | Leaf = Leaf(((0, 1.0),))
    for _ in range(depth):
        tree = Split("BRANCH_LEQ", 0, 0.0, False, Leaf(((0, 1.0),)), tree)
    return [tree]


def broken(name: str, value: Any) -> dict[str, Any]:
    attrs = numbered(forest(1, 2), "target")
    attrs[name] = value(attrs[name]) if callable(value) else value
    return attrs


def replaced(position: int, entry: Any) -> Any:
    return lambda column: [*column[:position], entry, *column[position + 1 :]]


DAMAGED: list[tuple[str, dict[str, Any]]] = [
    ("different lengths", broken("nodes_values", lambda column: column[:-1])),
    ("different lengths", broken("target_weights", lambda column: column[:-1])),
    ("features", broken("nodes_featureids", replaced(0, FEATURES))),
    ("features", broken("nodes_featureids", replaced(0, -1))),
    ("not there", broken("nodes_truenodeids", replaced(0, 10**9))),
    ("circle", broken("nodes_truenodeids", replaced(0, 0))),
    ("circle", {**numbered([Split("BRANCH_LEQ", 0, 0.0, False, *[Leaf(((0, 1.0),))] * 2)], "target"),
                "nodes_truenodeids": [0, 0, 0]}),
    ("two branches|circle", broken("nodes_truenodeids", replaced(0, 2))),
    ("same number", broken("nodes_nodeids", replaced(1, 0))),
    ("no mode", broken("nodes_modes", replaced(0, "BRANCH_UP"))),
    ("target_ids", broken("target_ids", replaced(0, 1))),
    ("no leaves", broken("target_nodeids", replaced(0, 0))),
    ("not finite", broken("target_weights", replaced(0, float("inf")))),
    ("NaN", broken("nodes_values", replaced(0, float("nan")))),
    ("deep", numbered(chain(5000), "target")),
    ("base_values", {**numbered(forest(1, 2), "target"), "base_values": [1.0, 2.0]}),
    ("aggregate_function", {**numbered(forest(1, 2), "target"), "aggregate_function": "MEAN"}),
    ("post_transform", {**numbered(forest(1, 2), "target"), "post_transform": "SIGMOID"}),
    ("targets", {**numbered(forest(1, 2), "target"), "n_targets": 0}),
    ("targets", {**numbered(forest(1, 2), "target"), "n_targets": 2**40}),
]


@pytest.mark.parametrize(("text", "attrs"), DAMAGED)
def test_damaged_ensembles(text: str, attrs: dict[str, Any]) -> None:
    proto, _ = ml_node("TreeEnsembleRegressor", [rows()], **{"n_targets": 1, **attrs})
    with pytest.raises(CcmlError, match=text) as caught:
        checked_import(proto)
    assert caught.value.kind in (ErrorCode.INVALID_MODEL, ErrorCode.UNSUPPORTED_FEATURE)


@pytest.mark.parametrize(
    ("name", "value"),
    [("nodes_truenodeids", replaced(0, 10**6)), ("nodes_falsenodeids", replaced(0, -1)), ("tree_roots", [10**6]),
     ("leaf_targetids", replaced(0, 9)), ("nodes_trueleafs", lambda column: column[1:])],
)  # fmt: skip
def test_damaged_ensembles_of_version_5(name: str, value: Any) -> None:
    attrs = listed(forest(10, 3, targets_of_leaf=(0,)), np.dtype(np.float32))
    attrs[name] = value(attrs[name]) if callable(value) else value
    with pytest.raises(CcmlError) as caught:
        checked_import(ml_node("TreeEnsemble", [rows()], version=5, n_targets=1, **attrs)[0])
    assert caught.value.kind is ErrorCode.INVALID_MODEL


def _kernels_of_trees(proto: onnx.ModelProto) -> str:
    program = lower_graph(optimize(checked_import(proto)), host_machine())
    return "".join(print_kernel(each) for each in program.kernels if each.name.startswith("trees"))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("count", "width", "compared"), [(2, 5, "x[n"), (25, 5, "keys["), (25, 40, "keys[")])
def test_features_are_compared_as_floats_or_by_keys(count: int, width: int, compared: str, missing: bool) -> None:
    """Floats where rows pass few nodes, else keys, of the features in use alone where these are few. NaN of both signs
    go where the nodes want them."""
    trees = forest(50 + count, count, missing=missing)
    x = features(np.random.default_rng(2), 40, width)
    (y,) = compiled(*ml_node("TreeEnsembleRegressor", [x], n_targets=1, **numbered(trees, "target")))
    np.testing.assert_allclose(y, scores(trees, x, 1), rtol=1e-5, atol=1e-6)
    proto, _ = ml_node("TreeEnsembleRegressor", [x], n_targets=1, **numbered(trees, "target"))
    text = _kernels_of_trees(proto)
    assert f"if {compared}" in text
    assert ("features[" in text) is (width == 40)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64])
def test_integers_are_compared_as_they_are(dtype: type[Any]) -> None:
    """Integers that become floats in front of the trees, the least and the greatest among them, and such as float32
    rounds."""
    trees = forest(8, 9, missing=True)
    info, rng = np.iinfo(dtype), np.random.default_rng(3)
    far = np.array([info.min, info.max, 2**24 + 1 if info.bits > 16 else 1, 0]).astype(dtype)
    x = np.concatenate([rng.integers(-3 if info.min else 0, 4, (60, FEATURES)).astype(dtype), rng.choice(far, (20, 5))])
    proto, _ = ml_node("TreeEnsembleRegressor", [x.astype(np.float32)], n_targets=1, **numbered(trees, "target"))
    proto.graph.node.insert(0, helper.make_node("Cast", ["q"], [proto.graph.input[0].name], to=1))
    proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("q", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
    (y,) = compiled(proto, {"q": x})
    np.testing.assert_allclose(y, scores(trees, x.astype(np.float32), 1), rtol=1e-5, atol=1e-6)
    text = _kernels_of_trees(proto)
    assert f" x: {DType.from_numpy(x.dtype).value}[80,5] const" in text and "if x[n" in text


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize(("count", "copied"), [(2, False), (150, True)])
def test_features_are_copied_to_words_where_narrow_loads_are_long(
    count: int, copied: bool, dtype: type[Any]
) -> None:
    """Where many nodes ask for few features; those that hardly any node asks for stay where they are."""
    rng, width, plain = np.random.default_rng(4), 45, select("generic")
    often = [grow(rng, 4, 6, 1) for _ in range(count)]
    trees = [*often, *(grow(rng, 1, width, 1) for _ in range(3))]
    info = np.iinfo(dtype)
    x = np.concatenate([rng.integers(-3, 4, (40, width)), rng.choice([info.min, info.max], (10, width))]).astype(dtype)
    proto, _ = ml_node("TreeEnsembleRegressor", [x.astype(np.float32)], n_targets=1, **numbered(trees, "target"))
    proto.graph.node.insert(0, helper.make_node("Cast", ["q"], [proto.graph.input[0].name], to=1))
    proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("q", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
    graph = optimize(checked_import(proto))
    for name in ("", "cortex-m0plus", "cortex-m4"):
        like = select(name).cpu if name else plain.cpu
        cpu = replace(
            plain.cpu, long_narrow_loads=like.long_narrow_loads, short_instructions=like.short_instructions
        )
        machine = replace(plain, cpu=cpu)
        program = lower_graph(graph, machine)
        text = "".join(print_kernel(each) for each in program.kernels if each.name.startswith("trees"))
        assert ("if words[" in text) is (copied and bool(name)) and "if x[n" in text
        (y,) = JitModel(program, machine).run({"q": x}).values()
        np.testing.assert_allclose(y, scores(trees, x.astype(np.float32), 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("count", "tables"), [(20, False), (300, True)])
@pytest.mark.parametrize(("targets", "each"), [(1, False), (3, False), (6, False), (3, True), (6, True)])
def test_code_and_tables(targets: int, each: bool, count: int, tables: bool) -> None:
    """Small ensembles are branches, large ones loops over tables; totals in registers and in memory."""
    trees = [
        tree for n in range(count)
        for tree in forest(100 + n, 1, targets, targets_of_leaf=(n % targets,) if each else None)
    ]  # fmt: skip
    attrs = numbered(trees, "target")
    x = features(np.random.default_rng(1), 3, FEATURES)
    agrees("TreeEnsembleRegressor", x, n_targets=targets, atol=1e-5, **attrs)
    proto, _ = ml_node("TreeEnsembleRegressor", [x], n_targets=targets, **attrs)
    text = _kernels_of_trees(proto)
    assert ("for d:" in text) is tables


@pytest.mark.parametrize(
    ("classes", "samples", "written"),
    [
        (2, 6, "words"), (3, 4, "words"), (3, 1, "total: i32[3]"), (3, 300, "total"), (10, 1, "total: u8"),
        (10, 4, "targets"), (10, 300, "multipliers"),
    ],
)  # fmt: skip
def test_shares_of_classes(classes: int, samples: int, written: str) -> None:
    """Totals as fields of a word, in registers, as bytes, by lists of parts or of counts: the label is that of the
    greatest sum, with and without the probabilities beside it."""
    rng, count = np.random.default_rng(classes + samples), 12
    trees = [with_shares(tree, rng, classes, samples, count) for tree in forest(50 + samples, count, depth=5)]
    attrs = {"classlabels_int64s": list(range(classes)), **numbered(trees, "class")}
    x = rows(count=60)
    proto, _ = ml_node("TreeEnsembleClassifier", [x], outputs=2, **attrs)
    expected = scores(trees, x, classes)
    label, probabilities = compiled(proto, {"x0": x})
    np.testing.assert_allclose(probabilities, expected, rtol=2e-6, atol=1e-7)
    best = np.sort(expected, axis=1)[:, -2:]
    clear = best[:, 1] - best[:, 0] > 1e-6
    np.testing.assert_array_equal(label[clear], expected.argmax(axis=1)[clear])
    alone = onnx.ModelProto()
    alone.CopyFrom(proto)
    del alone.graph.output[1]
    np.testing.assert_array_equal(compiled(alone, {"x0": x})[0], label)
    assert written in _kernels_of_trees(alone)


@pytest.mark.parametrize(("samples", "tables"), [(1, True), (300, False)])
def test_votes_are_tables_where_code_is_to_be_small(samples: int, tables: bool) -> None:
    """Leaves of which there are as many as classes take next to nothing beside the nodes, those with shares more than
    the branches would; tables say what branches do."""
    rng, count, plain = np.random.default_rng(7), 40, select("generic")
    trees = [with_shares(tree, rng, 10, samples, count) for tree in forest(60, count, depth=5)]
    attrs = {"classlabels_int64s": list(range(10)), **numbered(trees, "class")}
    x = rows(count=60)
    proto, _ = ml_node("TreeEnsembleClassifier", [x], outputs=2, **attrs)
    del proto.graph.output[1]
    graph, labels = optimize(checked_import(proto)), []
    for compact in (False, True):
        machine = replace(plain, cpu=replace(plain.cpu, compact=compact))
        program = lower_graph(graph, machine)
        text = "".join(print_kernel(each) for each in program.kernels if each.name.startswith("trees"))
        assert ("for d:" in text) is (tables and compact)
        labels += JitModel(program, machine).run({program.inputs[0].name: x}).values()
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], scores(trees, x, 10).argmax(axis=1))


def test_nodes_that_choose_nothing() -> None:
    """Branches that come to leaves of the same weights need no comparison, however deep they are."""
    same = Leaf(((0, 0.5),))
    idle = Split("BRANCH_LEQ", 1, 0.5, False, Split("BRANCH_LEQ", 2, 0.25, False, same, same), same)
    trees: list[Split | Leaf] = [Split("BRANCH_LEQ", 0, 0.0, False, idle, Leaf(((0, 0.25),)))]
    proto, _ = ml_node("TreeEnsembleRegressor", [rows()], n_targets=1, **numbered(trees, "target"))
    (y,) = compiled(proto, {"x0": rows()})
    np.testing.assert_array_equal(y, scores(trees, rows(), 1))
    assert _kernels_of_trees(proto).count("if ") == 1
