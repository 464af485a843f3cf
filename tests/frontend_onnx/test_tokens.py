"""The Tokenizer of ONNX Runtime's domain, by LLVM and as C, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError
from ccml.frontend_onnx.dims import Range
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import checked_import, model, value
from tests.frontend_onnx.test_strings import programs

TEXTS = np.array(["The cat's hat", "  ", "Zoë, 日本 & a_b", "", "one\ntwo  x", "# 9#"], object)
FORMS: Mapping[str, dict[str, Any]] = {
    "words": {"tokenexp": "[a-zA-Z0-9_]+"},
    "words between borders": {"tokenexp": r"\b\w+\b"},
    "characters": {"tokenexp": "."},
    "characters without a pattern": {"separators": [""]},
    "characters of a class": {"tokenexp": "[^ ,]"},
    "what is no space": {"tokenexp": r"[^\s]+"},
    "separators": {"separators": [" ", "[,#]"]},
}


def tokens(shape: list[int | str], pad_value: str = "#", **attrs: Any) -> onnx.ModelProto:
    attrs = {"mark": 0, "mincharnum": 1, "pad_value": pad_value, **attrs}
    node = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", **attrs)
    return model([node], [value("x", shape, TensorProto.STRING)], ["y"], domains={"com.microsoft": 1})


def check(proto: onnx.ModelProto, *texts: np.ndarray, **options: Any) -> None:
    for program in programs(proto, **options):
        for x in texts:
            (found,), (wanted,) = program.run({"x": x}).values(), onnxruntime(proto, {"x": x})
            assert found.shape == wanted.shape and found.tolist() == wanted.tolist()


@pytest.mark.parametrize("form", FORMS)
def test_tokens(form: str) -> None:
    check(tokens([len(TEXTS)], **FORMS[form]), TEXTS)


def test_tokens_of_a_matrix() -> None:
    check(tokens([3, 2], pad_value="a long one", **FORMS["words"]), TEXTS.reshape(3, 2))


@pytest.mark.parametrize("form", ["words", "characters"])
@pytest.mark.parametrize("columns", [0, 1])
def test_tokens_of_as_many_texts_as_a_run_has(form: str, columns: int) -> None:
    texts = [TEXTS[start : start + count].reshape(count, *[1] * columns) for start, count in ((2, 1), (0, 3), (1, 4))]
    check(tokens(["n", *[1] * columns], **FORMS[form]), *texts, dims={"n": Range(1, 4)})


def test_counts_of_tokens_that_are_like_the_padding() -> None:
    """Behind the end of the longest list there is nothing; within it, shorter ones are filled up."""
    proto = tokens(["n"], tokenexp=".")
    attrs = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "mode": "TF", "ngram_counts": [0, 3]}
    pool = {"pool_strings": ["#", "a", "t", "#", "#", "a", "t"], "ngram_indexes": [0, 1, 2, 3, 4]}
    proto.graph.node.append(helper.make_node("TfIdfVectorizer", ["y"], ["z"], **attrs, **pool))
    del proto.graph.output[:]
    proto.graph.output.append(value("z", None))
    check(proto, TEXTS[:3], TEXTS[5:], dims={"n": Range(1, 4)})


@pytest.mark.parametrize("shape", [(3,), (3, 1), (32, 1)], ids=["list", "column", "as many as tokens"])
def test_labels_of_tokens(shape: tuple[int, ...]) -> None:
    """There are fewer tokens than rows of their table, of which one is for the padding. Texts of 64 bytes have up to 32
    tokens."""
    proto = tokens([*shape], **FORMS["words"])
    labels = {"keys_strings": ["cat", "#", "a_b"], "values_int64s": [4, 7, 9], "default_int64": -1}
    proto.graph.node.append(helper.make_node("LabelEncoder", ["y"], ["z"], domain="ai.onnx.ml", **labels))
    proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    del proto.graph.output[:]
    proto.graph.output.append(value("z", None, TensorProto.INT64))
    check(proto, *(np.resize(texts, shape) for texts in (TEXTS[:3], TEXTS[3:])))


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        ({"tokenexp": "ab+"}, "another form"),
        ({"tokenexp": "[日本]+"}, "more than 256 characters"),
        ({"separators": ["ab"]}, "several characters"),
        ({"tokenexp": ".", "mincharnum": 2}, "mincharnum"),
        ({"tokenexp": ".", "mark": 1}, "marks"),
        ({"tokenexp": "[a"}, "pattern"),
    ],
)
def test_other_forms_are_refused(attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        checked_import(tokens([2], **attrs))
