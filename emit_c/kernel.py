"""Kernels as C functions: prints just what the scheduled loop IR says and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod

from pycparser import c_ast

from ..ir.chunks import kernel_of_chunk
from ..ir.fold_conditions import fold_conditions
from ..ir.loops import (
    Access,
    Alloc,
    Block,
    Buffer,
    Expr,
    Fetch,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    LoopKind,
    Pointer,
    Prefetch,
    Space,
    Store,
    Var,
)
from ..ir.types import DType
from . import tree
from .expressions import Expressions
from .requirements import Requirements
from .scope import Binding, Scope
from .spelling import MEMORY_TYPES, SCALAR_TYPE


def kernel_function(
    kernel: Kernel,
    symbol: str,
    needs: Requirements,
    *,
    disjoint: Collection[str] = (),
    apart: bool = False,
    inline: bool = False,
    reserved: Collection[str] = (),
    linkage: str = "static",
    section: str = "",
    rows_type: str = "",
) -> c_ast.FuncDef:
    """The C function ``static void symbol(...)`` of a kernel, one pointer for each parameter; ``linkage`` instead of
    ``static`` where other files call it. It returns an int where it fetches rows, by functions in structures of the
    ``rows_type``: 0, or 1 where one of them failed. A function with a ``section`` is not inlined into those that have
    none.

    ``needs`` collects what it uses of the runtime. Parameters named in ``disjoint`` overlap no other parameter and are
    ``restrict``. A function ``apart`` is not to be inlined: it is there once, and has registers and stack of its own.
    One that is ``inline`` may stand in a header, of which not everything is used. ``reserved`` are file-level names
    that locals must not hide. Of a chunked kernel it is the function of one chunk.
    """
    storage = [linkage, *(["CCML_APART"] if apart else []), *(["inline"] if inline else [])]
    storage += [f'CCML_SECTION("{section}")'] if section else []
    return _Function(kernel_of_chunk(kernel), symbol, needs, reserved, rows_type).definition(disjoint, storage)


class _Function:
    def __init__(
        self, kernel: Kernel, symbol: str, needs: Requirements, reserved: Collection[str], rows_type: str
    ) -> None:
        self.kernel, self.rows_type = kernel, rows_type
        self.symbol = symbol
        self.scope = Scope(kernel.name, {symbol, *reserved})
        self.expressions = Expressions(self.scope, needs)
        self._rules: dict[type, Callable[..., list[c_ast.Node]]] = {
            For: self._for,
            If: self._if,
            Store: self._store,
            Invoke: self._invoke,
            Prefetch: self._prefetch,
            Fetch: self._fetch,
        }

    def definition(self, disjoint: Collection[str], storage: Sequence[str]) -> c_ast.FuncDef:
        bindings = [self.scope.bind(buffer) for buffer in self.kernel.params]
        scalars = [self.scope.bind(scalar) for scalar in self.kernel.scalars]
        body = self._block(fold_conditions(self.kernel.body))
        unused = [tree.discard(binding.c_name) for binding in (*bindings, *scalars) if not binding.read]
        parameters = [
            tree.pointer_parameter(
                binding.c_name,
                self.rows_type if buffer.space is Space.ROWS else MEMORY_TYPES[buffer.dtype],
                const=buffer.access is Access.READ,
                restrict=buffer.name in disjoint,
            )
            for buffer, binding in zip(self.kernel.params, bindings)
        ]
        parameters += [tree.declare(binding.c_name, SCALAR_TYPE) for binding in scalars]
        done = [c_ast.Return(tree.integer(0))] if self.kernel.fetches else []
        result = "int" if self.kernel.fetches else "void"
        return tree.function(self.symbol, parameters, tree.block([*unused, *body, *done]), result, storage=storage)

    def _block(self, block: Block) -> list[c_ast.Node]:
        """The statements of a block, which must be the innermost scope."""
        parts: list[list[c_ast.Node] | Callable[[], list[c_ast.Node]]] = []
        for stmt in block:
            if isinstance(stmt, (Let, Alloc)):
                parts.append(self._let(stmt) if isinstance(stmt, Let) else self._alloc(stmt.buffer))
            else:
                parts.append(self._rules[type(stmt)](stmt))
        return [node for part in parts for node in (part() if callable(part) else part)]

    def _nested(self, block: Block) -> c_ast.Compound:
        self.scope.push()
        body = tree.block(self._block(block))
        self.scope.pop()
        return body

    def _for(self, stmt: For) -> list[c_ast.Node]:
        extent = self.expressions.value(stmt.extent)
        self.scope.push()
        counter = self.scope.bind(stmt.var).c_name
        start = c_ast.DeclList([tree.declare(counter, MEMORY_TYPES[DType.INDEX], tree.integer(0))])
        condition = tree.binary("<", tree.name(counter), extent)
        step = tree.unary("++", tree.name(counter))
        body = self._nested(stmt.body)
        self.scope.pop()
        rolled = [tree.Marker("CCML_ROLLED")] if stmt.kind is LoopKind.ROLLED else []
        return [*rolled, c_ast.For(start, condition, step, body)]

    def _if(self, stmt: If) -> list[c_ast.Node]:
        condition = self.expressions.value(stmt.cond)
        orelse = self._nested(stmt.orelse) if stmt.orelse else None
        return [c_ast.If(condition, self._nested(stmt.then), orelse)]

    # Declarations are made when their scope ends: only then is known whether the variable is used.

    def _let(self, stmt: Let) -> Callable[[], list[c_ast.Node]]:
        value = self.expressions.value(stmt.value)
        binding = self.scope.bind(stmt.var)
        declaration = tree.declare(binding.c_name, self.expressions.variable_type(stmt.var.type), value, const=True)
        return lambda: [declaration, *_discard_unread(binding)]

    def _alloc(self, buffer: Buffer) -> Callable[[], list[c_ast.Node]]:
        if buffer.space is Space.REG:
            type_name = self.expressions.variable_type(buffer.type)
            elements = self.scope.bind_elements(buffer)
            return lambda: [
                node
                for element in elements
                if element.read or element.written
                for node in (tree.declare(element.c_name, type_name), *_discard_unread(element))
            ]
        binding = self.scope.bind(buffer)
        alignment = [f"CCML_ALIGN({buffer.align})"] if buffer.align > buffer.dtype.size else []
        array = tree.declare(
            binding.c_name, MEMORY_TYPES[buffer.dtype], array=max(prod(buffer.shape), 1), specifiers=alignment
        )
        return lambda: [array, *_discard_unread(binding)]

    def _store(self, stmt: Store) -> list[c_ast.Node]:
        buffer = stmt.buffer
        words = None if buffer.space is Space.REG else self.expressions.words_of(stmt.value)
        value = self.expressions.value(stmt.value if words is None else words)
        if buffer.space is Space.REG:
            return [tree.assign(tree.name(self.scope.write_element(buffer, stmt.index)), value)]
        array = self.scope.use_buffer(buffer)
        offset = self.expressions.offset(buffer, stmt.index)
        active = None if stmt.active is None else self.expressions.value(stmt.active)
        if stmt.value.type.lanes > 1:
            source, low = (stmt.value, "") if words is None else (words, f"_{buffer.dtype.value}")
            return [self._vector_store(f"ccml_{source.type}_store{low}", tree.address(array, offset), value, active)]
        if buffer.dtype is DType.BOOL:
            value = tree.cast(MEMORY_TYPES[DType.BOOL], value)
        assignment = tree.assign(c_ast.ArrayRef(tree.name(array), offset), value)
        if active is None:
            return [assignment]
        return [c_ast.If(tree.binary(">", active, tree.integer(0)), tree.block([assignment]), None)]

    def _invoke(self, stmt: Invoke) -> list[c_ast.Node]:
        self.expressions.needs.block(stmt.block)
        arguments = [*(self._pointer(pointer) for pointer in stmt.pointers), *map(self._number, stmt.scalars)]
        return [tree.call(f"ccml_{stmt.block}", *arguments)]

    def _prefetch(self, stmt: Prefetch) -> list[c_ast.Node]:
        """The place as an offset: C has no pointers to what lies outside of an array."""
        self.expressions.needs.header("ccml_prefetch.h")
        buffer = stmt.pointer.buffer
        offset = self.expressions.offset(buffer, stmt.pointer.index)
        size = tree.integer(buffer.dtype.size)
        return [tree.call("ccml_prefetch", tree.name(self.scope.use_buffer(buffer)), tree.binary("*", offset, size))]

    def _fetch(self, stmt: Fetch) -> list[c_ast.Node]:
        """``if (x->row(x->context, (size_t)row, y + place) != 0) return 1;``"""
        source = tree.name(self.scope.use_buffer(stmt.source))
        function, context = (c_ast.StructRef(source, "->", tree.name(field)) for field in ("row", "context"))
        row = tree.cast("size_t", self.expressions.value(stmt.row))
        result = c_ast.FuncCall(function, c_ast.ExprList([context, row, self._pointer(stmt.target)]))
        failed = tree.binary("!=", result, tree.integer(0))
        return [c_ast.If(failed, tree.block([c_ast.Return(tree.integer(1))]), None)]

    def _number(self, scalar: int | Expr) -> c_ast.Node:
        if isinstance(scalar, int):
            return tree.integer(scalar)
        value = self.expressions.value(scalar)
        return value if isinstance(scalar, Var) else tree.cast(SCALAR_TYPE, value)

    def _pointer(self, pointer: Pointer) -> c_ast.Node:
        offset = self.expressions.offset(pointer.buffer, pointer.index)
        return tree.address(self.scope.use_buffer(pointer.buffer), offset)

    @staticmethod
    def _vector_store(store: str, where: c_ast.Node, value: c_ast.Node, active: c_ast.Node | None) -> c_ast.Node:
        return tree.call(store, where, value) if active is None else tree.call(f"{store}_active", where, value, active)


def _discard_unread(binding: Binding) -> list[c_ast.Node]:
    return [] if binding.read else [tree.discard(binding.c_name)]
