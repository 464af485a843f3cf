"""Transposes sink, meet and cancel. NHWC stands for perm [0,2,3,1], NCHW for [0,3,1,2]."""

from __future__ import annotations

import pytest
from ccml.ir.graph_text import parse_graph
from ccml.passes.cancel_transposes import cancel_transposes, transposed_elements

from tests.passes.rewriting import assert_rewrites, assert_same_meaning

NHWC, NCHW = "{perm=[0,2,3,1]}", "{perm=[0,3,1,2]}"


# Operator on NCHW -> the same on NHWC; both on f32 values, %a -> %z and %x -> %y.
SINKS = {
    "pointwise": (
        "%z : f32[1,2,4,6] = relu(%a)",
        NHWC, "[1,4,6,2]",
        "%y : f32[1,4,6,2] = relu(%x)",
    ),
    "a constant per channel": (
        """const %k : f32[2,1,1] = dense<1.0, 2.0>
      %z : f32[1,2,4,6] = mul(%a, %k)""",
        NHWC, "[1,4,6,2]",
        """const %k : f32[1,1,1,2] = dense<1.0, 2.0>
      %y : f32[1,4,6,2] = mul(%x, %k)""",
    ),
    "a number": (
        """const %k : f32[] = dense<3.0>
      %z : f32[1,2,4,6] = sub(%k, %a)""",
        NHWC, "[1,4,6,2]",
        """const %k : f32[] = dense<3.0>
      %y : f32[1,4,6,2] = sub(%k, %x)""",
    ),
    "softmax over channels": (
        "%z : f32[1,2,4,6] = softmax(%a) {axis=1}",
        NHWC, "[1,4,6,2]",
        "%y : f32[1,4,6,2] = softmax(%x) {axis=3}",
    ),
    "reduction": (
        "%z : f32[1,2,1,6] = reduce(%a) {kind=\"max\", axes=[2], keepdims=true}",
        NHWC, "[1,1,6,2]",
        "%y : f32[1,1,6,2] = reduce(%x) {kind=\"max\", axes=[1], keepdims=true}",
    ),
    "reduction that drops": (
        "%z : f32[1,2,6] = reduce(%a) {kind=\"max\", axes=[2], keepdims=false}",
        "{perm=[0,2,1]}", "[1,6,2]",
        "%y : f32[1,6,2] = reduce(%x) {kind=\"max\", axes=[1], keepdims=false}",
    ),
    "arg_reduce": (
        """%i : i64[1,4,6] = arg_reduce(%a) {kind="max", axis=1, keepdims=false, last=false}
      %z : f32[1,4,6] = cast(%i) {to=f32}""",
        "{perm=[0,2,1]}", "[1,6,4]",
        """%i : i64[1,4,6] = arg_reduce(%x) {kind="max", axis=3, keepdims=false, last=false}
      %z : f32[1,4,6] = cast(%i) {to=f32}
      %y : f32[1,6,4] = transpose(%z) {perm=[0,2,1]}""",
    ),
    "concat": (
        "%z : f32[1,4,4,6] = concat(%a, %a) {axis=1}",
        NHWC, "[1,4,6,4]",
        "%y : f32[1,4,6,4] = concat(%x, %x) {axis=3}",
    ),
    "pad": (
        "%z : f32[1,2,5,6] = pad(%a) {before=[0,0,1,0], after=[0,0,0,0], mode=\"edge\", value=0.0}",
        NHWC, "[1,5,6,2]",
        "%y : f32[1,5,6,2] = pad(%x) {before=[0,1,0,0], after=[0,0,0,0], mode=\"edge\", value=0.0}",
    ),
    "slice": (
        "%z : f32[1,2,4,3] = slice(%a) {starts=[0,0,0,1], steps=[1,1,1,2], sizes=[1,2,4,3]}",
        NHWC, "[1,4,3,2]",
        "%y : f32[1,4,3,2] = slice(%x) {starts=[0,0,1,0], steps=[1,1,2,1], sizes=[1,4,3,2]}",
    ),
    "expand": (
        "%z : f32[3,2,4,6] = expand(%a) {shape=[3,2,4,6]}",
        NHWC, "[3,4,6,2]",
        "%y : f32[3,4,6,2] = expand(%x) {shape=[3,4,6,2]}",
    ),
    "gather": (
        """const %i : i64[3] = dense<1, 3, 0>
      %z : f32[1,2,3,6] = gather(%a, %i) {axis=2}""",
        NHWC, "[1,3,6,2]",
        """const %i : i64[3] = dense<1, 3, 0>
      %y : f32[1,3,6,2] = gather(%x, %i) {axis=1}""",
    ),
    "normalization": (
        "%z : f32[1,2,4,6] = normalize(%a) {axes=[1], epsilon=0.001}",
        NHWC, "[1,4,6,2]",
        "%y : f32[1,4,6,2] = normalize(%x) {axes=[3], epsilon=0.001}",
    ),
    "quantization along channels": (
        """%q : i8[1,2,4,6] quant(scale=[0.5,0.25], zero_point=[1,2], axis=1) = quantize(%a) """
        """{scale=[0.5,0.25], zero_point=[1,2], axis=1, to=i8}
      %z : f32[1,2,4,6] = dequantize(%q) {scale=[0.5,0.25], zero_point=[1,2], axis=1}""",
        NHWC, "[1,4,6,2]",
        """%q : i8[1,4,6,2] quant(scale=[0.5,0.25], zero_point=[1,2], axis=3) = quantize(%x) """
        """{scale=[0.5,0.25], zero_point=[1,2], axis=3, to=i8}
      %y : f32[1,4,6,2] = dequantize(%q) {scale=[0.5,0.25], zero_point=[1,2], axis=3}""",
    ),
    "joined spatial dimensions": (
        "%z : f32[1,2,24] = reshape(%a) {shape=[1,2,24]}",
        "{perm=[0,2,1]}", "[1,24,2]",
        "%y : f32[1,24,2] = reshape(%x) {shape=[1,24,2]}",
    ),
    "a split dimension and a new one": (
        "%z : f32[1,2,1,4,3,2] = reshape(%a) {shape=[1,2,1,4,3,2]}",
        "{perm=[0,2,3,4,5,1]}", "[1,1,4,3,2,2]",
        "%y : f32[1,1,4,3,2,2] = reshape(%x) {shape=[1,1,4,3,2,2]}",
    ),
}  # fmt: skip


