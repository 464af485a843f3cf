"""Models with strings, compiled for this machine: against ONNX's reference and ONNX Runtime, or what the text says."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx.dims import Range
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.verification.c_model import CModel
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime, reference
from tests.frontend_onnx.graphs import checked_import, model, value

STRING = TensorProto.STRING
X = np.array([["a", "", "Zoë"], ["日本", "a", "bc d"]], object)
ROW = np.array(["Monday", "tuesday", "MONDAY", "Ärger", "", "the end"], object)


def programs(proto: onnx.ModelProto, **options: Any) -> list[JitModel | CModel]:
    """The model by LLVM and as C."""
    machine = host_machine()
    program = lower_graph(optimize(checked_import(proto, **options)), machine)
    return [JitModel(program, machine), CModel(program, machine)]


def results(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray], **options: Any) -> list[np.ndarray]:
    """The outputs by LLVM, which are those of the C sources."""
    jit, c = (each.run(feeds) for each in programs(proto, **options))
    for name, array in jit.items():
        np.testing.assert_array_equal(c[name], array)
    return [jit[output.name] for output in proto.graph.output]


def strings(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return value(name, array.shape, STRING)


def of_strings(
    op: str, *arrays: np.ndarray, outputs: int = 1, constants: Mapping[str, np.ndarray] | None = None, **attrs: Any
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of one operator, all of whose inputs are strings; ``constants`` are further operands."""
    feeds = {f"x{n}": array for n, array in enumerate(arrays)}
    node = helper.make_node(op, [*feeds, *(constants or {})], [f"y{n}" for n in range(outputs)], **attrs)
    return model([node], [strings(name, array) for name, array in feeds.items()], node.output, constants), feeds


def agrees(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray], oracle: Any = reference) -> list[np.ndarray]:
    found = results(proto, feeds)
    for array, expected in zip(found, oracle(proto, feeds), strict=True):
        assert array.shape == expected.shape and array.tolist() == expected.tolist()
    return found


MOVES: list[tuple[str, int, dict[str, np.ndarray], dict[str, Any]]] = [
    ("Identity", 1, {}, {}),
    ("Transpose", 1, {}, {"perm": [1, 0]}),
    ("Concat", 2, {}, {"axis": 1}),
    ("Reshape", 1, {"shape": np.array([3, 1, 2])}, {}),
    ("Gather", 1, {"indices": np.array([[2, 0], [1, 1]])}, {"axis": 1}),
    ("Slice", 1, {"starts": np.array([2]), "ends": np.array([-9]), "axes": np.array([1]), "steps": np.array([-1])}, {}),
    ("Tile", 1, {"repeats": np.array([1, 2])}, {}),
    ("Pad", 1, {"pads": np.array([1, 0, 0, 1]), "fill": np.array("-", object)}, {}),
    ("Where", 0, {"c": np.array([[True], [False]]), "x": X, "y": np.array(["k", "long one", ""], object)}, {}),
    ("Expand", 1, {"shape": np.array([2, 2, 3])}, {}),
    ("Unsqueeze", 1, {"axes": np.array([0])}, {}),
    ("Compress", 1, {"condition": np.array([True, False, True])}, {"axis": 1}),
    ("Size", 1, {}, {}),
]


@pytest.mark.parametrize(("op", "count", "constants", "attrs"), MOVES)
def test_strings_are_moved(op: str, count: int, constants: dict[str, np.ndarray], attrs: dict[str, Any]) -> None:
    agrees(*of_strings(op, *[X, X[:, ::-1]][:count], constants=constants, **attrs))


def test_a_border_is_of_empty_strings() -> None:
    (found,) = results(*of_strings("Pad", X, constants={"pads": np.array([0, 1, 1, 0])}))
    assert found.tolist() == [["", *row] for row in [*X.tolist(), [""] * 3]]


