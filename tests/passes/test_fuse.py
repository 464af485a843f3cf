"""What becomes one kernel. Fusion changes no value, so all cases are exact."""

from __future__ import annotations

from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.passes.fuse import fuse

from tests.passes.rewriting import assert_rewrites, assert_same_meaning


def kernels(text: str) -> list[str]:
    """The graph after fusion, one line a node: ``output: operators``."""
    graph = parse_graph(text)
    fused = fuse(graph)
    assert_same_meaning(graph, fused)
    assert fuse(fused) == fused
    lines = []
    for node in fused.nodes:
        body = node.attrs.get("body")
        operators = [inner.op for inner in body.nodes] if isinstance(body, Graph) else [f"({node.op})"]
        lines.append(f"{', '.join(value.name for value in node.outputs)}: {' '.join(operators)}")
    return lines


def test_a_kernel_has_the_names_of_outside_and_numbers_of_its_own() -> None:
    before = """
    graph g(%x: f32[2,3], %r: f32[3]) -> (%y)
      const %w : f32[3,3] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0>
      const %k : f32[] = dense<2.0>
      %m : f32[2,3] = matmul(%x, %w)   @"dense"
      %s : f32[2,3] = mul(%m, %k)   @"scale"
      %a : f32[2,3] = add(%s, %r)   @"add"
      %y : f32[2,3] = relu(%a)   @"relu"
    """
    after = """
    graph g(%x: f32[2,3], %r: f32[3]) -> (%y)
      const %w : f32[3,3] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0>
      %y : f32[2,3] = fused(%x, %w, %r) {body={
        graph y(%x: f32[2,3], %w: f32[3,3], %r: f32[3]) -> (%y)
          const %k : f32[] = dense<2.0>
          %m : f32[2,3] = matmul(%x, %w)   @"dense"
          %s : f32[2,3] = mul(%m, %k)   @"scale"
          %a : f32[2,3] = add(%s, %r)   @"add"
          %y : f32[2,3] = relu(%a)   @"relu"
      }}   @"dense + scale + add + relu"
    """
    result = assert_rewrites(fuse, before, after)
    body = result.nodes[0].attrs["body"]
    assert isinstance(body, Graph)
    assert [value.name for value in body.inputs] == ["x", "w", "r"]


def test_swish_is_one_kernel_with_its_anchor() -> None:
    text = """
    graph g(%x: f32[2,2], %w: f32[2,2]) -> (%y)
      %m : f32[2,2] = matmul(%x, %w)
      %s : f32[2,2] = sigmoid(%m)
      %p : f32[2,2] = mul(%m, %s)
      %y : f32[2,2] = neg(%p)
    """
    assert kernels(text) == ["y: matmul sigmoid mul neg"]


def test_a_residual_goes_to_the_later_anchor() -> None:
    text = """
    graph g(%x: f32[2,2], %w: f32[2,2]) -> (%y)
      %a : f32[2,2] = matmul(%x, %w)
      %b : f32[2,2] = matmul(%a, %w)
      %r : f32[2,2] = relu(%b)
      %c : f32[2,2] = matmul(%r, %w)
      %s : f32[2,2] = add(%a, %c)
      %y : f32[2,2] = relu(%s)
    """
    assert kernels(text) == ["a: matmul", "r: matmul relu", "y: matmul add relu"]


def test_a_value_with_a_user_outside_ends_the_kernel() -> None:
    text = """
    graph g(%x: f32[2,2], %w: f32[2,2]) -> (%y, %z)
      %a : f32[2,2] = matmul(%x, %w)
      %r : f32[2,2] = relu(%a)
      %y : f32[2,2] = softmax(%r) {axis=1}
      %z : f32[2,2] = exp(%r)
    """
    assert kernels(text) == ["r: matmul relu", "y: softmax", "z: exp"]


