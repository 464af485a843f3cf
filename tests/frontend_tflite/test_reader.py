"""Files that are damaged, made to be expensive, or ask for what there is not: errors that say what and where."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
import tflite
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_tflite import is_tflite, read_tflite

from tests.frontend_tflite.build import G, Op, T, build, const

X, Y = T("x", (2, 3)), T("y", (2, 3))


def read(tmp_path: Path, *graphs: G) -> object:
    path = tmp_path / "m.tflite"
    path.write_bytes(build(*graphs))
    return read_tflite(path)


def refused(tmp_path: Path, *graphs: G) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        read(tmp_path, *graphs)
    return caught.value


def one(op: Op, *tensors: T, inputs: Sequence[str] = ("x",), outputs: Sequence[str] = ("y",)) -> G:
    return G(tensors, [op], inputs, outputs)


def test_a_file_is_known_by_its_suffix_or_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(build(one(Op("ABS", ["x"], ["y"]), X, Y)))
    assert is_tflite(tmp_path / "a.onnx")
    assert is_tflite(tmp_path / "no.tflite")
    assert not is_tflite(tmp_path / "no.onnx")


def test_all_unsupported_operators_at_once(tmp_path: Path) -> None:
    error = refused(
        tmp_path,
        G([X, T("a", (2, 3)), T("b", (2, 3)), T("c", (2, 3)), Y],
          [Op("HASHTABLE_FIND", ["x"], ["a"]), Op("ethos-u", ["a"], ["b"]), Op("HASHTABLE_FIND", ["x"], ["c"]),
           Op("ADD", ["b", "c"], ["y"], "AddOptions")], ["x"], ["y"]),
    )  # fmt: skip
    assert error.kind is ErrorCode.UNSUPPORTED_OPERATOR
    assert "HASHTABLE_FIND (HASHTABLE_FIND_0, HASHTABLE_FIND_2)" in error.reason
    assert "ethos-u (ethos-u_1)" in error.reason
    assert "ccml ops --tflite" in str(error)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (one(Op("SLICE", ["x", "b", "s"], ["y"]), X, Y, T("b", (2,), np.int32), const("s", [2, 3]),
             inputs=("x", "b")), "SLICE of 'y': the begin ('b') has to be constant"),
        (one(Op("ADD", ["x", "x"], ["y"], "AddOptions", {"FusedActivationFunction": 5}), X, Y),
         "the fused activation SIGN_BIT is not supported"),
        (one(Op("ABS", ["x"], ["y"]), T("x", (2,), "STRING"), T("y", (2,), "STRING")),
         "'x' has the element type STRING"),
        (one(Op("QUANTIZE", ["x"], ["y"]), X, T("y", (2, 3), np.int8, [0.1, 0.2, 0.3], axis=1)),
         "has scales along an axis"),
        (one(Op("CIRCULAR_BUFFER", ["x"], ["y"], custom=b"\x02\x00\x01"), T("x", (1, 1, 3)), T("y", (1, 4, 3))),
         None),
    ],
)  # fmt: skip
def test_what_is_not_supported_names_operator_and_tensor(tmp_path: Path, graph: G, reason: str | None) -> None:
    error = refused(tmp_path, graph)
    if reason is not None:
        assert error.kind is ErrorCode.UNSUPPORTED_FEATURE
        assert reason in error.reason
    assert error.loc


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (one(Op("ABS", ["x"], ["y"]), X, T("y", (3, 3))), "the shape [3, 3], its operator [2, 3]"),
        (one(Op("ABS", ["x"], ["y"]), X, T("y", (2, 3), np.int32)), "the type INT32, its operator FLOAT"),
        (one(Op("ABS", ["a"], ["y"]), X, Y, T("a", (2, 3))), "reads 'a', which nothing before it computes"),
        (one(Op("ADD", ["x"], ["y"], "AddOptions"), X, Y), "operand 1 is missing"),
        (one(Op("ABS", ["x"], ["y"]), X, T("y", (1 << 30, 1 << 30))), "is not that of a tensor"),
        (one(Op("ADD", ["x", "c"], ["y"], "AddOptions"), X, Y, T("c", (2, 3), data=b"1234")), "a buffer of 4 bytes"),
        (one(Op("QUANTIZE", ["x"], ["y"]), X, T("y", (2, 3), np.int8, float("nan"))), "not positive and finite"),
        (one(Op("QUANTIZE", ["x"], ["y"]), X, T("y", (2, 3), np.int8, 0.1, 300)), "a zero point is no int8"),
        (one(Op("QUANTIZE", ["x"], ["y"]), X, T("y", (2, 3), np.int8, [0.1, 0.2], axis=1)), "2 scales along dimension"),
        (one(Op("CONV_2D", ["x", "w", ""], ["y"], "Conv2DOptions", {"StrideH": 1, "StrideW": 1}), X, Y,
             const("w", np.zeros((1, 1, 1, 1)), np.float32)), "'x' has the shape [2, 3], not 4 dimensions"),
        (one(Op("RESHAPE", ["x"], ["y"]), X, T("y", (4, 2))), "the shape [2, 3] becomes [4, 2]"),
        (one(Op("IF", ["x"], ["y"], "IfOptions", {"ThenSubgraphIndex": 9}), X, Y), "there is no subgraph 9"),
    ],
)  # fmt: skip
def test_what_contradicts_itself(tmp_path: Path, graph: G, reason: str) -> None:
    error = refused(tmp_path, graph)
    assert (error.kind, reason in error.reason) == (ErrorCode.INVALID_MODEL, True), str(error)
    assert error.loc


def test_bodies_within_themselves(tmp_path: Path) -> None:
    """A branch whose branches are itself, twice: as many copies as there are ways, if nothing stopped it."""
    p, a, b = T("p", (), np.bool_), T("a", (2,)), T("b", (2,))
    again = G([p, a, b, T("c", (2,))],
              [Op("IF", ["p", "p", "a"], ["b"], "IfOptions", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}),
               Op("IF", ["p", "p", "b"], ["c"], "IfOptions", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1})],
              ["p", "a"], ["c"])  # fmt: skip
    main = G([p, a, b], [again.ops[0]], ["p", "a"], ["b"])
    assert "deep in each other, or in themselves" in refused(tmp_path, main, again).reason


def test_many_references_to_one_table(tmp_path: Path) -> None:
    """1000 subgraphs that are the same 1000 operators, in 60 KB."""
    builder = flatbuffers.Builder(1024)
    tflite.OperatorStart(builder)
    operator = tflite.OperatorEnd(builder)
    builder.StartVector(4, 7000, 4)
    for _ in range(7000):
        builder.PrependUOffsetTRelative(operator)
    operators = builder.EndVector()
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddOperators(builder, operators)
    subgraph = tflite.SubGraphEnd(builder)
    builder.StartVector(4, 7000, 4)
    for _ in range(7000):
        builder.PrependUOffsetTRelative(subgraph)
    subgraphs = builder.EndVector()
    tflite.OperatorCodeStart(builder)
    code = tflite.OperatorCodeEnd(builder)
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(code)
    codes = builder.EndVector()
    tflite.ModelStart(builder)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, subgraphs)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    (tmp_path / "m.tflite").write_bytes(bytes(builder.Output()))
    with pytest.raises(CcmlError, match="more elements than the file has bytes"):
        read_tflite(tmp_path / "m.tflite")


def test_a_file_cut_off_anywhere(tmp_path: Path) -> None:
    content = build(one(Op("ADD", ["x", "c"], ["y"], "AddOptions"), X, Y, const("c", np.ones((2, 3)), np.float32)))
    for length in range(0, len(content), 7):
        (tmp_path / "m.tflite").write_bytes(content[:length])
        try:
            read_tflite(tmp_path / "m.tflite")
        except CcmlError as error:
            assert error.kind in (ErrorCode.NOT_ONNX, ErrorCode.INVALID_MODEL)


def test_without_the_packages_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(build(one(Op("ABS", ["x"], ["y"]), X, Y)))
    real = builtins.__import__

    def missing(name: str, *rest: object) -> object:
        if name.split(".")[0] == "tflite":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(CcmlError) as caught:
        read_tflite(tmp_path / "m.tflite")
    assert (caught.value.kind, "ccml[tflite]" in str(caught.value)) == (ErrorCode.TOOLCHAIN, True)


def test_inputs_that_are_outputs_and_names_that_are_there_twice(tmp_path: Path) -> None:
    import ccml

    tensors = [T("b", (2,)), T("a", (2,)), T("b", (2,)), const("k", [1.0, 2.0], np.float32)]
    graph = G(tensors, [Op("ABS", ["a"], ["b"])], ["a"], ["b", "k", "a", "b"])
    path = tmp_path / "m.tflite"
    path.write_bytes(build(graph))
    x = np.float32([-1, 2])
    found = ccml.load(path).run(x)
    assert sorted(found) == ["a_output", "b", "b_output", "k"]
    np.testing.assert_array_equal(found["a_output"], x)
    np.testing.assert_array_equal(found["b_output"], np.abs(x))
    np.testing.assert_array_equal(found["k"], np.float32([1, 2]))