def with_constants_first(header: str, lines: list[str]) -> str:
    constants = [line for line in lines if line.strip().startswith("const")]
    return "\n".join([header, *constants, *(line for line in lines if line not in constants)])


@pytest.mark.parametrize("name", SINKS)
def test_a_transpose_sinks_through(name: str) -> None:
    lines, perm, shape, expected = SINKS[name]
    header = "graph g(%x: f32[1,4,6,2]) -> (%y)"
    first, last = f"%a : f32[1,2,4,6] = transpose(%x) {NCHW}", f"%y : f32{shape} = transpose(%z) {perm}"
    before = with_constants_first(header, [first, *lines.split("\n"), last])
    after = with_constants_first(header, expected.split("\n"))
    assert_rewrites(cancel_transposes, before, after, tolerance=1e-6 if name == "normalization" else 0)


def test_a_residual_addition_needs_no_transpose() -> None:
    before = f"""
    graph g(%p: f32[1,4,4,2], %q: f32[1,4,4,2]) -> (%y, %z)
      %a : f32[1,2,4,4] = transpose(%p) {NCHW}
      %b : f32[1,2,4,4] = transpose(%q) {NCHW}
      %s : f32[1,2,4,4] = add(%a, %b)
      %r : f32[1,2,4,4] = relu(%s)
      %y : f32[1,4,4,2] = transpose(%r) {NHWC}
      %t : f32[1,2,4,4] = mul(%r, %a)
      %z : f32[1,4,4,2] = transpose(%t) {NHWC}
    """
    after = """
    graph g(%p: f32[1,4,4,2], %q: f32[1,4,4,2]) -> (%y, %z)
      %s : f32[1,4,4,2] = add(%p, %q)
      %y : f32[1,4,4,2] = relu(%s)
      %z : f32[1,4,4,2] = mul(%y, %p)
    """
    assert_rewrites(cancel_transposes, before, after)