def test_strings_are_moved_by_operands_of_a_run() -> None:
    inputs = [strings("x", X), value("at", [2], TensorProto.INT64), value("c", [2, 1], TensorProto.BOOL)]
    nodes = [
        helper.make_node("Gather", ["x", "at"], ["g"], axis=0), helper.make_node("Where", ["c", "g", "k"], ["w"]),
        helper.make_node("Concat", ["w", "x"], ["y"], axis=0),
    ]  # fmt: skip
    proto = model(nodes, inputs, ["y", "g"], {"k": np.array("constant and long", object)})
    agrees(proto, {"x": X, "at": np.array([1, 1]), "c": np.array([[True], [False]])})


def test_outputs_that_are_constants_and_inputs() -> None:
    words = np.array(["one", "", "drei ü"], object)
    constant = helper.make_node("Constant", [], ["k"], value_strings=["a", "bb"])
    nodes = [constant, helper.make_node("Identity", ["x"], ["y"])]
    agrees(model(nodes, [strings("x", X)], ["k", "y", "c"], {"c": words}), {"x": X})


@pytest.mark.parametrize("constant", [False, True])
def test_equal(constant: bool) -> None:
    """Of two computed sides, and of one with few constant strings; shorter strings are the beginning of longer ones."""
    y = np.array([["a"], ["日本"]], object)
    agrees(*of_strings("Equal", X, *(() if constant else (y,)), constants={"y": y} if constant else {}))
    agrees(*of_strings("Equal", np.array(["a", "aa", "b"], object), np.array(["aa", "a", "b"], object)))


def test_concat() -> None:
    agrees(*of_strings("StringConcat", X, np.array(["", "ü", "xyz"], object)))
    agrees(*of_strings("StringConcat", X, constants={"k": np.array([["-"], [" tail"]], object)}))
    label = helper.make_node("Where", ["c", "a", "b"], ["l"])
    nodes = [label, helper.make_node("StringConcat", ["l", "t"], ["y"])]
    constants = {name: np.array(text, object) for name, text in (("a", "yes"), ("b", "no"), ("t", "!"))}
    agrees(model(nodes, [value("c", [2], TensorProto.BOOL)], ["y"], constants), {"c": np.array([True, False])})


def test_concat_has_room_for_both() -> None:
    proto, feeds = of_strings("StringConcat", np.array(["x" * 5]), np.array(["ü" * 3]))
    assert results(proto, feeds, bounds={"x0": 5, "x1": 6})[0].tolist() == ["xxxxxüüü"]


@pytest.mark.parametrize(("delimiter", "most"), [(None, None), (",", None), ("ab", 1), ("", 2), (",", 0)])
def test_split(delimiter: str | None, most: int | None) -> None:
    x = np.array([["a,b,,c", " x  y\u3000z "], ["", "ab1ab2"]], object)
    given = {"delimiter": delimiter, "maxsplit": most}
    agrees(*of_strings("StringSplit", x, outputs=2, **{k: v for k, v in given.items() if v is not None}))


def test_split_of_constants_and_what_follows() -> None:
    """The number of parts is known; elsewhere it is an extent of a run, along which others work."""
    split = helper.make_node("StringSplit", ["x"], ["p", "n"], delimiter="-")
    nodes = [split, helper.make_node("StringConcat", ["p", "k"], ["y"])]
    constants = {"k": np.array("!", object)}
    agrees(model(nodes, [], ["y", "n"], {**constants, "x": np.array(["a-b-c", "d"], object)}), {})
    upper = helper.make_node("RegexFullMatch", ["p"], ["y"], pattern="[a-c]")
    agrees(model([split, upper], [value("x", [2], STRING)], ["y", "n"]), {"x": np.array(["a-b-c", "d"], object)})


@pytest.mark.parametrize("action", ["LOWER", "UPPER", "NONE"])
@pytest.mark.parametrize("sensitive", [0, 1])
@pytest.mark.parametrize("shape", [(6,), (1, 6)])
def test_normalizer(action: str, sensitive: int, shape: tuple[int, ...]) -> None:
    stops = ["monday", "the end", "ÄRGER"]
    proto, feeds = of_strings(
        "StringNormalizer", ROW.reshape(shape), case_change_action=action, is_case_sensitive=sensitive, stopwords=stops
    )
    kept = [w for w in ROW if (w not in stops if sensitive else w.lower() not in [s.lower() for s in stops])]
    change = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}[action]
    (found,) = results(proto, feeds)
    assert found.reshape(-1).tolist() == [change(word) for word in kept] and found.ndim == len(shape)


