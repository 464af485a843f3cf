"""Sequences and optionals: lists that the importer keeps, at the interface as tensors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml import onnx_backend
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import TensorProto, TypeProto, helper, save

from tests.cli.command_line import ccml as command
from tests.frontend_onnx.compiled import check_compiled, compiled, onnxruntime
from tests.frontend_onnx.graphs import model, run, value

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
TENSORS = [value(name, [2]) for name in "abc"]
FEEDS = dict(zip("abc", ROWS))


def node(op: str, inputs: str, outputs: str, **attrs: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"make {outputs}", **attrs)


def sequence(name: str, shape: Sequence[int | str] | None = None, *, optional: bool = False) -> onnx.ValueInfoProto:
    type_ = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, shape))
    return helper.make_value_info(name, helper.make_optional_type_proto(type_) if optional else type_)


def three(*nodes: onnx.NodeProto, constants: Mapping[str, np.ndarray] | None = None, **inputs: int) -> onnx.ModelProto:
    """A sequence ``s`` of the inputs a, b, c; y of it. ``inputs`` are integers that are inputs, too."""
    more = [value(name, [], INT64) for name in inputs]
    given = {name: np.asarray(array) for name, array in (constants or {}).items()}
    return model([node("SequenceConstruct", "a b c", "s"), *nodes], [*TENSORS, *more], ["y"], given)


# ---------------------------------------------------------------- positions


@pytest.mark.parametrize("position", [-3, -1, 0, 2])
def test_a_position_is_constant_or_computed(position: int) -> None:
    number = np.array(position)
    wanted = ROWS[position]
    for proto, feeds in (
        (three(node("SequenceAt", "s p", "y"), constants={"p": number}), FEEDS),
        (three(node("SequenceAt", "s p", "y"), p=0), {**FEEDS, "p": number}),
    ):
        (y,) = compiled(proto, feeds)
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("position", [-3, -2, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("fixed", [True, False])
def test_insertion(position: int, fixed: bool) -> None:
    """In front of the tensor at the position, as Python's ``list.insert``."""
    nodes = [
        node("Neg", "a", "n"), node("SequenceInsert", "s n p", "t"), node("ConcatFromSequence", "t", "y", axis=0),
    ]  # fmt: skip
    wanted = [FEEDS[name] for name in "abc"]
    wanted.insert(position, -FEEDS["a"])
    number = np.array(position)
    proto = three(*nodes, constants={"p": number}) if fixed else three(*nodes, p=0)
    (y,) = compiled(proto, FEEDS if fixed else {**FEEDS, "p": number})
    np.testing.assert_array_equal(y, np.concatenate(wanted))


@pytest.mark.parametrize("position", [-3, -1, 0, 1, 2])
@pytest.mark.parametrize("fixed", [True, False])
def test_erasure(position: int, fixed: bool) -> None:
    nodes = [node("SequenceErase", "s p", "t"), node("ConcatFromSequence", "t", "y", axis=-1, new_axis=1)]
    wanted = [FEEDS[name] for name in "abc"]
    del wanted[position]
    number = np.array(position)
    proto = three(*nodes, constants={"p": number}) if fixed else three(*nodes, p=0)
    (y,) = compiled(proto, FEEDS if fixed else {**FEEDS, "p": number})
    np.testing.assert_array_equal(y, np.stack(wanted, axis=-1))


@pytest.mark.parametrize("position", [-9, 9, 2**40])
def test_no_position_reads_outside(position: int) -> None:
    (y,) = compiled(three(node("SequenceAt", "s p", "y"), p=0), {**FEEDS, "p": np.array(position)})
    np.testing.assert_array_equal(y, ROWS[0] if position < 0 else ROWS[-1])