def test_the_rows_of_a_dense_layer_follow_the_flattened_image() -> None:
    before = f"""
    graph g(%x: f32[1,2,1,3]) -> (%y)
      const %w : f32[6,1] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0>
      %a : f32[1,3,2,1] = transpose(%x) {NCHW}
      %f : f32[1,6] = reshape(%a) {{shape=[1,6]}}
      %y : f32[1,1] = matmul(%f, %w)
    """
    after = """
    graph g(%x: f32[1,2,1,3]) -> (%y)
      const %w : f32[6,1] = dense<1.0, 3.0, 5.0, 2.0, 4.0, 6.0>
      %f : f32[1,6] = reshape(%x) {shape=[1,6]}
      %y : f32[1,1] = matmul(%f, %w)
    """
    assert_rewrites(cancel_transposes, before, after, tolerance=1e-6)


def test_the_rows_stay_where_the_batch_moves() -> None:
    text = """
    graph g(%x: f32[3,2,2]) -> (%y)
      const %w : f32[6,1] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0>
      %a : f32[2,2,3] = transpose(%x) {perm=[2,1,0]}
      %f : f32[2,6] = reshape(%a) {shape=[2,6]}
      %y : f32[2,1] = matmul(%f, %w)
    """
    assert_rewrites(cancel_transposes, text)


def test_permuted_rows_of_a_matrix_permute_the_rows_of_the_product() -> None:
    before = """
    graph g(%x: f32[2,3,2]) -> (%y)
      const %w : f32[2,1] = dense<1.0, 2.0>
      %a : f32[3,2,2] = transpose(%x) {perm=[1,0,2]}
      %m : f32[3,2,1] = matmul(%a, %w)
      %y : f32[2,3,1] = transpose(%m) {perm=[1,0,2]}
    """
    after = """
    graph g(%x: f32[2,3,2]) -> (%y)
      const %w : f32[2,1] = dense<1.0, 2.0>
      %y : f32[2,3,1] = matmul(%x, %w)
    """
    assert_rewrites(cancel_transposes, before, after, tolerance=1e-6)


def test_a_gate_from_a_global_mean_stays_where_it_is() -> None:
    """Squeeze and excitation: the gate's transpose moves only unit dimensions."""
    before = f"""
    graph g(%x: f32[1,4,4,2]) -> (%y)
      %a : f32[1,2,4,4] = transpose(%x) {NCHW}
      %m : f32[1,2,1,1] = reduce(%a) {{kind="mean", axes=[2,3], keepdims=true}}
      %s : f32[1,2,1,1] = sigmoid(%m)
      %g : f32[1,2,4,4] = mul(%a, %s)
      %y : f32[1,4,4,2] = transpose(%g) {NHWC}
    """
    after = """
    graph g(%x: f32[1,4,4,2]) -> (%y)
      %m : f32[1,1,1,2] = reduce(%x) {kind="mean", axes=[1,2], keepdims=true}
      %m1 : f32[1,2,1,1] = reshape(%m) {shape=[1,2,1,1]}
      %s : f32[1,2,1,1] = sigmoid(%m1)
      %s1 : f32[1,1,1,2] = reshape(%s) {shape=[1,1,1,2]}
      %y : f32[1,4,4,2] = mul(%x, %s1)
    """
    assert_rewrites(cancel_transposes, before, after, tolerance=1e-6)


def test_of_two_layouts_the_one_with_less_to_move_wins() -> None:
    before = f"""
    graph g(%p: f32[1,4,4,2], %q: f32[2,1,1], %k: f32[1,2,4,4]) -> (%y)
      %a : f32[1,2,4,4] = transpose(%p) {NCHW}
      %s : f32[1,2,4,4] = add(%a, %q)
      %y : f32[1,2,4,4] = add(%s, %k)
    """
    after = f"""
    graph g(%p: f32[1,4,4,2], %q: f32[2,1,1], %k: f32[1,2,4,4]) -> (%y)
      %r : f32[1,2,1,1] = reshape(%q) {{shape=[1,2,1,1]}}
      %r1 : f32[1,1,1,2] = reshape(%r) {{shape=[1,1,1,2]}}
      %s : f32[1,4,4,2] = add(%p, %r1)
      %s1 : f32[1,2,4,4] = transpose(%s) {NCHW}
      %y : f32[1,2,4,4] = add(%s1, %k)
    """
    result = cancel_transposes(parse_graph(before))
    assert transposed_elements(result) == 32
    assert_same_meaning(parse_graph(before), result)
    assert_same_meaning(parse_graph(before), parse_graph(after))


