"""Short constructors of pycparser trees, and the printer of a tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pycparser import c_ast, c_generator

_ARITHMETIC = frozenset({"*", "/", "%", "+", "-"})
_COMPARISON = frozenset({"<", ">", "<=", ">=", "==", "!="})
_BARE_OPERANDS = {
    **dict.fromkeys(_ARITHMETIC, _ARITHMETIC),
    **dict.fromkeys(_COMPARISON, _ARITHMETIC),
    "&&": _ARITHMETIC | _COMPARISON | {"&&"},
    "||": _ARITHMETIC | _COMPARISON | {"||"},
}


def name(text: str) -> c_ast.ID:
    return c_ast.ID(text)


def integer(value: int, suffix: str = "") -> c_ast.Node:
    """A decimal literal; a minus sign is an operator of its own."""
    literal = c_ast.Constant("int", f"{abs(value)}{suffix}")
    return c_ast.UnaryOp("-", literal) if value < 0 else literal


def binary(op: str, lhs: c_ast.Node, rhs: c_ast.Node) -> c_ast.Node:
    return c_ast.BinaryOp(op, lhs, rhs)


def unary(op: str, operand: c_ast.Node) -> c_ast.Node:
    return c_ast.UnaryOp(op, operand)


def call(function: str, *args: c_ast.Node) -> c_ast.Node:
    return c_ast.FuncCall(name(function), c_ast.ExprList(list(args)))


def address(array: str, index: c_ast.Node) -> c_ast.Node:
    """``&array[index]``."""
    return unary("&", c_ast.ArrayRef(name(array), index))


def conditional(condition: c_ast.Node, x: c_ast.Node, y: c_ast.Node) -> c_ast.Node:
    return c_ast.TernaryOp(condition, x, y)


def cast(type_name: str, operand: c_ast.Node, pointer: bool = False) -> c_ast.Node:
    """``(type_name) operand``, or with ``pointer`` ``(type_name *) operand``."""
    target: c_ast.Node = _named("", type_name)
    target = c_ast.PtrDecl([], target) if pointer else target
    return c_ast.Cast(c_ast.Typename(None, [], None, target), operand)


def block(statements: Iterable[c_ast.Node]) -> c_ast.Compound:
    return c_ast.Compound(list(statements))


def assign(target: c_ast.Node, value: c_ast.Node) -> c_ast.Node:
    return c_ast.Assignment("=", target, value)


def discard(variable: str) -> c_ast.Node:
    """``(void) variable;`` says that a variable is meant to be unused."""
    return cast("void", name(variable))


def declare(
    variable: str,
    type_name: str,
    init: c_ast.Node | None = None,
    *,
    const: bool = False,
    array: int | None = None,
    specifiers: Sequence[str] = (),
) -> c_ast.Decl:
    """``specifiers type_name variable[array] = init``; ``specifiers`` are storage classes or attribute macros."""
    quals = ["const"] if const else []
    declared: c_ast.Node = _named(variable, type_name, quals)
    if array is not None:
        declared = c_ast.ArrayDecl(declared, integer(array), [])
    return c_ast.Decl(variable, quals, [], list(specifiers), [], declared, init, None)


def pointer_parameter(variable: str, type_name: str, *, const: bool, restrict: bool = False) -> c_ast.Decl:
    """``const type_name *restrict variable``."""
    target = _named(variable, type_name, ["const"] if const else [])
    pointer = c_ast.PtrDecl(["restrict"] if restrict else [], target)
    return c_ast.Decl(variable, [], [], [], [], pointer, None, None)


def function(
    symbol: str,
    parameters: Sequence[c_ast.Decl],
    body: c_ast.Compound,
    result: str = "void",
    storage: Sequence[str] = ("static",),
) -> c_ast.FuncDef:
    """``storage``: storage classes and attribute macros."""
    arguments: list[c_ast.Node] = list(parameters) or [c_ast.Typename(None, [], None, _named("", "void"))]
    declared = c_ast.FuncDecl(c_ast.ParamList(arguments), _named(symbol, result))
    return c_ast.FuncDef(c_ast.Decl(symbol, [], [], list(storage), [], declared, None, None), None, body)


def _named(variable: str, type_name: str, quals: list[str] | None = None) -> c_ast.TypeDecl:
    return c_ast.TypeDecl(variable or None, quals or [], None, c_ast.IdentifierType([type_name]))


COLUMNS = 120


def comment_lines(paragraphs: Sequence[str], indent: int = 0) -> str:
    """The paragraphs, each on lines of its own of at most 120 columns; long names are broken behind a separator."""
    width = COLUMNS - indent - len("/*  */")
    lines = []
    for paragraph in filter(None, paragraphs):
        line = ""
        for part in re.split(r"(?<=[ ;,/])", paragraph):
            if line and len(line) + len(part.rstrip()) > width:
                lines.append(line.rstrip())
                line = ""
            line += part
        lines.append(line.rstrip())
    return ("\n" + " " * (indent + 3)).join(lines)


class Comment(c_ast.Node):
    """Lines between statements, for people."""

    __slots__ = ("coord", "text")

    def __init__(self, text: str) -> None:
        self.text, self.coord = text, None

    def children(self) -> tuple[()]:
        return ()

    attr_names = ("text",)


class Marker(c_ast.Node):
    """A macro in front of a statement."""

    __slots__ = ("coord", "name")

    def __init__(self, name: str) -> None:
        self.name, self.coord = name, None

    def children(self) -> tuple[()]:
        return ()

    attr_names = ("name",)


class _Generator(c_generator.CGenerator):
    """Leaves out the parentheses that neither a reader nor a compiler's warnings ask for."""

    def visit_Comment(self, n: Comment) -> str:  # noqa: N802
        return f"/* {n.text} */"

    def visit_Marker(self, n: Marker) -> str:  # noqa: N802
        return n.name

    def visit_BinaryOp(self, n: c_ast.BinaryOp) -> str:  # noqa: N802
        return f"{self._operand(n.left, n.op, 0)} {n.op} {self._operand(n.right, n.op, 1)}"

    def visit_TernaryOp(self, n: c_ast.TernaryOp) -> str:  # noqa: N802
        parts = [self._wrapped(part) for part in (n.cond, n.iftrue, n.iffalse)]
        return f"{parts[0]} ? {parts[1]} : {parts[2]}"

    def visit_Cast(self, n: c_ast.Cast) -> str:  # noqa: N802
        bare = isinstance(n.expr, (c_ast.Cast, c_ast.UnaryOp))
        return f"({self.visit(n.to_type)}){self.visit(n.expr) if bare else self._wrapped(n.expr)}"

    def _operand(self, node: c_ast.Node, parent: str, side: int) -> str:
        if isinstance(node, c_ast.Cast) or (isinstance(node, c_ast.UnaryOp) and node.op != "!"):
            return self.visit(node)
        if isinstance(node, c_ast.BinaryOp) and node.op in _BARE_OPERANDS.get(parent, ()):
            strength = self.precedence_map[node.op] - self.precedence_map[parent]
            if strength > 0 or (strength == 0 and side == 0):
                return self.visit(node)
        return self._wrapped(node)

    def _wrapped(self, node: c_ast.Node) -> str:
        text = self.visit(node)
        return text if self._is_simple_node(node) else f"({text})"


def print_c(node: c_ast.Node) -> str:
    """The C text of a tree, without the empty lines that pycparser leaves behind nested blocks."""
    return re.sub(r"\n{2,}", "\n", _Generator().visit(node))