@pytest.mark.parametrize(
    "nodes, constants, text",
    [
        ([node("SequenceAt", "s p", "y")], {"p": np.array(3)}, "position 3 is outside of 3"),
        ([node("SequenceErase", "s p", "t"), node("SequenceLength", "t", "y")], {"p": np.array(-4)}, "position -4"),
        ([node("SequenceAt", "a p", "y")], {"p": np.array(0)}, "operand 0 of SequenceAt is no sequence"),
        ([node("Relu", "s", "y")], {}, "Relu takes tensors; s is a sequence"),
        ([node("SequenceInsert", "s i", "t"), node("SequenceLength", "t", "y")], {"i": np.array(1)}, "f32, i64"),
        ([node("SequenceEmpty", "", "e"), node("SequenceAt", "e p", "y")], {"p": np.array(0)}, "an empty sequence"),
        ([node("SplitToSequence", "a p", "t"), node("SequenceLength", "t", "y")], {"p": np.array([1, 2])}, "split"),
    ],
)
def test_faults(nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray], text: str) -> None:
    with pytest.raises(CcmlError, match=text) as error:
        run(three(*nodes, constants=constants), FEEDS)
    assert error.value.kind is ErrorCode.INVALID_MODEL and error.value.loc


def test_a_computed_position_among_several_shapes_is_refused() -> None:
    nodes = [
        node("Concat", "a b", "ab", axis=0), node("SequenceInsert", "s ab", "t"), node("SequenceAt", "t p", "y"),
    ]  # fmt: skip
    with pytest.raises(CcmlError, match="several types") as error:
        run(three(*nodes, p=0), {})
    assert error.value.kind is ErrorCode.UNSUPPORTED_FEATURE and error.value.deciding == ("p",)
    assert "--fix p=..." in str(error.value)


# ---------------------------------------------------------------- control flow


def branch(name: str, operands: str) -> onnx.GraphProto:
    """A sequence of the operands."""
    result = helper.make_value_info(f"{name}_s", TypeProto())
    return helper.make_graph([node("SequenceConstruct", operands, f"{name}_s")], name, [], [result])


def test_a_branch_at_run_time_gives_a_sequence() -> None:
    branches = {f"{name}_branch": branch(name, operands) for name, operands in (("then", "a b"), ("else", "c a"))}
    nodes = [helper.make_node("If", ["go"], ["s"], **branches), node("ConcatFromSequence", "s", "y", axis=0)]
    proto = model(nodes, [*TENSORS, value("go", [], TensorProto.BOOL)], ["y"])
    for go, wanted in ((True, [0, 1, 2, 3]), (False, [4, 5, 0, 1])):
        (y,) = compiled(proto, {**FEEDS, "go": np.array(go)})
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("of", ["a b", ""])
def test_branches_give_sequences_of_different_lengths(of: str) -> None:
    branches = {f"{name}_branch": branch(name, operands) for name, operands in (("then", of), ("else", "c"))}
    branches["then_branch"].node[0].op_type = "SequenceConstruct" if of else "SequenceEmpty"
    nodes = [helper.make_node("If", ["go"], ["s"], **branches), node("SequenceInsert", "s c", "t"),
             node("SequenceLength", "t", "n"), node("ConcatFromSequence", "t", "y", axis=0)]  # fmt: skip
    proto = model(nodes, [*TENSORS, value("go", [], TensorProto.BOOL)], ["n", "y"])
    for go, wanted in ((True, [0, 1, 2, 3, 4, 5] if of else [4, 5]), (False, [4, 5, 4, 5])):
        n, y = compiled(proto, {**FEEDS, "go": np.array(go)})
        assert n == len(wanted) / 2
        np.testing.assert_array_equal(y, wanted)


def test_branches_with_sequences_of_different_types_are_refused() -> None:
    parts = [branch(name, operands) for name, operands in (("then", "a b"), ("else", "d"))]
    nodes = [node("Concat", "a b", "d", axis=0), node("SequenceLength", "s", "y")]
    nodes[1:1] = [helper.make_node("If", ["go"], ["s"], then_branch=parts[0], else_branch=parts[1])]
    with pytest.raises(CcmlError, match="a sequence of 2 tensors or a sequence of 1 tensors") as error:
        run(model(nodes, [*TENSORS, value("go", [], TensorProto.BOOL)], ["y"]), {})
    assert error.value.deciding == ("go",)


