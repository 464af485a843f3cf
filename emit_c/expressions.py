"""Loop-IR expressions as C expressions: the semantics at the head of ``ir/loops.py`` without undefined behaviour."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from pycparser import c_ast

from ..errors import CcmlError, ErrorCode
from ..instructions import INSTRUCTIONS
from ..ir.build import clamped
from ..ir.loops import (
    I32,
    Binary,
    Bitcast,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    Lane,
    Load,
    Reduce,
    Select,
    Shuffle,
    Space,
    Splat,
    Type,
    Unary,
    Var,
)
from ..ir.types import DType
from . import tree
from .requirements import Requirements, has_products, has_saturation
from .scope import Scope
from .spelling import MEMORY_TYPES, PROMOTED, literal, value_type, wide_type

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_COMPARE = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
# Integer operations whose low bits depend on the low bits of their operands only: whole trees of them are computed in
# an unsigned type and converted back once. The count of a shift is not such an operand.
_WRAPPING = frozenset({"add", "sub", "mul", "and", "or", "xor", "shl"})
_LOGICAL = {"and": "&&", "or": "||", "xor": "!=", "ne": "!=", "eq": "=="}
_UNSIGNED = frozenset({DType.U8, DType.U16, DType.U32, DType.U64})
_SPLAT_FMA = Type(DType.F32, 4)
"""The vectors of which some machine multiplies all lanes by a scalar."""

_LANE_FACTORS = {("fma", Type(DType.F32, 4)): 0, ("dot4_i8i8", Type(DType.I32, 4)): 1}
"""The multiply-adds of which some machine takes a factor from a lane of a vector: which argument it is."""
_HALFWORD_SUMS = (Type(DType.I32, 4), Type(DType.I32, 8))
_HALFWORDS = Type(DType.I16, 8)
"""The vector from whose lanes products of halfwords take it."""

_PICKED = Type(DType.I32, 16)
"""Vectors of which a machine picks lanes by number; tables of smaller elements are read as such."""

_NARROW_INTEGERS = frozenset({DType.I8, DType.I16, DType.U8, DType.U16})


class Expressions:
    """Translates expressions in a scope and notes what they need of the runtime."""

    def __init__(self, scope: Scope, needs: Requirements) -> None:
        self.scope = scope
        self.needs = needs
        self._rules: dict[type, Callable[..., c_ast.Node]] = {
            Const: self._const,
            Var: self._var,
            Load: self._load,
            Unary: self._unary,
            Binary: self._binary,
            Select: self._select,
            Convert: self._convert,
            Bitcast: self._bitcast,
            Splat: self._splat,
            Lane: self._lane,
            Shuffle: self._shuffle,
            Reduce: self._reduce,
            Call: self._call,
        }

    def value(self, expr: Expr) -> c_ast.Node:
        """An expression of the C type of ``expr.type``; a scalar bool may be any C expression of value 0 or 1."""
        return self._rules[type(expr)](expr)

    def offset(self, buffer: Buffer, index: tuple[Expr, ...]) -> c_ast.Node:
        """The flat element index: constants of all dimensions gathered into one."""
        terms: Expr | None = None
        constant = 0
        for part, stride in zip(index, buffer.strides):
            if isinstance(part, Binary) and part.op == "add" and isinstance(part.y, Const):
                constant += int(part.y.value) * stride
                part = part.x
            if isinstance(part, Const):
                constant += int(part.value) * stride
                continue
            scaled = part * stride
            terms = scaled if terms is None else terms + scaled
        if terms is None:
            return tree.integer(constant)
        if constant == 0:
            return self.value(terms)
        return tree.binary("+" if constant > 0 else "-", self.value(terms), tree.integer(abs(constant)))

    # ------------------------------------------------------------ leaves

    def _const(self, expr: Const) -> c_ast.Node:
        scalar = literal(expr.value, expr.type.dtype)
        return self._op(expr.type, "splat", scalar) if expr.type.lanes > 1 else scalar

    def _var(self, expr: Var) -> c_ast.Node:
        return tree.name(self.scope.use(expr))

    def _load(self, expr: Load) -> c_ast.Node:
        buffer = expr.buffer
        if buffer.space is Space.REG:
            return tree.name(self.scope.use_element(buffer, expr.index))
        array = self.scope.use_buffer(buffer)
        offset = self.offset(buffer, expr.index)
        if expr.lanes > 1:
            where = tree.address(array, offset)
            if expr.active is None:
                return self._op(expr.type, "load", where)
            return self._op(expr.type, "load_active", where, self.value(expr.active))
        element: c_ast.Node = c_ast.ArrayRef(tree.name(array), offset)
        if buffer.dtype is DType.BOOL:
            element = tree.binary("!=", element, tree.integer(0))
        if expr.active is None:
            return element
        present = tree.binary(">", self.value(expr.active), tree.integer(0))
        return self._narrow(tree.conditional(present, element, literal(0, buffer.dtype)), buffer.dtype)

    def _splat(self, expr: Splat) -> c_ast.Node:
        return self._op(expr.type, "splat", self.value(expr.x))

    def _lane(self, expr: Lane) -> c_ast.Node:
        return self._op(expr.x.type, "lane", self.value(expr.x), tree.integer(expr.number))

    def _shuffle(self, expr: Shuffle) -> c_ast.Node:
        self.needs.type(expr.type)
        self.needs.header("ccml_shuffle.h")
        lanes = expr.type.lanes
        of = f"CCML_X{lanes}_OF" if expr.type.dtype.size == 4 else f"CCML_NARROW{lanes}_OF"
        operands = (tree.name(of), tree.name(f"ccml_{expr.type}"), self.value(expr.x), self.value(expr.y))
        return tree.call(f"CCML_SHUFFLE{lanes}", *operands, *map(tree.integer, expr.picks))

    # ------------------------------------------------------------ arithmetic

    def _unary(self, expr: Unary) -> c_ast.Node:
        dtype = expr.type.dtype
        if expr.type.lanes > 1:
            return self._op(expr.type, expr.op, self.value(expr.x))
        if dtype is DType.BOOL and expr.op == "not":
            return tree.unary("!", self.value(expr.x))
        if expr.op == "abs":
            return self.value(expr.x) if dtype in _UNSIGNED else self._op(expr.type, "abs", self.value(expr.x))
        if dtype is DType.F16:
            return self._op(expr.type, expr.op, self.value(expr.x))
        if dtype.is_float or dtype is DType.INDEX:
            return tree.unary("-" if expr.op == "neg" else "~", self.value(expr.x))
        return self._wrapped_integer(expr)

    def _binary(self, expr: Binary) -> c_ast.Node:
        type_, op = expr.x.type, expr.op
        if type_.lanes > 1:
            return self._vector_binary(expr)
        if type_.dtype is DType.BOOL:
            return tree.binary(_LOGICAL[op], self.value(expr.x), self.value(expr.y))
        if op in _COMPARE:
            return tree.binary(_OPERATORS[op], self._arithmetic(expr.x), self._arithmetic(expr.y))
        if op in ("min", "max", "floordiv", "floormod") or type_.dtype is DType.F16:
            return self._op(type_, op, self.value(expr.x), self.value(expr.y))
        if _is_high_product_and_sum(expr):
            return self._high_product_and_sum(expr)
        if op in _WRAPPING and type_.dtype.is_integer and type_.dtype is not DType.INDEX:
            return self._wrapped_integer(expr)
        return self._narrow(tree.binary(_OPERATORS[op], self.value(expr.x), self.value(expr.y)), type_.dtype)

    def _high_product_and_sum(self, expr: Binary) -> c_ast.Node:
        """One instruction on some machines, which compilers do not find."""
        assert isinstance(expr.x, Call)
        self.needs.header("ccml_scale.h")
        return self._op(expr.type, "mul_high_add", *(self.value(arg) for arg in (*expr.x.args, expr.y)))

    def _vector_binary(self, expr: Binary) -> c_ast.Node:
        """Masks have only and, or, xor and not; everything else on them is said by these."""
        type_, op = expr.x.type, expr.op
        halfwords = _products_of_halfwords(expr)
        if halfwords is not None:
            self.needs.header("ccml_mla.h")
            return self._with_lane(type_, "mla_i16i16", (expr.x, *halfwords), 1, _HALFWORDS)
        words = _factors_of_a_long_product(expr)
        if words is not None:
            return self._op(type_, "product", *(self.value(word) for word in words))
        x, y = self.value(expr.x), self.value(expr.y)
        if type_.dtype is DType.BOOL:
            if op == "eq":
                return self._op(type_, "not", self._op(type_, "xor", x, y))
            op = "xor" if op == "ne" else op
        return self._op(type_, op, x, y)

    def _arithmetic(self, expr: Expr) -> c_ast.Node:
        """The value in a type that C's operators work on: f16 as float."""
        value = self.value(expr)
        return self._f16(value, "ccml_f16_to_f32") if expr.type == Type(DType.F16) else value

    def _wrapped_integer(self, expr: Unary | Binary) -> c_ast.Node:
        dtype = expr.type.dtype
        wide = self._wide(expr)
        return wide if dtype in (DType.U32, DType.U64) else tree.cast(MEMORY_TYPES[dtype], wide)

    def _wide(self, expr: Expr) -> c_ast.Node:
        """A C expression of the unsigned computing type whose low bits are those of ``expr``."""
        dtype = expr.type.dtype
        wide = wide_type(dtype)
        if isinstance(expr, Binary) and expr.op in _WRAPPING:
            rhs = self.value(expr.y) if expr.op == "shl" else self._wide(expr.y)
            return tree.binary(_OPERATORS[expr.op], self._wide(expr.x), rhs)
        if isinstance(expr, Unary) and expr.op == "neg":
            return tree.binary("-", tree.integer(0, "u"), self._wide(expr.x))
        if isinstance(expr, Unary) and expr.op == "not":
            return tree.unary("~", self._wide(expr.x))
        if isinstance(expr, Const) and expr.value >= 0 and dtype.size <= 4:
            return tree.integer(int(expr.value), "u")
        if isinstance(expr, Convert) and expr.x.type.dtype in _NARROW_INTEGERS:
            return tree.cast(wide, self.value(expr.x))
        value = self.value(expr)
        return value if MEMORY_TYPES[dtype] == wide else tree.cast(wide, value)

    def _narrow(self, value: c_ast.Node, dtype: DType) -> c_ast.Node:
        """``value`` converted back where C's operators have promoted it."""
        return tree.cast(MEMORY_TYPES[dtype], value) if dtype in PROMOTED else value

    # ------------------------------------------------------------ the rest

    def _select(self, expr: Select) -> c_ast.Node:
        condition, x, y = self.value(expr.cond), self.value(expr.x), self.value(expr.y)
        if expr.type.lanes > 1:
            return self._op(expr.type, "select", condition, x, y)
        return self._narrow(tree.conditional(condition, x, y), expr.type.dtype)

    def words_of(self, expr: Expr) -> Expr | None:
        """Of four words that become bytes or halfwords, the words, where there is a function that stores their low
        bits: some machines keep narrow integers in words, with the sign above them, which memory does not have."""
        if not isinstance(expr, Convert) or expr.x.type != I32.with_lanes(4) or _saturated(expr) is not None:
            return None
        if expr.type.dtype not in _NARROW_INTEGERS:
            return None
        self.needs.conversion(expr.x.type, expr.type.dtype)
        return expr.x

    def _convert(self, expr: Convert) -> c_ast.Node:
        source, target = expr.x.type, expr.type
        unclamped = _saturated(expr)
        if unclamped is not None:
            self.needs.conversion(source, target.dtype)
            return tree.call(f"ccml_{source}_to_{target.dtype.value}_saturated", self.value(unclamped))
        value = self.value(expr.x)
        if source == target:
            return value
        if source.lanes > 1:
            self.needs.conversion(source, target.dtype)
            return tree.call(f"ccml_{source}_to_{target.dtype.value}", value)
        if source.dtype is DType.F16:
            value = self._f16(value, "ccml_f16_to_f32")
        if target.dtype is DType.BOOL:
            return tree.binary("!=", value, tree.integer(0))
        if target.dtype is DType.F16:
            exact = value if source.dtype is DType.F32 else tree.cast("double", value)
            return self._f16(exact, "ccml_f32_to_f16" if source.dtype is DType.F32 else "ccml_f64_to_f16")
        if (source.dtype, target.dtype) == (DType.F16, DType.F32):
            return value
        return tree.cast(MEMORY_TYPES[target.dtype], value)

    def _bitcast(self, expr: Bitcast) -> c_ast.Node:
        source, target = expr.x.type, expr.type
        loaded = expr.x
        if target == _PICKED and isinstance(loaded, Load) and source.lanes > 16 and loaded.active is None:
            self.needs.header("ccml_lookup.h")
            where = tree.address(self.scope.use_buffer(loaded.buffer), self.offset(loaded.buffer, loaded.index))
            return self._op(target, "load_bytes", where)
        value = self.value(expr.x)
        if source == target:
            return value
        if source.lanes == target.lanes == 1:
            if not (source.dtype in (DType.F32, DType.F64) or target.dtype in (DType.F32, DType.F64)):
                return tree.cast(MEMORY_TYPES[target.dtype], value)
            self.needs.header("ccml_bits.h")
        else:
            self.needs.bitcast(source, target)
        return tree.call(f"ccml_{source}_as_{target}", value)

    def _reduce(self, expr: Reduce) -> c_ast.Node:
        return self._op(expr.x.type, f"reduce_{expr.op}", self.value(expr.x))

    def _call(self, expr: Call) -> c_ast.Node:
        if expr.function not in INSTRUCTIONS:
            known = ", ".join(INSTRUCTIONS)
            raise CcmlError(ErrorCode.IR_INVALID, f"no function '{expr.function}'", hint=f"there are: {known}")
        row = INSTRUCTIONS[expr.function]
        if row.c_header is None:
            expanded = row.expansion(expr) if row.expansion else None
            if expanded is None:
                raise CcmlError(ErrorCode.IR_INVALID, f"C has no function for {expr.function} on {expr.type}")
            return self.value(expanded)
        if row.c_header:
            self.needs.header(row.c_header)
        first = expr.args[0]
        if expr.function == "saturate8" and isinstance(first, Binary) and _is_shifted(first):
            return self._op(expr.type, "saturate8_shifted", self.value(first.x), self.value(first.y))
        factor = _LANE_FACTORS.get((expr.function, expr.type))
        if factor is not None and _lane_of(expr.args[factor], expr.type) is not None:
            self.needs.header("ccml_lane.h")
            return self._with_lane(expr.type, expr.function, expr.args, factor, expr.type)
        if expr.function == "fma" and expr.type == _SPLAT_FMA and isinstance(first, Splat):
            return self._op(expr.type, "fma_splat", *(self.value(arg) for arg in (first.x, *expr.args[1:])))
        return self._op(expr.type, expr.function, *(self.value(arg) for arg in expr.args))

    def _with_lane(self, type_: Type, op: str, args: Sequence[Expr], factor: int, source: Type) -> c_ast.Node:
        """A multiply-add; by the function for that where the argument ``factor`` is a lane of a ``source``."""
        lane = _lane_of(args[factor], source)
        values = [self.value(arg) for arg in args]
        if lane is None:
            return self._op(type_, op, *values)
        values[factor : factor + 1] = [self.value(lane.x), tree.integer(lane.number)]
        return self._op(type_, f"{op}_lane", *values)

    def _f16(self, value: c_ast.Node, function: str) -> c_ast.Node:
        self.needs.header("ccml_f16.h")
        return tree.call(function, value)

    def _op(self, type_: Type, op: str, *args: c_ast.Node) -> c_ast.Node:
        """A function of the runtime for that type."""
        if type_.lanes > 1:
            self.needs.type(type_)
        elif type_.dtype is DType.INDEX:
            self.needs.header("ccml_index.h")
        elif type_.dtype.is_integer:
            self.needs.header("ccml_integer.h")
        else:
            self.needs.header("ccml_f16.h" if type_.dtype is DType.F16 else "ccml_float.h")
        return tree.call(f"ccml_{type_}_{op}", *args)

    def variable_type(self, type_: Type) -> str:
        """The C type of a local variable."""
        self.needs.type(type_)
        return value_type(type_)