def test_a_graph_output_ends_the_kernel() -> None:
    text = """
    graph g(%x: f32[2,2], %w: f32[2,2]) -> (%r, %z)
      %a : f32[2,2] = matmul(%x, %w)
      %r : f32[2,2] = relu(%a)
      %e : f32[2,2] = exp(%r)
      %z : f32[2,2] = neg(%e)
    """
    assert kernels(text) == ["r: matmul relu", "z: exp neg"]


def test_another_shape_ends_the_kernel() -> None:
    text = """
    graph g(%x: f32[1,2], %w: f32[2,2], %big: f32[3,2]) -> (%y)
      %a : f32[1,2] = matmul(%x, %w)
      %r : f32[1,2] = relu(%a)
      %y : f32[3,2] = add(%r, %big)
    """
    assert kernels(text) == ["r: matmul relu", "y: add"]


def test_work_before_the_anchor_is_a_kernel_of_its_own() -> None:
    text = """
    graph g(%x: f32[2,2], %w: f32[2,2]) -> (%y)
      %r : f32[2,2] = relu(%x)
      %a : f32[2,2] = matmul(%r, %w)
      %y : f32[2,2] = add(%a, %r)
    """
    assert kernels(text) == ["r: relu", "y: matmul add"]


def test_pointwise_operands_come_along() -> None:
    text = """
    graph g(%x: f32[2,2], %z: f32[2,2], %w: f32[2,2]) -> (%y)
      %a : f32[2,2] = matmul(%x, %w)
      %t : f32[2,2] = tanh(%z)
      %e : f32[2,2] = exp(%t)
      %y : f32[2,2] = mul(%a, %e)
    """
    assert kernels(text) == ["y: matmul tanh exp mul"]


def test_pointwise_trees_without_anchor() -> None:
    text = """
    graph g(%x: f32[2,2], %z: f32[2,1]) -> (%y)
      %a : f32[2,2] = sigmoid(%x)
      %n : f32[2,1] = neg(%z)
      %b : f32[2,2] = tanh(%x)
      %m : f32[2,2] = mul(%a, %b)
      %y : f32[2,2] = add(%m, %n)
    """
    assert kernels(text) == ["n: neg", "y: sigmoid tanh mul add"]


def test_views_are_pulled_into_pointwise_kernels() -> None:
    text = """
    graph g(%x: f32[2,3,4]) -> (%y)
      %a : f32[2,3,2] = slice(%x) {starts=[0,0,0], steps=[1,1,1], sizes=[2,3,2]}
      %b : f32[2,3,2] = slice(%x) {starts=[0,0,2], steps=[1,1,1], sizes=[2,3,2]}
      %g : f32[2,3,2] = sigmoid(%b)
      %m : f32[2,3,2] = mul(%a, %g)
      %t : f32[3,2,2] = transpose(%m) {perm=[1,0,2]}
      %y : f32[3,2,2] = neg(%t)
    """
    assert kernels(text) == ["m: slice slice sigmoid mul", "y: transpose neg"]


def test_a_transpose_of_the_last_dimension_is_a_kernel_of_its_own() -> None:
    text = """
    graph g(%x: f32[2,3]) -> (%y)
      %t : f32[3,2] = transpose(%x) {perm=[1,0]}
      %y : f32[3,2] = neg(%t)
    """
    assert kernels(text) == ["t: transpose", "y: neg"]


def test_a_chain_of_views_is_one_copy_and_a_plain_reshape_none() -> None:
    text = """
    graph g(%x: f32[2,3,4]) -> (%y)
      %a : f32[2,3,2] = slice(%x) {starts=[0,0,1], steps=[1,1,1], sizes=[2,3,2]}
      %b : f32[2,2,3] = transpose(%a) {perm=[0,2,1]}
      %y : f32[12] = reshape(%b) {shape=[12]}
    """
    assert kernels(text) == ["b: slice transpose", "y: (reshape)"]


def test_anchors_and_views_alone_are_kernels() -> None:
    text = """
    graph g(%x: f32[2,3]) -> (%y)
      %a : f32[2,3] = softmax(%x) {axis=1}
      %y : f32[2,6] = concat(%a, %a) {axis=1}
    """
    assert kernels(text) == ["a: softmax", "y: concat"]