def looped(count: onnx.ValueInfoProto | np.ndarray, *, grows: bool) -> onnx.ModelProto:
    """A loop that carries a sequence: each pass puts twice its last tensor behind it, and takes its first away unless
    it ``grows``."""
    body = [
        node("Identity", "going", "go_on"), node("SequenceAt", "q last", "e"), node("Add", "e e", "twice"),
        node("SequenceInsert", "q twice", "longer"), node("SequenceErase", "longer first", "moved"),
    ]  # fmt: skip
    result = "longer" if grows else "moved"
    infos = [value("number", [], INT64), value("going", [], TensorProto.BOOL), sequence("q")]
    graph = helper.make_graph(body, "body", infos, [value("go_on", [], TensorProto.BOOL), sequence(result)])
    nodes = [
        node("SequenceConstruct", "a b c", "s"), helper.make_node("Loop", ["count", "", "s"], ["t"], body=graph),
        node("ConcatFromSequence", "t", "y", axis=0),
    ]  # fmt: skip
    constants = {"last": np.array(-1), "first": np.array(0)}
    if isinstance(count, np.ndarray):
        return model(nodes, TENSORS, ["y"], {**constants, "count": count})
    return model(nodes, [*TENSORS, count], ["y"], constants)


def test_a_loop_with_a_constant_count_lets_a_sequence_grow() -> None:
    (y,) = compiled(looped(np.array(2), grows=True), FEEDS)
    np.testing.assert_array_equal(y, [0, 1, 2, 3, 4, 5, 8, 10, 16, 20])


def test_a_loop_at_run_time_carries_a_sequence_of_one_length() -> None:
    proto = looped(value("count", [], INT64), grows=False)
    for count, wanted in ((0, [0, 1, 2, 3, 4, 5]), (2, [4, 5, 8, 10, 16, 20]), (5, [32, 40, 64, 80, 128, 160])):
        (y,) = compiled(proto, {**FEEDS, "count": np.array(count)})
        np.testing.assert_array_equal(y, wanted)


def test_a_sequence_that_grows_at_run_time_while_it_is_read_has_a_bound() -> None:
    proto = looped(value("count", [], INT64), grows=True)
    with pytest.raises(CcmlError, match="--max t=N") as error:
        run(proto, {})
    assert error.value.deciding == ("count",)
    jit = JitModel(lower_graph(optimize(import_model(proto, bounds={"t": 6})), host_machine()))
    for count in (0, 1, 3):
        feeds = {**FEEDS, "count": np.array(count)}
        np.testing.assert_array_equal(jit.run(feeds)["y"], [0, 1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 40][: 6 + 2 * count])


def test_a_map_of_operands_of_both_kinds() -> None:
    infos = [value(name, None) for name in "ekp"]
    body = helper.make_graph([node("Mul", "e k", "p")], "pair", infos[:2], infos[2:])
    nodes = [node("SequenceMap", "s a", "t", body=body), node("ConcatFromSequence", "t", "y", axis=0, new_axis=1)]
    (y,) = compiled(three(*nodes), FEEDS)
    np.testing.assert_array_equal(y, ROWS * FEEDS["a"])


# ---------------------------------------------------------------- the interface


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """y is x behind its first tensor plus k, or minus the first where there is no k; ``total`` the sum of y's first."""
    branch = helper.make_graph([node("OptionalGetElement", "k", "there")], "there", [], [value("there", None)])
    other = helper.make_graph([node("Neg", "first", "none")], "none", [], [value("none", None)])
    nodes = [
        node("SequenceAt", "x zero", "first"), node("OptionalHasElement", "k", "has"),
        helper.make_node("If", ["has"], ["added"], then_branch=branch, else_branch=other),
        node("Add", "first added", "new"), node("SequenceInsert", "x new zero", "y"),
        node("ReduceSum", "new", "total", keepdims=0),
    ]  # fmt: skip
    k = helper.make_value_info("k", helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [2])))
    proto = model(nodes, [sequence("x", [2]), k], [], {"zero": np.array(0)})
    proto.graph.output.extend([sequence("y", None), value("total", None)])
    save(proto, tmp_path / "digest.onnx")
    return tmp_path / "digest.onnx"


