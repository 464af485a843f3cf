"""Loop IR: what a kernel computes, and after scheduling exactly how.

Grammar (text form in ``ir/loops_text.py``, invariants in ``ir/loops_verify.py``)::

    kernel  := Kernel(name, params: Buffer*, body: Stmt*, scalars: Var*, foreign: Foreign?, chunked: int)
    stmt    := For(var, extent, body, kind)          kind: serial | unroll | parallel | rolled
             | If(cond, then, orelse)
             | Let(var, value)                       an immutable name for the rest of the block
             | Alloc(buffer)                         a stack or register buffer for the rest of the block
             | Store(buffer, index*, value, active?)
             | Invoke(block, pointers: Pointer*, scalars: (int | expr)*)   a row of the block table, ccml.blocks
             | Prefetch(pointer: Pointer)            memory that is read soon
             | Fetch(source, row, target: Pointer)   a row of an input, from the caller
    expr    := Const | Var | Load(buffer, index*, lanes, active?)
             | Unary(op, x) | Binary(op, x, y) | Select(cond, x, y)
             | Convert(type, x) | Bitcast(type, x) | Splat(x, lanes) | Lane(x, number) | Reduce(op, x)
             | Shuffle(x, y, picks)
             | Call(function, args, type)            a row of the instruction table, ccml.ir.instructions

Semantics
---------
*Types.* Every expression has a :class:`Type`: an element type and a number of lanes (1: a scalar). Both operands of a
Binary have the same type; comparisons yield ``bool`` with the same lanes. There is no implicit conversion.

*Buffers* are dense row-major arrays of static shape. An index has one ``index`` expression per dimension and is in
range; the verifier proves it where the indices are affine. A Load or Store of ``lanes`` elements touches that many
consecutive elements of the last dimension. With ``active`` (an ``index`` expression, 0..lanes) only the first
``active`` lanes are touched; the others load as zero and are not stored. Elements of ``GLOBAL`` and ``STACK`` buffers
are scalars; a ``REG`` buffer (registers) may hold vectors, its Loads and Stores move whole elements, and its indices
are constants once loops are unrolled. Stack and register buffers start undefined.

*Integers* wrap around in two's complement (``add sub mul neg shl``). ``div`` truncates toward zero, ``mod`` has the
sign of the dividend; division by zero and ``MIN / -1`` are undefined. ``floordiv``/``floormod`` round toward minus
infinity and are for ``index`` only. ``shl``/``shr`` take a count of 0..bits-1; ``shr`` is arithmetic for signed types.
``index`` arithmetic does not overflow.

*Floats* are IEEE 754 with round to nearest even; no operation is reassociated, contracted or assumed free of NaN:
a fused multiply-add is written ``Call("fma")``. ``min``/``max`` are ``x < y ? x : y`` and ``x > y ? x : y``: where an
operand is NaN the *second* operand is the result. ``div`` by zero gives infinity or NaN.

*Convert* between integers keeps the low bits; integer to float and float to float round to nearest even; float to
integer truncates and is undefined out of range (clamp first); to ``bool`` is ``x != 0``; from ``bool`` gives 0 or 1.

*Reduce* combines lanes as a tree: the upper half is combined with the lower half until one lane is left.

*Invoke* runs the kernel that the block instruction stands for with these scalars, on the memory that begins at each
``Pointer(buffer, index*)``; memory that it writes overlaps nothing else that it touches, unless it is given the same
values there.

*Prefetch* changes nothing; the place may lie outside of the buffer.

*Fetch* copies row number ``row`` of a ``ROWS`` parameter, all that is behind its first dimension, to the memory that
begins at ``target``. A kernel fetches every row of such a parameter, each once, in ascending order: the rows are not in
memory, but are brought by a function of the caller's. Where that fails, the kernel ends at once, and so does the run.

*Scalars* of a kernel are ``index`` variables of at most 32 bits whose values are given with each call. Parameters of a
kernel with scalars have one dimension; their extent is the least of what calls pass, and arguments may be longer. What
such a kernel means is what its specialisation (``ir/specialize.py``) means.

*Foreign kernels* have no body: C of the user's computes them (``ir/foreign.py``). It reads ``const`` parameters, writes
every element of ``out`` ones, and touches no other memory; what it writes overlaps none of its other parameters, but
where that is declared.

*Loops.* ``For`` counts from 0 to ``extent`` - 1 in steps of one; an extent below 0 is as good as 0. ``parallel``
promises that iterations are independent. ``unroll`` loops are expanded by ``schedule.unroll`` before printing.
Compilers are asked to leave ``rolled`` loops as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from math import copysign
from typing import Union

from ..record import record
from .foreign import Foreign
from .types import DType


@record
class Type:
    dtype: DType
    lanes: int = 1

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Type and self.dtype is other.dtype and self.lanes == other.lanes)

    def __hash__(self) -> int:
        return hash((self.dtype, self.lanes))

    def __str__(self) -> str:
        return self.dtype.value if self.lanes == 1 else f"{self.dtype.value}x{self.lanes}"

    def __call__(self, value: ExprLike) -> Expr:
        """The literal of a number, ``I32(5)``, or the conversion of an expression, ``I32(x[i])``."""
        if not isinstance(value, Expr):
            return const(value, self)
        return value if value.type == self else Convert(self, value)

    def with_lanes(self, lanes: int) -> Type:
        return self if lanes == self.lanes else Type(self.dtype, lanes)


INDEX = Type(DType.INDEX)
BOOL = Type(DType.BOOL)
F64, F32 = Type(DType.F64), Type(DType.F32)
I64, I32, I16, I8 = Type(DType.I64), Type(DType.I32), Type(DType.I16), Type(DType.I8)
U64, U32, U16, U8 = Type(DType.U64), Type(DType.U32), Type(DType.U16), Type(DType.U8)


class Space(Enum):
    """Where a buffer lives: behind a parameter, on the stack, in registers, or with a function of the caller's that
    brings its rows, the elements behind the first dimension, one by one."""

    GLOBAL = "global"
    STACK = "stack"
    REG = "reg"
    ROWS = "rows"


class Access(Enum):
    READ = "const"
    WRITE = "out"
    READ_WRITE = "inout"


@record
class Buffer:
    """A dense row-major array. ``align``: guaranteed alignment of its first element in bytes (0: the element's)."""

    name: str
    type: Type
    shape: tuple[int, ...]
    space: Space = Space.GLOBAL
    access: Access = Access.READ_WRITE
    align: int = 0

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    def __getitem__(self, index: ExprLike | tuple[ExprLike, ...]) -> Load:
        """One element, as the text says it: ``x[oh * 2 + kh, ow]``."""
        place = index if isinstance(index, tuple) else (index,)
        return Load(self, tuple(as_expr(part) for part in place))

    __iter__ = None  # Python would count indices up without end

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension."""
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.append(step)
            step *= extent
        return tuple(reversed(strides))


class Expr:
    """Base of all expressions.

    The operators build trees: a number becomes a literal of the other operand's type, and arithmetic on ``index`` is
    lightly simplified (:func:`binary`). What has no operator here is in ``ir/build.py``; ``==`` compares trees.
    """

    type: Type

    def __add__(self, other: ExprLike) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", self, other)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("floormod", self, other)

    def __and__(self, other: ExprLike) -> Expr:
        return binary("and", self, other)

    def __or__(self, other: ExprLike) -> Expr:
        return binary("or", self, other)

    def __xor__(self, other: ExprLike) -> Expr:
        return binary("xor", self, other)

    def __lshift__(self, other: ExprLike) -> Expr:
        return binary("shl", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return binary("shl", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return binary("shr", self, other)

    def __neg__(self) -> Expr:
        return unary("neg", self)


ExprLike = Union[Expr, int, float]

UNARY_OPS = frozenset({"neg", "not", "abs"})
ARITHMETIC_OPS = frozenset(
    {"add", "sub", "mul", "div", "mod", "floordiv", "floormod", "min", "max", "and", "or", "xor", "shl", "shr"}
)
COMPARE_OPS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
REDUCE_OPS = frozenset({"add", "mul", "min", "max"})


@record
class Const(Expr):
    """A literal; with several lanes, the same value in each. 0.0 is not -0.0, and NaN is NaN."""

    value: int | float | bool
    type: Type

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not Const or self.type != other.type:
            return False
        x, y = self.value, other.value
        return copysign(1, x) == copysign(1, y) if x == y else x != x and y != y

    def __hash__(self) -> int:
        return hash((self.value if self.value == self.value else None, self.type))


@record
class Var(Expr):
    """A loop variable or a Let-bound name."""

    name: str
    type: Type = INDEX

    def __hash__(self) -> int:
        return hash(self.name)


@record
class Load(Expr):
    buffer: Buffer
    index: tuple[Expr, ...]
    lanes: int = 1
    active: Expr | None = None

    @property
    def type(self) -> Type:  # type: ignore[override]
        return self.buffer.type if self.buffer.space is Space.REG else self.buffer.type.with_lanes(self.lanes)


@record
class Unary(Expr):
    """``neg``, ``abs``; ``not`` is logical on bool and bitwise on integers."""

    op: str
    x: Expr

    @property
    def type(self) -> Type:  # type: ignore[override]
        return self.x.type


@record
class Binary(Expr):
    op: str
    x: Expr
    y: Expr

    @property
    def type(self) -> Type:  # type: ignore[override]
        return Type(DType.BOOL, self.x.type.lanes) if self.op in COMPARE_OPS else self.x.type


@record
class Select(Expr):
    """``x`` where ``cond`` (bool, as many lanes), else ``y``. Both sides are evaluated."""

    cond: Expr
    x: Expr
    y: Expr

    @property
    def type(self) -> Type:  # type: ignore[override]
        return self.x.type


@record
class Convert(Expr):
    """Conversion by value, lane by lane."""

    type: Type
    x: Expr


@record
class Bitcast(Expr):
    """The same bits (little endian) as another type of the same size; lanes may change."""

    type: Type
    x: Expr


@record
class Splat(Expr):
    x: Expr
    lanes: int

    @property
    def type(self) -> Type:  # type: ignore[override]
        return self.x.type.with_lanes(self.lanes)


@record
class Lane(Expr):
    """The lane of that number, the first being 0, as a scalar."""

    x: Expr
    number: int

    @property
    def type(self) -> Type:  # type: ignore[override]
        return self.x.type.with_lanes(1)


@record
class Shuffle(Expr):
    """A vector of as many lanes as ``x`` and ``y`` have each, from lanes of both: ``picks`` are their numbers, those of
    ``y`` behind those of ``x``."""

    x: Expr
    y: Expr
    picks: tuple[int, ...]

    @property
    def type(self) -> Type:  # type: ignore[override]
        return self.x.type


@record
class Reduce(Expr):
    """All lanes combined into a scalar by ``add``, ``mul``, ``min`` or ``max``."""

    op: str
    x: Expr

    @property
    def type(self) -> Type:  # type: ignore[override]
        return self.x.type.with_lanes(1)


@record
class Call(Expr):
    """A function of the instruction table applied to values; free of side effects."""

    function: str
    args: tuple[Expr, ...]
    type: Type


class Stmt:
    """Base of all statements."""


Block = tuple[Stmt, ...]


class LoopKind(Enum):
    SERIAL = "serial"
    UNROLL = "unroll"
    PARALLEL = "parallel"
    ROLLED = "rolled"


@record
class For(Stmt):
    var: Var
    extent: Expr
    body: Block
    kind: LoopKind = LoopKind.SERIAL


@record
class If(Stmt):
    cond: Expr
    then: Block
    orelse: Block = ()


@record
class Let(Stmt):
    var: Var
    value: Expr


@record
class Alloc(Stmt):
    buffer: Buffer


@record
class Store(Stmt):
    buffer: Buffer
    index: tuple[Expr, ...]
    value: Expr
    active: Expr | None = None


@record
class Pointer:
    """The memory of ``buffer`` from an element on."""

    buffer: Buffer
    index: tuple[Expr, ...]


@record
class Invoke(Stmt):
    """A block instruction; ``scalars`` choose among the kernels that it stands for.

    They are numbers, or in a kernel with scalars ``index`` expressions of these and of literals.
    """

    block: str
    pointers: tuple[Pointer, ...]
    scalars: tuple[int | Expr, ...]

    @property
    def known(self) -> bool:
        """Whether all scalars are numbers."""
        return all(isinstance(scalar, int) for scalar in self.scalars)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The scalars of an Invoke that depends on none of its kernel."""
        assert self.known, f"{self.block} depends on scalars of its kernel"
        return tuple(scalar for scalar in self.scalars if isinstance(scalar, int))


@record
class Prefetch(Stmt):
    """Brings memory into a near cache before it is read. The place may lie outside of the buffer."""

    pointer: Pointer


@record
class Fetch(Stmt):
    """Copies a row of ``source``, which is in no memory, to ``target``."""

    source: Buffer
    row: Expr
    target: Pointer

    @property
    def elements(self) -> int:
        """How many elements a row has."""
        return self.source.strides[0]


@record
class Kernel:
    """A function without result, but whether it could fetch all rows where it does so. ``params`` are GLOBAL buffers,
    and ROWS where it fetches rows; ``loc`` names the ONNX nodes that it computes.

    ``scalars`` are what calls give values to, where one kernel does the work of several. A ``foreign`` kernel is C of
    the user's, and has no body. The passages of the outermost ``chunked`` loops may run on several threads at once
    (``ir/chunks.py``).
    """

    name: str
    params: tuple[Buffer, ...]
    body: Block
    loc: str = ""
    scalars: tuple[Var, ...] = ()
    foreign: Foreign | None = None
    chunked: int = 0

    @property
    def fetches(self) -> bool:
        """Whether it fetches rows of an input, and so may fail."""
        return any(param.space is Space.ROWS for param in self.params)

    def __hash__(self) -> int:
        """Of its head alone: the body may be large."""
        return hash((self.name, self.params))


# ---------------------------------------------------------------- construction


def const(value: int | float | bool, type_: Type) -> Const:
    """A literal of ``type_``; floats are rounded to what the type can hold."""
    if type_ is INDEX:
        return _index(int(value))
    if type_.dtype.is_float:
        return Const(float(type_.dtype.numpy.type(value)), type_)
    return Const(bool(value) if type_.dtype is DType.BOOL else int(value), type_)


@lru_cache(maxsize=1 << 14)
def _index(value: int) -> Const:
    return Const(value, INDEX)


def as_expr(value: ExprLike, type_: Type = INDEX) -> Expr:
    """``value`` itself if it is an expression, else a literal of ``type_``."""
    return value if isinstance(value, Expr) else const(value, type_)


def const_value(expr: Expr) -> int | float | bool | None:
    return expr.value if isinstance(expr, Const) else None


INDEX_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def binary(op: str, x: ExprLike, y: ExprLike) -> Expr:
    """``Binary`` with constants folded, neutral elements dropped and constants moved outward, for ``index`` only.

    Float and fixed-width arithmetic is never rewritten: -0.0, NaN and wrap-around stay as written.
    """
    type_ = x.type if isinstance(x, Expr) else y.type if isinstance(y, Expr) else INDEX
    lhs = x if isinstance(x, Expr) else const(x, type_)
    rhs = y if isinstance(y, Expr) else const(y, type_)
    if type_ == INDEX and op in INDEX_FOLDS:
        return fold_index(op, lhs, rhs)
    return Binary(op, lhs, rhs)


def fold_index(op: str, lhs: Expr, rhs: Expr) -> Expr:
    a, b = const_value(lhs), const_value(rhs)
    if a is not None and b is not None:
        return Const(INDEX_FOLDS[op](int(a), int(b)), INDEX)
    if op == "add":
        if a == 0:
            return rhs
        if b == 0:
            return lhs
        if a is not None:
            lhs, rhs, b = rhs, lhs, a
        if b is not None and isinstance(lhs, Binary) and lhs.op == "add" and isinstance(lhs.y, Const):
            return fold_index("add", lhs.x, Const(int(lhs.y.value) + int(b), INDEX))
        if b is None and isinstance(lhs, Binary) and lhs.op == "add" and isinstance(lhs.y, Const):
            return fold_index("add", fold_index("add", lhs.x, rhs), lhs.y)
        if b is None and isinstance(rhs, Binary) and rhs.op == "add" and isinstance(rhs.y, Const):
            return fold_index("add", fold_index("add", lhs, rhs.x), rhs.y)
    elif op == "sub":
        if b is not None:
            return fold_index("add", lhs, Const(-int(b), INDEX))
    elif op == "mul":
        if a == 0 or b == 0:
            return Const(0, INDEX)
        if a == 1:
            return rhs
        if b == 1:
            return lhs
        if b is not None and isinstance(lhs, Binary) and lhs.op == "add" and isinstance(lhs.y, Const):
            return fold_index("add", fold_index("mul", lhs.x, rhs), fold_index("mul", lhs.y, rhs))
    elif op in ("floordiv", "floormod") and b:
        times = _multiple(lhs, int(b))
        if times is not None:
            return times if op == "floordiv" else Const(0, INDEX)
    return Binary(op, lhs, rhs)


def _multiple(expr: Expr, number: int) -> Expr | None:
    """What ``expr`` is ``number`` times, where it is seen to be a multiple."""
    if number == 1:
        return expr
    if isinstance(expr, Binary) and expr.op == "mul" and isinstance(expr.y, Const):
        times, rest = divmod(int(expr.y.value), number)
        return None if rest else fold_index("mul", expr.x, Const(times, INDEX))
    return None


def unary(op: str, x: Expr) -> Expr:
    if x.type == INDEX and isinstance(x, Const) and op == "neg":
        return Const(-int(x.value), INDEX)
    return Unary(op, x)