@pytest.mark.parametrize("stops", [{}, {"stopwords": ["a"]}], ids=["", "stopwords"])
@pytest.mark.parametrize("shape", [(0,), (1, 0)])
def test_normalizer_of_no_strings(shape: tuple[int, ...], stops: dict[str, Any]) -> None:
    """Where no string is left, one empty string is: "all elements in X are dropped" holds where there are none."""
    agrees(*of_strings("StringNormalizer", np.empty(shape, object), **stops))


@pytest.mark.parametrize("attrs", [{}, {"sorted": 0}, {"axis": 0}, {"axis": 1}, {"axis": 1, "sorted": 0}])
def test_unique(attrs: dict[str, Any]) -> None:
    """In the order of UTF-8; how many there are a run finds out. Of constants when the model is compiled."""
    x = np.array([["b", "é", "b", "a"], ["", "zz", "", "a"], ["b", "é", "b", "a"]], object)
    agrees(*of_strings("Unique", x, outputs=4, **attrs), oracle=onnxruntime)
    node = helper.make_node("Unique", ["k"], ["y"], **attrs)
    agrees(model([node], [], ["y"], {"k": x}), {}, oracle=onnxruntime)


def test_normalizer_of_ascii_is_that_of_onnxruntime() -> None:
    x = np.array(["Monday", "tuesday", "MONDAY", "x"], object)
    for stops in (["monday"], ["monday", "tuesday", "x"], []):
        for action in ("LOWER", "UPPER"):
            attrs = {"case_change_action": action, "is_case_sensitive": 0, "stopwords": stops, "locale": "C"}
            attrs = {name: attr for name, attr in attrs.items() if attr != []}
            agrees(*of_strings("StringNormalizer", x, **attrs), oracle=onnxruntime)


def test_case_of_every_character() -> None:
    """Characters whose other case is one character, whatever its length in UTF-8."""
    codes = [code for code in range(1, 0x20000) if not 0xD800 <= code < 0xE000]
    x = np.array(["".join(map(chr, codes[n : n + 16])) for n in range(0, len(codes), 16)], object)
    for action, change in (("UPPER", str.upper), ("LOWER", str.lower)):
        proto, feeds = of_strings("StringNormalizer", x, case_change_action=action)
        machine = host_machine()
        program = lower_graph(optimize(checked_import(proto)), machine)
        found = "".join(JitModel(program, machine).run(feeds)["y0"].tolist())
        assert found == "".join(c if len(change(c)) != 1 else change(c) for text in x for c in text)


def test_tfidf_of_words() -> None:
    attrs = {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "ngram_counts": [0, 3],
        "pool_strings": ["a", "b", "c", "a", "b", "b", "c"], "ngram_indexes": [0, 1, 2, 3, 4],
    }  # fmt: skip
    x = np.array(["a", "b", "b", "x", "c", "a", "b"], object)
    agrees(*of_strings("TfIdfVectorizer", x, **attrs), oracle=onnxruntime)


def test_an_extent_of_strings_is_an_argument() -> None:
    nodes = [helper.make_node("StringConcat", ["x", "k"], ["y"]), helper.make_node("Equal", ["x", "a"], ["e"]),
             helper.make_node("Gather", ["x", "place"], ["column"], axis=1),
             helper.make_node("Equal", ["column", "a"], ["f"])]  # fmt: skip
    constants = {"k": np.array("!", object), "a": np.array("a", object), "place": np.array([1])}
    proto = model(nodes, [value("x", ["n", 3], STRING)], ["y", "e", "f"], constants)
    for run in programs(proto, dims={"n": Range(1, 4)}):
        for count in (1, 2, 4):
            x = np.concatenate([X, X])[:count]
            found = run.run({"x": x})
            assert found["y"].tolist() == (x + "!").tolist() and found["e"].tolist() == (x == "a").tolist()
            assert found["f"].tolist() == (x[:, 1:2] == "a").tolist()


