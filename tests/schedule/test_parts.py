"""Pointwise work behind concatenations goes over one operand after the other: no element is a choice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.ir.loops import Select
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts
from ccml.ir.program import Program
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph

from tests.artifacts.machines import GENERIC, NATIVE
from tests.schedule.block_cases import Route, by_c, in_process
from tests.tools import needs

ROUTES = pytest.mark.parametrize(
    "route", [pytest.param(in_process, id="here"), pytest.param(by_c, id="c", marks=needs("gcc"))]
)


def lowered(text: str, route: Route) -> Program:
    graph = fuse(parse_graph(text))
    assert len(graph.nodes) == 1
    return lower_graph(graph, NATIVE if route is in_process else GENERIC)


def results(program: Program, route: Route, inputs: dict[str, np.ndarray], tmp_path: Path) -> np.ndarray:
    return route(program, NATIVE if route is in_process else GENERIC, inputs, tmp_path)["y"]


def choices(program: Program) -> int:
    statements = (stmt for kernel in program.kernels for stmt in walk_stmts(kernel.body))
    exprs = (each for stmt in statements for top in stmt_exprs(stmt) for each in walk_expr(top))
    return sum(isinstance(each, Select) for each in exprs)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@ROUTES
@pytest.mark.parametrize("extents", [(3, 8), (1, 17, 5), (0, 4), (4, 0, 1), tuple(range(1, 21))])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_operands_of_any_extent(route: Route, extents: tuple[int, ...], axis: int, tmp_path: Path) -> None:
    shapes = [[5 if d != axis else extent for d in range(3)] for extent in extents]
    whole = [5 if d != axis else sum(extents) for d in range(3)]
    scale = [1 if d != axis else sum(extents) for d in range(3)]
    brackets = [f"f32[{','.join(map(str, shape))}]" for shape in shapes]
    name, scales = f"f32[{','.join(map(str, whole))}]", f"f32[{','.join(map(str, scale))}]"
    text = f"""
    graph g({', '.join(f'%x{k}: {each}' for k, each in enumerate(brackets))}, %s: {scales}) -> (%y)
      %c : {name} = concat({', '.join(f'%x{k}' for k in range(len(extents)))}) {{axis={axis}}}
      %m : {name} = mul(%c, %s)
      %y : {name} = relu(%m)
    """
    inputs = {f"x{k}": numbers(*shape) for k, shape in enumerate(shapes)} | {"s": numbers(*scale)}
    program = lowered(text, route)
    assert not choices(program)
    joined = np.concatenate([inputs[f"x{k}"] for k in range(len(extents))], axis)
    np.testing.assert_array_equal(results(program, route, inputs, tmp_path), np.maximum(joined * inputs["s"], 0))


@ROUTES
def test_concatenations_that_end_at_different_places(route: Route, tmp_path: Path) -> None:
    text = """
    graph g(%a: f32[3,9], %b: f32[3,6], %c: f32[3,2], %d: f32[3,13], %e: f32[3,15]) -> (%y)
      %p : f32[3,15] = concat(%a, %b) {axis=1}
      %q : f32[3,15] = concat(%c, %d) {axis=1}
      %s : f32[3,15] = mul(%p, %q)
      %y : f32[3,15] = sub(%s, %e)
    """
    inputs = {name: numbers(3, extent) for name, extent in zip("abcde", (9, 6, 2, 13, 15))}
    program = lowered(text, route)
    assert not choices(program)
    a, b, c, d, e = inputs.values()
    wanted = np.hstack([a, b]) * np.hstack([c, d]) - e
    np.testing.assert_allclose(results(program, route, inputs, tmp_path), wanted, rtol=1e-6, atol=1e-6)


@ROUTES
def test_a_concatenation_along_another_axis_keeps_its_choices(route: Route, tmp_path: Path) -> None:
    text = """
    graph g(%a: f32[3,4], %b: f32[3,3], %c: f32[1,7], %d: f32[2,7]) -> (%y)
      %p : f32[3,7] = concat(%a, %b) {axis=1}
      %q : f32[3,7] = concat(%c, %d) {axis=0}
      %y : f32[3,7] = add(%p, %q)
    """
    inputs = {"a": numbers(3, 4), "b": numbers(3, 3), "c": numbers(1, 7), "d": numbers(2, 7)}
    a, b, c, d = inputs.values()
    found = results(lowered(text, route), route, inputs, tmp_path)
    np.testing.assert_array_equal(found, np.hstack([a, b]) + np.vstack([c, d]))


def one_kernel(text: str) -> Graph:
    """``text`` as the body of one kernel, though the passes would make several of it."""
    body = parse_graph(text)
    arguments = ", ".join(f"%{value.name}" for value in body.inputs)
    declared = ", ".join(f"%{value.name}: {value.type}" for value in body.inputs)
    return parse_graph(f"""
    graph g({declared}) -> (%y)
      %y : {body.outputs[0].type} = fused({arguments}) {{body={{{text}}}}}
    """)


@ROUTES
def test_what_is_read_in_other_places_as_well_keeps_its_choices(route: Route, tmp_path: Path) -> None:
    graph = one_kernel("""
    graph y(%a: f32[1,4], %b: f32[3,4]) -> (%y)
      %p : f32[4,4] = concat(%a, %b) {axis=0}
      %t : f32[4,4] = transpose(%p) {perm=[1,0]}
      %y : f32[4,4] = sub(%p, %t)
    """)
    inputs = {"a": numbers(1, 4), "b": numbers(3, 4)}
    machine = NATIVE if route is in_process else GENERIC
    found = route(lower_graph(graph, machine), machine, inputs, tmp_path)["y"]
    joined = np.vstack([*inputs.values()])
    np.testing.assert_array_equal(found, joined - joined.T)


@ROUTES
@pytest.mark.parametrize("shapes", [("[1,4]", "[0,4]", "[1,4]", 0), ("[1]", "[3]", "[4]", 0)])
def test_what_is_repeated_keeps_its_choices(route: Route, shapes: tuple[str, str, str, int], tmp_path: Path) -> None:
    """A concatenation of fewer elements than the result has parts of its own."""
    a, b, joined, axis = shapes
    graph = one_kernel(f"""
    graph y(%a: f32{a}, %b: f32{b}, %x: f32[3,4]) -> (%y)
      %p : f32{joined} = concat(%a, %b) {{axis={axis}}}
      %y : f32[3,4] = add(%x, %p)
    """)
    inputs = {name: numbers(*map(int, shape[1:-1].split(","))) for name, shape in zip("abx", (a, b, "[3,4]"))}
    machine = NATIVE if route is in_process else GENERIC
    found = route(lower_graph(graph, machine), machine, inputs, tmp_path)["y"]
    np.testing.assert_array_equal(found, inputs["x"] + np.concatenate([inputs["a"], inputs["b"]], axis))
