"""Expressions of the loop IR -> LLVM instructions, with exactly the semantics of ``ir/loops.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..errors import CcmlError, ErrorCode
from ..instructions import INSTRUCTIONS
from ..ir import loops
from ..ir.loops import COMPARE_OPS, Expr, Type
from ..ir.types import DType
from ..targets import Machine
from . import spelling
from .intrinsics import write_intrinsic
from .writer import HIDDEN, FunctionWriter

_INT_OPS = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_BOOL_OPS = {"and": "and", "or": "or", "xor": "xor"}
_FLOAT_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}

SCALE_HELPER = "ccml_scale_round"
ROOT_HELPERS = {DType.F32: "ccml_square_root", DType.F64: "ccml_square_root_double"}
"""What computes the row ``scale_round``, on every machine: a function of the runtime (``scale_runtime.py``)."""


def internal_error(reason: str) -> CcmlError:
    """Scheduled loop IR that no printer can print: a bug of ccml, not of the model."""
    return CcmlError(ErrorCode.IR_INVALID, f"internal error: {reason}", hint="please report it with the model")


class ExpressionWriter:
    """Appends the instructions of expressions to a function.

    ``machine`` says which rows of the instruction table are instructions, ``load`` prints memory reads and
    ``variables`` holds the values of the names in scope.
    """

    def __init__(self, out: FunctionWriter, machine: Machine, load: Callable[[loops.Load], str]) -> None:
        self.out = out
        self.pointer_bits = machine.abi.pointer_bits
        self.architecture = machine.abi.architecture
        self.features = machine.cpu.features
        self.load = load
        self.variables: dict[str, str] = {}
        self._seen: dict[int, str] = {}
        self._made: list[Expr] = []
        self._cases: dict[type[Expr], Callable[..., str]] = {
            loops.Var: self._var,
            loops.Load: load,
            loops.Unary: self._unary,
            loops.Binary: self._binary,
            loops.Select: self._select,
            loops.Convert: self._convert,
            loops.Bitcast: self._bitcast,
            loops.Splat: self._splat,
            loops.Lane: self._lane,
            loops.Shuffle: self._shuffle,
            loops.Reduce: self._reduce,
            loops.Call: self._call,
        }

    def statement(self) -> None:
        """Begins a statement: within one, a sub-expression object that occurs twice is computed once."""
        self._seen.clear()
        self._made.clear()

    def write(self, expr: Expr) -> str:
        """The value of ``expr``, as a reference."""
        if isinstance(expr, loops.Const):
            return spelling.constant(expr.value, expr.type)
        known = self._seen.get(id(expr))
        if known is None:
            known = self._seen[id(expr)] = self._cases[type(expr)](expr)
        return known

    def type_name(self, type_: Type) -> str:
        return spelling.type_name(type_, self.pointer_bits)

    def splat(self, value: str, scalar: str, lanes: int) -> str:
        """A vector with ``value`` in every lane."""
        wide = spelling.vector(scalar, lanes) if lanes > 1 else f"<1 x {scalar}>"
        first = self.out.value(f"insertelement {wide} poison, {scalar} {value}, i32 0")
        return self.out.value(f"shufflevector {wide} {first}, {wide} poison, <{lanes} x i32> zeroinitializer")

    def _var(self, expr: loops.Var) -> str:
        return self.variables[expr.name]

    # ------------------------------------------------------------ arithmetic

    def _unary(self, expr: loops.Unary) -> str:
        x, type_ = self.write(expr.x), expr.type
        name = self.type_name(type_)
        if expr.op == "not":
            ones = spelling.constant(True if type_.dtype is DType.BOOL else -1, type_)
            return self.out.value(f"xor {name} {x}, {ones}")
        if expr.op == "neg":
            return self.out.value(f"fneg {name} {x}" if type_.dtype.is_float else f"sub {name} zeroinitializer, {x}")
        suffix = self._suffix(type_)
        if type_.dtype.is_float:
            return self.out.intrinsic(f"llvm.fabs.{suffix}", name, (name, x))
        if not type_.dtype.is_signed:
            return x
        return self.out.intrinsic(f"llvm.abs.{suffix}", name, (name, x), ("i1", "false"))

    def _binary(self, expr: loops.Binary) -> str:
        x, y = self.write(expr.x), self.write(expr.y)
        return self.combine(expr.op, expr.x.type, x, y, divisor=expr.y)

    def combine(self, op: str, type_: Type, x: str, y: str, divisor: Expr | None = None) -> str:
        """``x op y`` for two operands of ``type_``; ``divisor`` is the expression behind ``y`` where it is known."""
        name, dtype = self.type_name(type_), type_.dtype
        if op in COMPARE_OPS:
            return self._compare(op, type_, x, y)
        if op in ("min", "max"):
            return self._min_max(op, type_, x, y)
        if dtype.is_float:
            spelled = _FLOAT_OPS.get(op)
        elif dtype is DType.BOOL:
            spelled = _BOOL_OPS.get(op)
        elif op in ("floordiv", "floormod"):
            return self._floor_division(op, name, x, y, divisor)
        elif op in _INT_OPS:
            spelled = _INT_OPS[op] + (" nsw" if dtype is DType.INDEX and op in ("add", "sub", "mul") else "")
        else:
            spelled = _division_or_shift(op, dtype.is_signed)
        if spelled is None:
            raise internal_error(f"no instruction for {op} on {type_}")
        return self.out.value(f"{spelled} {name} {x}, {y}")

    def _compare(self, op: str, type_: Type, x: str, y: str) -> str:
        name = self.type_name(type_)
        if type_.dtype.is_float:
            x, y = self._fenced(type_, x, y)
            return self.out.value(f"fcmp {_FLOAT_COMPARE[op]} {name} {x}, {y}")
        if op in ("eq", "ne"):
            return self.out.value(f"icmp {op} {name} {x}, {y}")
        sign = "s" if type_.dtype.is_signed else "u"
        return self.out.value(f"icmp {sign}{op} {name} {x}, {y}")

    def _fenced(self, type_: Type, x: str, y: str) -> tuple[str, str]:
        """Operands of a comparison, hidden where LLVM would compare with zero from the other side: it takes Helium's
        ``lt`` and ``le``, which hold for NaN, for 0 > x and 0 >= x, and a comparison of x with itself for one with 0.
        """
        if type_.lanes == 1 or "helium_compare" not in self.features:
            return x, y
        zeros = [spelling.constant(zero, type_) for zero in (0.0, -0.0)]
        hide = partial(self._fence, type_)
        return hide(x) if x in zeros else x, hide(y) if y in zeros or x == y else y

    def _fence(self, type_: Type, value: str) -> str:
        """The same floats, without what LLVM could tell of them, or make of them together with what follows."""
        name = self.type_name(type_)
        return self.out.intrinsic(f"llvm.arithmetic.fence.{self._suffix(type_)}", name, (name, value))

    def _min_max(self, op: str, type_: Type, x: str, y: str) -> str:
        name = self.type_name(type_)
        if type_.dtype.is_float or type_.dtype is DType.BOOL:
            first = self._compare("lt" if op == "min" else "gt", type_, x, y)
            mask = self.type_name(Type(DType.BOOL, type_.lanes))
            return self.out.value(f"select {mask} {first}, {name} {x}, {name} {y}")
        sign = "s" if type_.dtype.is_signed else "u"
        return self.out.intrinsic(f"llvm.{sign}{op}.{self._suffix(type_)}", name, (name, x), (name, y))

    def _floor_division(self, op: str, name: str, x: str, y: str, divisor: Expr | None) -> str:
        """``index`` division toward minus infinity: a shift or mask by powers of two, else a corrected ``sdiv``."""
        by = int(divisor.value) if isinstance(divisor, loops.Const) else 0
        if by > 0 and by & (by - 1) == 0:
            shift = f"ashr {name} {x}, {by.bit_length() - 1}"
            return self.out.value(shift if op == "floordiv" else f"and {name} {x}, {by - 1}")
        rest = self.out.value(f"srem {name} {x}, {y}")
        signs = rest if by > 0 else self.out.value(f"xor {name} {rest}, {y}")
        wrong = self.out.value(f"icmp slt {name} {signs}, 0")
        if by <= 0:
            inexact = self.out.value(f"icmp ne {name} {rest}, 0")
            wrong = self.out.value(f"and i1 {wrong}, {inexact}")
        if op == "floormod":
            moved = self.out.value(f"add nsw {name} {rest}, {y}")
            return self.out.value(f"select i1 {wrong}, {name} {moved}, {name} {rest}")
        quotient = self.out.value(f"sdiv {name} {x}, {y}")
        one_if_wrong = self.out.value(f"zext i1 {wrong} to {name}")
        return self.out.value(f"sub nsw {name} {quotient}, {one_if_wrong}")

    def _select(self, expr: loops.Select) -> str:
        cond, x, y = self.write(expr.cond), self.write(expr.x), self.write(expr.y)
        name, mask = self.type_name(expr.type), self.type_name(expr.cond.type)
        return self.out.value(f"select {mask} {cond}, {name} {x}, {name} {y}")

    def _call(self, expr: loops.Call) -> str:
        """An instruction-table row that the machine has; anything else could become a call into a C library."""
        if expr.function == "scale_round":
            return self.out.intrinsic(SCALE_HELPER, "i32", *(("i32", self.write(arg)) for arg in expr.args))
        name, type_ = self.type_name(expr.type), expr.type
        here = expr.function in self.features and (type_.dtype is not DType.F64 or "f64" in self.features)
        if expr.function == "sqrt" and not here and type_.lanes == 1 and type_.dtype in ROOT_HELPERS:
            return self.out.intrinsic(ROOT_HELPERS[type_.dtype], name, (name, self.write(expr.args[0])))
        if not here:
            raise internal_error(f"the machine has no instruction for {expr.function}")
        if expr.function == "fma" and type_.dtype is DType.F16 and "f16" not in self.features:
            raise internal_error("fma on f16: LLVM computes it in f32 and rounds twice")
        row = INSTRUCTIONS[expr.function]
        function = row.intrinsic(self.architecture, type_.lanes)
        if function is None:
            if row.recognized is None:
                raise internal_error(f"LLVM has no {expr.function} of {type_.lanes} lanes for {self.architecture}")
            if self.architecture in row.opaque and type_.lanes == 1:  # vectors are no operands of assembly
                expr = replace(expr, args=tuple(map(self._hidden, expr.args)))
                self._made.append(expr)
            self._made.append(row.recognized(expr))
            return self.write(self._made[-1])
        if function.lanes is None and not function.rounds:
            function = replace(function, name=f"{function.name}.{self._suffix(type_)}")
        args, types = [self.write(arg) for arg in expr.args], [self.type_name(arg.type) for arg in expr.args]
        return write_intrinsic(self.out, function, name, type_.lanes, args, types)

    def _hidden(self, expr: Expr) -> Expr:
        """The same, without what LLVM could tell of it where it is a constant."""
        if not isinstance(expr, loops.Const):
            return expr
        name = self.type_name(expr.type)
        value = self.out.value(f"call {name} {HIDDEN}({name} {self.write(expr)})")
        self.variables[value] = value
        return loops.Var(value, expr.type)

    # ------------------------------------------------------------ conversion

    def _convert(self, expr: loops.Convert) -> str:
        """Between vectors of integers and floats on Helium apart from the arithmetic around: LLVM makes one fixed-point
        conversion of it and a product with a power of two, whose number of bits, where the same code needs that number
        elsewhere, is put into a register, which no such instruction has (the object writer aborts)."""
        x, source, target = self.write(expr.x), expr.x.type, expr.type
        if source.dtype is target.dtype:
            return x
        from_name, to_name = self.type_name(source), self.type_name(target)
        if target.dtype is DType.BOOL:
            compare = "fcmp une" if source.dtype.is_float else "icmp ne"
            return self.out.value(f"{compare} {from_name} {x}, zeroinitializer")
        opcode = self._conversion(source.dtype, target.dtype)
        if opcode is None:
            return x
        mixed = source.dtype.is_float != target.dtype.is_float
        hidden = mixed and target.lanes > 1 and "helium_convert" in self.features
        if hidden and source.dtype.is_float:
            x = self._fence(source, x)
        made = self.out.value(f"{opcode} {from_name} {x} to {to_name}")
        return self._fence(target, made) if hidden and target.dtype.is_float else made

    def _conversion(self, source: DType, target: DType) -> str | None:
        """The opcode that converts ``source`` to ``target`` by value, ``None`` where the bits are the same."""
        signed = source.is_signed
        if source.is_float and target.is_float:
            return "fpext" if target.size > source.size else "fptrunc"
        if source.is_float:
            return "fptosi" if target.is_signed else "fptoui"
        if target.is_float:
            return "sitofp" if signed else "uitofp"
        before, after = self._bits(source), self._bits(target)
        if before == after:
            return None
        return "trunc" if before > after else "sext" if signed else "zext"

    def _bits(self, dtype: DType) -> int:
        if dtype is DType.INDEX:
            return self.pointer_bits
        return 1 if dtype is DType.BOOL else dtype.size * 8

    def _bitcast(self, expr: loops.Bitcast) -> str:
        x, before, after = self.write(expr.x), self.type_name(expr.x.type), self.type_name(expr.type)
        return x if before == after else self.out.value(f"bitcast {before} {x} to {after}")

    # ------------------------------------------------------------ lanes

    def _splat(self, expr: loops.Splat) -> str:
        if isinstance(expr.x, loops.Const):
            return spelling.constant(expr.x.value, expr.type)
        value = self.write(expr.x)
        return value if expr.lanes == 1 else self.splat(value, self.type_name(expr.x.type), expr.lanes)

    def _lane(self, expr: loops.Lane) -> str:
        return self.out.value(f"extractelement {self.type_name(expr.x.type)} {self.write(expr.x)}, i32 {expr.number}")

    def _shuffle(self, expr: loops.Shuffle) -> str:
        x, y, name = self.write(expr.x), self.write(expr.y), self.type_name(expr.type)
        picks = ", ".join(f"i32 {pick}" for pick in expr.picks)
        return self.out.value(f"shufflevector {name} {x}, {name} {y}, <{expr.type.lanes} x i32> <{picks}>")

    def _reduce(self, expr: loops.Reduce) -> str:
        """Halves the vector until one lane is left: lower half ``op`` upper half.

        The order of wrapping sums does not matter: machines with an instruction for them get it.
        """
        value, type_ = self.write(expr.x), expr.x.type
        if expr.op == "add" and type_.dtype is DType.I32 and "reduce_add" in self.features:
            name = f"llvm.vector.reduce.add.{self._suffix(type_)}"
            return self.out.intrinsic(name, "i32", (self.type_name(type_), value))
        while type_.lanes > 1:
            half = type_.lanes // 2
            if half * 2 != type_.lanes:
                raise internal_error(f"reduce over {expr.x.type.lanes} lanes, not a power of two")
            lower, upper = (self._part(value, type_, start, half) for start in (0, half))
            type_ = type_.with_lanes(half)
            value = self.combine(expr.op, type_, lower, upper)
        return value

    def _part(self, value: str, type_: Type, start: int, lanes: int) -> str:
        name = self.type_name(type_)
        if lanes == 1:
            return self.out.value(f"extractelement {name} {value}, i32 {start}")
        picks = ", ".join(f"i32 {start + lane}" for lane in range(lanes))
        return self.out.value(f"shufflevector {name} {value}, {name} poison, <{lanes} x i32> <{picks}>")

    def _suffix(self, type_: Type) -> str:
        if type_.dtype is not DType.INDEX:
            return spelling.mangled(type_)
        return f"i{self.pointer_bits}" if type_.lanes == 1 else f"v{type_.lanes}i{self.pointer_bits}"


def _division_or_shift(op: str, signed: bool) -> str | None:
    spelled = {"div": ("sdiv", "udiv"), "mod": ("srem", "urem"), "shr": ("ashr", "lshr")}.get(op)
    return None if spelled is None else spelled[0 if signed else 1]