def _is_high_product_and_sum(expr: Binary) -> bool:
    return expr.op == "add" and expr.type == I32 and isinstance(expr.x, Call) and expr.x.function == "mul_high"


def _is_shifted(expr: Binary) -> bool:
    """Whether an i32 is shifted right by some constant."""
    return expr.op == "shr" and expr.type == I32 and isinstance(expr.y, Const) and 0 < expr.y.value < 32


def _lane_of(expr: Expr, source: Type) -> Lane | None:
    """What ``expr`` has in all lanes, if that is a lane of a vector of type ``source``."""
    lane = expr.x if isinstance(expr, Splat) else None
    return lane if isinstance(lane, Lane) and lane.x.type == source else None


def _products_of_halfwords(expr: Binary) -> tuple[Expr, Expr] | None:
    """The factors of ``acc + i32(x) * i32(w)``, four or eight lanes of i16."""
    product = expr.y
    if expr.op != "add" or expr.type not in _HALFWORD_SUMS or not isinstance(product, Binary) or product.op != "mul":
        return None
    factors = tuple(part.x for part in (product.x, product.y) if isinstance(part, Convert))
    if len(factors) != 2 or any(factor.type.dtype is not DType.I16 for factor in factors):
        return None
    return factors[0], factors[1]


def _factors_of_a_long_product(expr: Binary) -> tuple[Expr, Expr] | None:
    """The factors of ``i64(x) * i64(y)`` as words: machines multiply these at once."""
    if expr.op != "mul" or not has_products(expr.type):
        return None
    x, y = _as_words(expr.x), _as_words(expr.y)
    return None if x is None or y is None else (x, y)


def _saturated(expr: Convert) -> Expr | None:
    """Of words that are clamped to what the bytes hold that they become, these words."""
    dtype, found = expr.type.dtype, clamped(expr.x)
    if found is None or dtype not in (DType.I8, DType.U8) or not has_saturation(expr.x.type):
        return None
    x, least, most = found
    limits = np.iinfo(dtype.numpy)
    return x if (least.value, most.value) == (limits.min, limits.max) else None


def _as_words(expr: Expr) -> Expr | None:
    """An integer of 64 bits as one of 32, where it is known to be such."""
    word = I32.with_lanes(expr.type.lanes)
    if isinstance(expr, Const):
        return Const(expr.value, word) if -(1 << 31) <= expr.value < 1 << 31 else None
    if isinstance(expr, Splat):
        inner = _as_words(expr.x)
        return None if inner is None else Splat(inner, expr.lanes)
    if not isinstance(expr, Convert):
        return None
    source = expr.x.type.dtype
    fits = source is DType.I32 or source in _NARROW_INTEGERS
    return word(expr.x) if fits else None