def test_strings_of_several_inputs_of_a_ranged_extent() -> None:
    """Where a string is depends on no bound: tables of equal and of other lengths, and one with a constant."""
    nodes = [helper.make_node("Concat", ["x", "w"], ["joined"], axis=1),
             helper.make_node("Concat", ["joined", "x"], ["twice"], axis=1),
             helper.make_node("Where", ["there", "x", "k"], ["chosen"]),
             helper.make_node("Equal", ["joined", "k"], ["same"])]  # fmt: skip
    inputs = [value("x", ["n", 3], STRING), value("w", ["n", 1], STRING), value("there", ["n", 3], TensorProto.BOOL)]
    proto = model(nodes, inputs, ["joined", "twice", "chosen", "same"], {"k": np.array("a", object)})
    for run in programs(proto, dims={"n": Range(1, 4)}):
        for count in (1, 3, 4):
            x = np.concatenate([X, X])[:count]
            feeds = {"x": x, "w": x[:, :1] + "w", "there": np.arange(3 * count).reshape(count, 3) % 2 == 0}
            joined = np.concatenate([x, feeds["w"]], 1)
            found = run.run(feeds)
            assert found["joined"].tolist() == joined.tolist()
            assert found["twice"].tolist() == np.concatenate([joined, x], 1).tolist()
            assert found["chosen"].tolist() == np.where(feeds["there"], x, "a").tolist()
            assert found["same"].tolist() == (joined == "a").tolist()


def test_strings_put_together_along_ranged_extents() -> None:
    """Those of two inputs and a constant, one behind the other: their numbers depend on both extents."""
    nodes = [helper.make_node("Concat", ["x", "k", "w", "x"], ["y"], axis=0),
             helper.make_node("LabelEncoder", ["y"], ["n"], domain="ai.onnx.ml", keys_strings=["a", "Zoë", "aw"],
                              values_int64s=[1, 2, 3], default_int64=-1)]  # fmt: skip
    inputs = [value("x", ["n", 3], STRING), value("w", ["m", 3], STRING)]
    constants = {"k": np.array([["", "a", "?"]], object)}
    proto = model(nodes, inputs, ["y", "n"], constants, domains={"ai.onnx.ml": 4})
    for run in programs(proto, dims={"n": Range(1, 4), "m": Range(1, 3)}):
        for n, m in ((1, 3), (4, 1), (2, 3), (4, 3)):
            x, w = np.concatenate([X, X])[:n], np.concatenate([X, X])[:m] + "w"
            wanted = np.concatenate([x, [["", "a", "?"]], w, x])
            found = run.run({"x": x, "w": w})
            assert found["y"].tolist() == wanted.tolist()
            numbers = [[{"a": 1, "Zoë": 2, "aw": 3}.get(text, -1) for text in row] for row in wanted]
            assert found["n"].tolist() == numbers


@pytest.mark.parametrize("shape", [["n"], ["n", 2], ["n", "m"]])
def test_parts_of_as_many_strings_as_a_run_has(shape: list[int | str]) -> None:
    split = helper.make_node("StringSplit", ["x"], ["p", "c"], delimiter=" ")
    proto = model([split], [value("x", shape, STRING)], ["p", "c"])
    dims = {name: Range(1, 3) for name in shape if isinstance(name, str)}
    texts = np.array(["a b", "c", "d e f", "", " ", "g"], object)
    for run in programs(proto, dims=dims):
        for sizes in product(*(range(1, 4) if isinstance(size, str) else [size] for size in shape)):
            x = np.resize(texts, sizes)
            parts = [text.split(" ") for text in x.reshape(-1)]
            longest = max(map(len, parts))
            found = run.run({"x": x})
            assert found["c"].tolist() == np.array([len(p) for p in parts]).reshape(sizes).tolist()
            rows = [[*p, *[""] * (longest - len(p))] for p in parts]
            assert found["p"].tolist() == np.array(rows, object).reshape(*sizes, longest).tolist()