def test_a_recurrent_operator_may_have_several_outputs() -> None:
    text = """
    graph g(%x: f32[1,1,2], %w: f32[1,3,2], %r: f32[1,3,3]) -> (%y, %e)
      %y : f32[1,1,1,3], %h : f32[1,1,3] =
        rnn(%x, %w, %r) {hidden=3, direction="forward", activations=["Tanh"], clip=inf}
      %e : f32[1,1,3] = exp(%h)
    """
    assert kernels(text) == ["y, h: rnn", "e: exp"]
    assert kernels(text.replace("-> (%y, %e)", "-> (%e)")) == ["e: rnn exp"]


def test_dead_code_is_dropped() -> None:
    text = """
    graph g(%x: f32[2]) -> (%y)
      %y : f32[2] = exp(%x)
      %z : f32[2] = neg(%y)
    """
    assert kernels(text) == ["y: exp"]


def test_each_anchor_keeps_its_own_tail() -> None:
    """Of two anchors whose tails meet, neither hands its own tail to the other."""
    text = """
    graph g(%x: f32[2,2], %w: f32[2,2], %v: f32[2,2]) -> (%y)
      %a : f32[2,2] = matmul(%x, %w)
      %r : f32[2,2] = relu(%a)
      %b : f32[2,2] = matmul(%x, %v)
      %s : f32[2,2] = sigmoid(%b)
      %y : f32[2,2] = add(%r, %s)
    """
    assert kernels(text) == ["r: matmul relu", "y: matmul sigmoid add"]


def test_pointwise_work_of_one_use_before_a_reduction_is_part_of_it() -> None:
    text = """
    graph g(%x: f32[3,40], %m: f32[3,1]) -> (%y)
      %d : f32[3,40] = sub(%x, %m)
      %s : f32[3,40] = mul(%d, %d)
      %t : f32[3] = reduce(%s) {kind="sum", axes=[1], keepdims=false}
      %y : f32[3] = sqrt(%t)
    """
    assert kernels(text) == ["y: sub mul reduce sqrt"]


def test_a_value_with_another_user_is_not_computed_in_a_reduction() -> None:
    text = """
    graph g(%x: f32[3,40]) -> (%t, %y)
      %a : f32[3,40] = abs(%x)
      %t : f32[3] = reduce(%a) {kind="max", axes=[1], keepdims=false}
      %y : f32[3,40] = sqrt(%a)
    """
    assert kernels(text) == ["a: abs", "t: reduce", "y: sqrt"]


def test_the_tail_of_an_anchor_stays_with_it_before_a_reduction() -> None:
    text = """
    graph g(%x: f32[4,32], %w: f32[32,32]) -> (%t)
      %m : f32[4,32] = matmul(%x, %w)
      %r : f32[4,32] = relu(%m)
      %t : f32[4] = reduce(%r) {kind="sum", axes=[1], keepdims=false}
    """
    assert kernels(text) == ["r: matmul relu", "t: reduce"]


def test_what_takes_long_is_computed_in_whole_vectors() -> None:
    """Of 40 elements a reduction would take eight one by one, and as many vectors would hold all; bytes stay."""

    def text(extent: int, op: str) -> str:
        return f"""
        graph g(%x: f32[3,{extent}]) -> (%t)
          %e : f32[3,{extent}] = {op}(%x)
          %t : f32[3] = reduce(%e) {{kind="sum", axes=[1], keepdims=false}}
        """

    assert kernels(text(40, "exp")) == ["e: exp", "t: reduce"]
    assert kernels(text(40, "abs")) == ["t: abs reduce"]
    assert kernels(text(48, "exp")) == ["t: exp reduce"]
    of_bytes = text(48, "abs").replace("f32", "i8")
    assert kernels(of_bytes) == ["e: abs", "t: reduce"]