def test_a_sequence_is_as_many_tensors_as_the_caller_says(path: Path) -> None:
    loaded = ccml.load(path, ccml.ModelOptions(lengths={"x": 2}))
    given = {"x_0": ROWS[0], "x_1": ROWS[1], "k": ROWS[2]}
    results = loaded.run(given)
    assert list(results) == ["y_0", "y_1", "y_2", "total"]
    np.testing.assert_array_equal([results[f"y_{n}"] for n in range(3)], [ROWS[0] + ROWS[2], ROWS[0], ROWS[1]])


def test_an_optional_that_is_absent(path: Path) -> None:
    loaded = ccml.load(path, ccml.ModelOptions(lengths={"x": 1}, absent=("k",)))
    results = loaded.run({"x_0": ROWS[1]})
    assert list(results) == ["y_0", "y_1", "total"] and not results["y_0"].any()


def test_python_lists_and_none_tell_the_interface(path: Path) -> None:
    """Also where a run has another length than the one before."""
    prepared = onnx_backend.prepare(onnx.load(path))
    for count, k in ((1, ROWS[2]), (3, ROWS[2]), (3, None)):
        y, total = prepared.run([list(ROWS[:count]), k])
        new = ROWS[0] + k if k is not None else np.zeros(2)
        assert len(y) == count + 1
        np.testing.assert_array_equal(np.stack(y), [new, *ROWS[:count]])
        np.testing.assert_array_equal(total, new.sum())
    with pytest.raises(CcmlError, match="a sequence: a list of arrays"):
        prepared.run([ROWS[0], None])
    with pytest.raises(CcmlError, match="not optional"):
        prepared.run([None, None])


@pytest.mark.parametrize(
    "options, kind, text",
    [
        ({}, ErrorCode.UNBOUND_DIMENSION, "--length x=1"),
        ({"lengths": {"k": 1}}, ErrorCode.BAD_OPTION, "no input k that is a sequence"),
        ({"lengths": {"x": 5000}}, ErrorCode.BAD_OPTION, "5000 tensors"),
        ({"lengths": {"x": 1}, "absent": ("x",)}, ErrorCode.BAD_OPTION, "no input x that is optional"),
        ({"lengths": {"x": 0}}, ErrorCode.INVALID_MODEL, "an empty sequence"),
    ],
)
def test_options_that_do_not_fit(path: Path, options: dict, kind: ErrorCode, text: str) -> None:
    with pytest.raises(CcmlError, match=text) as error:
        ccml.load(path, ccml.ModelOptions(**options))
    assert error.value.kind is kind


def test_commands_take_lengths_and_absences(path: Path, tmp_path: Path) -> None:
    verified = command("verify", str(path), "--length", "x=2", "--json")
    assert verified.exit_code == 0, verified.output
    options = ["--length", "x=2", "--absent", "k", "--target", "generic", "-o", str(tmp_path / "o")]
    done = command("compile", str(path), *options)
    assert done.exit_code == 0, done.output
    header = " ".join((tmp_path / "o" / "digest.h").read_text().split())
    assert "const float *x_0, const float *x_1, float *y_0, float *y_1, float *y_2, float *total" in header


def test_tensors_of_a_sequence_may_differ_in_shape(tmp_path: Path) -> None:
    proto = model([node("ConcatFromSequence", "x", "y", axis=0)], [sequence("x", ["n"])], ["y"])
    save(proto, tmp_path / "m.onnx")
    for options, extent in (({"shapes": {"x_0": (2,), "x_1": (3,)}}, 5), ({"dims": {"n": 2}}, 4)):
        loaded = ccml.load(tmp_path / "m.onnx", ccml.ModelOptions(lengths={"x": 2}, **options))
        assert loaded.compiled.program.outputs[0].type.shape == (extent,)


# ---------------------------------------------------------------- values that decide


def test_a_run_tells_the_values_that_decide() -> None:
    """The trip count of a loop in which a sequence grows, and that of another run."""
    prepared = onnx_backend.prepare(looped(value("count", [], INT64), grows=True))
    for count, extent in ((2, 10), (0, 6), (2, 10)):
        (y,) = prepared.run([*ROWS, np.array(count)])
        assert y.shape == (extent,)