def test_strings_that_are_too_long_or_none() -> None:
    proto, _ = of_strings("Identity", np.array(["abc"]))
    jit, c = programs(proto, bounds={"x0": 4})
    for run in (jit, c):
        assert run.run({"x0": np.array(["abcd"])})["y0"].tolist() == ["abcd"]
        wrong = ((["abcde"], "--max x0=5"), (["üüü"], "6 bytes"), (["a\0b"], "U\\+0000"), (["\ud800"], "Unicode"))
        for bad, reason in wrong:
            with pytest.raises(CcmlError, match=reason) as caught:
                run.run({"x0": np.array(bad, object)})
            assert caught.value.kind is ErrorCode.BAD_INPUT
    with pytest.raises(CcmlError, match="got a int"):
        jit.run({"x0": np.array([1], object)})


def test_bytes_are_taken_as_they_are() -> None:
    proto, _ = of_strings("Identity", np.array(["a", "b"]))
    jit = programs(proto, bounds={"x0": 3})[0]
    raw = np.frombuffer(b"ab\0xyz", np.uint8).reshape(2, 3)
    assert jit.run({"x0": raw})["y0"].tolist() == ["ab", "xyz"]
    assert jit.run({"x0": np.array([b"ab", b"xyz"])})["y0"].tolist() == ["ab", "xyz"]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("RegexFullMatch", {"pattern": "(a)\\1"}, "back-reference"),
    ("StringNormalizer", {"case_change_action": "UPPER", "locale": "tr_TR"}, "letters of the locale tr_TR"),
]


@pytest.mark.parametrize(("op", "attrs", "reason"), REFUSED)
def test_what_is_refused(op: str, attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(CcmlError, match=reason) as caught:
        checked_import(of_strings(op, ROW, **attrs)[0])
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE


def test_what_is_wrong() -> None:
    for proto, reason in (
        (of_strings("Add", X, X)[0], "takes no strings"),
        (model([helper.make_node("StringConcat", ["x", "x"], ["y"])], [value("x", [2])], ["y"]), "not strings"),
        (of_strings("Equal", X, constants={"k": np.float32([1, 2, 3])})[0], "not strings"),
    ):
        with pytest.raises(CcmlError, match=reason) as caught:
            checked_import(proto)
        assert caught.value.kind is ErrorCode.INVALID_MODEL
    cast = model([helper.make_node("Cast", ["x"], ["y"], to=STRING)], [value("x", [2])], ["y"])
    for proto, options, reason in (
        (cast, {}, "casts of floats to strings"),
        (of_strings("Identity", X)[0], {"bounds": {"z": 3}}, "z is no input of strings"),
        (of_strings("Identity", X)[0], {"bounds": {"x0": 0}}, "at most 0 bytes"),
    ):  # fmt: skip
        with pytest.raises(CcmlError, match=reason):
            checked_import(proto, **options)


def test_control_flow_at_run_time() -> None:
    """Bodies read strings, and branches give them, of different lengths."""
    x = np.array("b", object)
    def graph(op: str, operands: list[str], result: str, elem_type: int) -> onnx.GraphProto:
        return helper.make_graph([helper.make_node(op, operands, [result])], op, [], [value(result, [2], elem_type)])

    body, other = graph("Equal", ["x", "k"], "e", TensorProto.BOOL), graph("Not", ["n"], "e2", TensorProto.BOOL)
    node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)
    inputs = [value("c", [], TensorProto.BOOL), value("x", [2], STRING), value("n", [2], TensorProto.BOOL)]
    proto = model([node], inputs, ["y"], {"k": x})
    for c in (True, False):
        agrees(proto, {"c": np.array(c), "x": np.array(["a", "b"], object), "n": np.array([True, False])})
    own, twin = graph("Identity", ["x"], "z", STRING), graph("StringConcat", ["x", "x"], "z2", STRING)
    node = helper.make_node("If", ["c"], ["y"], then_branch=own, else_branch=twin)
    proto = model([node], inputs[:2], ["y"])
    proto.graph.output[0].CopyFrom(value("y", [2], STRING))
    for c in (True, False):
        agrees(proto, {"c": np.array(c), "x": np.array(["a", "bé"], object)})