def test_sinking_stops_where_it_would_cost() -> None:
    """%a is needed as it is; sinking through relu and exp would transpose three values instead of one."""
    text = f"""
    graph g(%x: f32[1,4,4,2]) -> (%a, %r, %e)
      %a : f32[1,2,4,4] = transpose(%x) {NCHW}
      %r : f32[1,2,4,4] = relu(%a)
      %e : f32[1,2,4,4] = exp(%r)
    """
    assert_rewrites(cancel_transposes, text)


def test_a_transpose_rises_where_that_saves_one() -> None:
    """relu(x) and sigmoid(relu(x)) are both wanted in the other layout: transposing the first is enough."""
    text = f"""
    graph g(%x: f32[1,2,4,4]) -> (%r, %y, %z)
      %r : f32[1,2,4,4] = relu(%x)
      %s : f32[1,2,4,4] = sigmoid(%r)
      %y : f32[1,4,4,2] = transpose(%r) {NHWC}
      %z : f32[1,4,4,2] = transpose(%s) {NHWC}
    """
    after = f"""
    graph g(%x: f32[1,2,4,4]) -> (%r, %y, %z)
      %r : f32[1,2,4,4] = relu(%x)
      %y : f32[1,4,4,2] = transpose(%r) {NHWC}
      %z : f32[1,4,4,2] = sigmoid(%y)
    """
    assert_rewrites(cancel_transposes, text, after)


def test_an_expanding_operator_keeps_the_transpose_before_it() -> None:
    text = """
    graph g(%x: f32[3,2]) -> (%y)
      %a : f32[2,3] = transpose(%x) {perm=[1,0]}
      %y : f32[2,9] = concat(%a, %a, %a) {axis=1}
    """
    assert_rewrites(cancel_transposes, text)


def test_softmax_along_neighbours_stays_so() -> None:
    text = """
    graph g(%x: f32[3,2]) -> (%y)
      %a : f32[2,3] = transpose(%x) {perm=[1,0]}
      %y : f32[2,3] = softmax(%a) {axis=1}
    """
    assert_rewrites(cancel_transposes, text)


@pytest.mark.parametrize("perm", ["[1,0,2]", "[0,2,1]", "[2,1,0]"])
def test_a_scattered_reshape_keeps_its_transpose(perm: str) -> None:
    text = f"""
    graph g(%x: f32[2,2,2]) -> (%y)
      %a : f32[2,2,2] = transpose(%x) {{perm={perm}}}
      %y : f32[8] = reshape(%a) {{shape=[8]}}
    """
    assert_rewrites(cancel_transposes, text)


def test_channels_that_are_exchanged_stay_last() -> None:
    """A channel shuffle between layers in HWC (Zhang et al., "ShuffleNet", 2018): only the two groups change places."""
    before = """
    graph g(%x: f32[3,5,8]) -> (%z)
      %a : f32[8,3,5] = transpose(%x) {perm=[2,0,1]}
      %g : f32[2,4,3,5] = reshape(%a) {shape=[2,4,3,5]}
      %t : f32[4,2,3,5] = transpose(%g) {perm=[1,0,2,3]}
      %s : f32[8,3,5] = reshape(%t) {shape=[8,3,5]}
      %r : f32[8,3,5] = relu(%s)
      %z : f32[3,5,8] = transpose(%r) {perm=[1,2,0]}
    """
    after = """
    graph g(%x: f32[3,5,8]) -> (%z)
      %g : f32[3,5,2,4] = reshape(%x) {shape=[3,5,2,4]}
      %t : f32[3,5,4,2] = transpose(%g) {perm=[0,1,3,2]}
      %s : f32[3,5,8] = reshape(%t) {shape=[3,5,8]}
      %z : f32[3,5,8] = relu(%s)
    """
    assert_rewrites(cancel_transposes, before, after)


def test_what_is_joined_is_not_brought_together_where_that_costs() -> None:
    """Between tensors in NCHW one transpose is enough."""
    text = """
    graph g(%x: f32[1,3,5,8]) -> (%s)
      %g : f32[1,3,5,2,4] = reshape(%x) {shape=[1,3,5,2,4]}
      %t : f32[1,4,2,3,5] = transpose(%g) {perm=[0,4,3,1,2]}
      %s : f32[1,8,3,5] = reshape(%t) {shape=[1,8,3,5]}
    """
    assert_rewrites(cancel_transposes, text)