def test_a_loop_of_a_scalar_and_longer_and_longer_tensors() -> None:
    """ONNX's test_loop16_seq_none, whose results its own runner cannot compare."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case = next(case for case in load_model_tests(kind="node") if case.name == "test_loop16_seq_none")
    inputs, (expected,) = case.data_sets[0]
    (results,) = onnx_backend.prepare(case.model).run(inputs)
    assert [result.shape for result in results] == [(), (1,), (2,), (3,), (4,), (5,)]
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_a_slice_from_a_computed_position_to_one_behind_it() -> None:
    """Nothing else says how long it is."""
    nodes = [
        node("Add", "p two", "end"), node("Unsqueeze", "p axes", "starts"), node("Unsqueeze", "end axes", "ends"),
        node("Slice", "x starts ends axes", "y"),
    ]  # fmt: skip
    inputs = [value("x", [5, 2]), value("p", [], INT64)]
    proto = model(nodes, inputs, ["y"], {"two": np.array(2), "axes": np.array([0])})
    for position in (0, 2, 3):
        feeds = {"x": np.arange(10, dtype=np.float32).reshape(5, 2), "p": np.array(position)}
        check_compiled(proto, feeds)


# ---------------------------------------------------------------- lists that grow in loops

_LISTS = {
    "rows in front of others": """(float[s, 2] x) => (float[?, 2] y, int64 n) {
        zero = Constant <value_int = 0> () shape = Shape (x) passes = Gather (shape, zero) none = SequenceEmpty ()
        list = Loop (passes, , none) <body = b (int64 i, bool g, seq(float[2]) old) => (bool h, seq(float[2]) new) {
            h = Identity (g) row = Gather (x, i) new = SequenceInsert (old, row)
        }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (list) n = SequenceLength (list)
    }""",
    "two a pass behind one, side by side": """(float[s, 2] x) => (float[?, ?] y) {
        zero = Constant <value_int = 0> () shape = Shape (x) passes = Gather (shape, zero)
        all = ReduceSum <keepdims = 0> (x, axis) first = Concat <axis = 0> (all, all) start = SequenceConstruct (first)
        list = Loop (passes, , start) <body = b (int64 i, bool g, seq(float[4]) old) => (bool h, seq(float[4]) new) {
            h = Identity (g) row = Gather (x, i) both = Concat <axis = 0> (row, row) twice = Add (both, both)
            more = SequenceInsert (old, both) new = SequenceInsert (more, twice)
        }>
        y = ConcatFromSequence <axis = 0> (list)
    }""",
    "a loop in a loop, and one over what they made, from its end on": """(float[s, 2] x) => (float[?, ?, ?] y) {
        zero = Constant <value_int = 0> () shape = Shape (x) passes = Gather (shape, zero) none = SequenceEmpty ()
        list = Loop (passes, , none) <body = b (int64 i, bool g, seq(float[2]) old) => (bool h, seq(float[2]) new) {
            h = Identity (g) row = Gather (x, i)
            new = Loop (passes, , old) <body = c (int64 j, bool k, seq(float[2]) u) => (bool l, seq(float[2]) v) {
                l = Identity (k) factor = Cast <to = 1> (j) part = Mul (row, factor) v = SequenceInsert (u, part)
            }>
        }>
        n = SequenceLength (list) last = SequenceInsert (list, zeros)
        turned = Loop (n, , none) <body = d (int64 i, bool g, seq(float[2]) old) => (bool h, seq(float[2]) new) {
            h = Identity (g) minus = Neg (i) place = Sub (minus, one) part = SequenceAt (last, place)
            new = SequenceInsert (old, part)
        }>
        y = ConcatFromSequence <axis = 1, new_axis = 1> (turned)
    }""",
    "its last one read, and appended to on a condition": """(float[s, 2] x) => (float[?, 2] y, int64 n) {
        zero = Constant <value_int = 0> () minus = Constant <value_int = -1> () shape = Shape (x)
        passes = Gather (shape, zero) none = SequenceEmpty () all = ReduceSum <keepdims = 0> (x, axis)
        start = SequenceConstruct (all) low = Constant <value_float = 0.0> ()
        list = Loop (passes, , none) <body = b (int64 i, bool g, seq(float[2]) old) => (bool h, seq(float[2]) new) {
            h = Identity (g) count = SequenceLength (old) factor = Cast <to = 1> (count) row = Gather (x, i)
            part = Mul (row, factor) sum = ReduceSum <keepdims = 0> (row) c = Greater (sum, low)
            new = If (c) <then_branch = t () => (seq(float[2]) longer) { longer = SequenceInsert (old, part) },
                          else_branch = e () => (seq(float[2]) same) { same = Identity (old) }>
        }>
        both = Loop (passes, , start) <body = d (int64 i, bool g, seq(float[2]) old) => (bool h, seq(float[2]) new) {
            h = Identity (g) last = SequenceAt (old, minus) next = Sin (last) new = SequenceInsert (old, next)
        }>
        first = SequenceAt (both, minus) more = SequenceInsert (list, first) longer = SequenceInsert (more, all)
        full = SequenceErase (longer, zero)
        y = ConcatFromSequence <axis = 0, new_axis = 1> (full) n = SequenceLength (list)
    }""",
    "parts of a dimension": """(float[s, 2] x) => (float[?, ?] y, float[?, ?] z) {
        rows = SplitToSequence <axis = 0, keepdims = 0> (x) y = ConcatFromSequence <axis = 1, new_axis = 1> (rows)
        single = SplitToSequence <axis = 0> (x, one) z = ConcatFromSequence <axis = 1> (single)
    }""",
    "unbound": """(float[s, 2] x) => (float[?, ?] y) {
        rows = SplitToSequence <axis = 0, keepdims = 0> (x, one) y = ConcatFromSequence <axis = -1, new_axis = 1> (rows)
    }""",
}


@pytest.mark.parametrize("dims", [{"s": ccml.Range(1, 5)}, {"s": 4}])
@pytest.mark.parametrize("name", _LISTS)
def test_lists_that_grow(name: str, dims: dict[str, ccml.Range | int], tmp_path: Path) -> None:
    text = _LISTS[name].replace("{", "<int64 one = {1}, int64[1] axis = {0}, float[2] zeros = {0, 0}> {", 1)
    proto = onnx.parser.parse_model(f"<ir_version: 9, opset_import: ['' : 18]> g {text}".replace("'", '"'))
    save(proto, tmp_path / "m.onnx")
    compiled_model = ccml.load(tmp_path / "m.onnx", ccml.ModelOptions(dims=dims))
    for s in (1, 3, 5) if dims["s"] != 4 else (4,):
        x = np.random.default_rng(s).standard_normal((s, 2)).astype(np.float32)
        found = compiled_model.run({"x": x})
        for name, wanted in zip(found, onnxruntime(proto, {"x": x}), strict=True):
            np.testing.assert_allclose(found[name], wanted, rtol=1e-6, atol=1e-6)


def test_a_list_that_grows_until_a_condition_ends_the_loop() -> None:
    """``--max`` by the name of the list bounds it."""
    text = """<ir_version: 9, opset_import: ["" : 18]> g (float[2] x, float limit) => (float[?, 2] y)
    <bool true = {1}> {
        none = SequenceEmpty ()
        last, list = Loop (, true, x, none) <body = b
            (int64 i, bool g, float[2] state, seq(float[2]) old) => (bool h, float[2] next, seq(float[2]) new) {
            next = Add (state, x) sum = ReduceSum <keepdims = 0> (next) h = Less (sum, limit)
            new = SequenceInsert (old, next)
        }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (list)
    }"""
    proto = onnx.parser.parse_model(text)
    with pytest.raises(CcmlError, match="--max list=N"):
        import_model(proto)
    jit = JitModel(lower_graph(optimize(import_model(proto, bounds={"list": 9})), host_machine()))
    for limit in (0, 7.5, 15):
        feeds = {"x": np.array([1, 2], np.float32), "limit": np.array(limit, np.float32)}
        np.testing.assert_array_equal(jit.run(feeds)["y"], onnxruntime(proto, feeds)[0])
