"""Helpers of the compiler's run-time library, where the library itself is not there to be counted.

Their meaning is that of the run-time ABI for the Arm architecture (IHI 0043). What they take are means over operands
of normal magnitude, and over those with a zero among them, of GCC 12's library; other libraries take other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..record import record
from ..targets.target import Cpu
from .function_ir import FunctionIr


@record
class Helper:
    """``meaning`` gives the words of the result for r0 to r3. Instructions are (usual, with an operand of zero), for
    Armv6-M and for Armv7-M; ``stack`` is what it takes at most, in bytes."""

    meaning: Callable[..., tuple[str, ...]]
    armv6m: tuple[int, int]
    armv7m: tuple[int, int]
    operands: int = 2
    stack: int = 32


def helper_stack(name: str) -> int:
    """Bytes of stack that a helper takes."""
    return HELPERS[name].stack if name in HELPERS else OTHER_HELPER_STACK


def emit_helper(name: str, counter: int, cpu: Cpu, mask: int) -> str:
    """The function that stands for a helper. One that is not known returns its first operand and takes nothing."""
    f = FunctionIr(f'"h_{name}"', (0, 1, 2, 3), mask)
    helper = HELPERS.get(name)
    if helper is not None:
        words = [f.get(number) for number in range(4)]
        usual, zero = helper.armv6m if cpu.short_instructions else helper.armv7m
        some_zero = "false"
        for word in words[: helper.operands]:
            is_zero = f.compare("eq", f.binary("shl", word, "1"), "0")
            some_zero = f.binary("or", some_zero, is_zero, "i1")
        f.count(counter, f.emit(f"select i1 {some_zero}, i64 {zero}, i64 {usual}"))
        for number, value in enumerate(helper.meaning(f, *words)):
            f.put(number, value)
    f.leave()
    return f.text()


# ---------------------------------------------------------------- meanings


def _float(f: FunctionIr, word: str) -> str:
    return f.emit(f"bitcast i32 {word} to float")


def _bits(f: FunctionIr, value: str) -> tuple[str]:
    return (f.emit(f"bitcast float {value} to i32"),)


def _arithmetic(op: str, swapped: bool = False) -> Callable[..., tuple[str, ...]]:
    def meaning(f: FunctionIr, a: str, b: str, *_: str) -> tuple[str, ...]:
        x, y = _float(f, a), _float(f, b)
        return _bits(f, f.binary(op, y if swapped else x, x if swapped else y, "float"))

    return meaning


def _comparison(op: str) -> Callable[..., tuple[str, ...]]:
    def meaning(f: FunctionIr, a: str, b: str, *_: str) -> tuple[str, ...]:
        return (f.unsigned(f.emit(f"fcmp {op} float {_float(f, a)}, {_float(f, b)}")),)

    return meaning


def _to_float(op: str) -> Callable[..., tuple[str, ...]]:
    def meaning(f: FunctionIr, a: str, *_: str) -> tuple[str, ...]:
        return _bits(f, f.emit(f"{op} i32 {a} to float"))

    return meaning


def _to_integer(kind: str) -> Callable[..., tuple[str, ...]]:
    def meaning(f: FunctionIr, a: str, *_: str) -> tuple[str, ...]:
        return (f.emit(f"call i32 @llvm.fpto{kind}.sat.i32.f32(float {_float(f, a)})"),)

    return meaning


def _wide(f: FunctionIr, low: str, high: str) -> str:
    words = [f.emit(f"zext i32 {word} to i64") for word in (low, high)]
    return f.binary("or", words[0], f.binary("shl", words[1], "32", "i64"), "i64")


def _words(f: FunctionIr, value: str) -> tuple[str, str]:
    high = f.binary("lshr", value, "32", "i64")
    return f.emit(f"trunc i64 {value} to i32"), f.emit(f"trunc i64 {high} to i32")


def _long_product(f: FunctionIr, a: str, b: str, c: str, d: str) -> tuple[str, ...]:
    return _words(f, f.binary("mul", _wide(f, a, b), _wide(f, c, d), "i64"))


def _long_shift(op: str) -> Callable[..., tuple[str, ...]]:
    def meaning(f: FunctionIr, a: str, b: str, c: str, _: str) -> tuple[str, ...]:
        amount = f.emit(f"zext i32 {f.binary('and', c, '63')} to i64")
        return _words(f, f.binary(op, _wide(f, a, b), amount, "i64"))

    return meaning


def _long_to_float(op: str) -> Callable[..., tuple[str, ...]]:
    def meaning(f: FunctionIr, a: str, b: str, *_: str) -> tuple[str, ...]:
        return _bits(f, f.emit(f"{op} i64 {_wide(f, a, b)} to float"))

    return meaning


def _division(op: str) -> Callable[..., tuple[str, ...]]:
    """Quotient and remainder."""

    def meaning(f: FunctionIr, a: str, b: str, *_: str) -> tuple[str, ...]:
        zero = f.compare("eq", b, "0")
        extend = "sext" if op == "sdiv" else "zext"
        wide = [f.emit(f"{extend} i32 {word} to i64") for word in (a, f.select(zero, "1", b))]
        quotient = f.emit(f"trunc i64 {f.binary(op, wide[0], wide[1], 'i64')} to i32")
        return quotient, f.binary("sub", a, f.binary("mul", quotient, b))

    return meaning


def _quotient(op: str) -> Callable[..., tuple[str, ...]]:
    division = _division(op)
    return lambda f, *words: division(f, *words)[:1]


_TABLE: Mapping[str, Helper] = {
    "fadd": Helper(_arithmetic("fadd"), (71, 37), (53, 18)),
    "fsub": Helper(_arithmetic("fsub"), (75, 41), (53, 19)),
    "frsub": Helper(_arithmetic("fsub", swapped=True), (78, 43), (54, 20)),
    "fmul": Helper(_arithmetic("fmul"), (118, 66), (32, 19)),
    "fdiv": Helper(_arithmetic("fdiv"), (378, 58), (148, 23)),
    "fcmpeq": Helper(_comparison("oeq"), (24, 24), (33, 33)),
    "fcmplt": Helper(_comparison("olt"), (34, 31), (33, 33)),
    "fcmple": Helper(_comparison("ole"), (34, 31), (33, 33)),
    "fcmpge": Helper(_comparison("oge"), (35, 31), (37, 37)),
    "fcmpgt": Helper(_comparison("ogt"), (35, 31), (37, 37)),
    "fcmpun": Helper(_comparison("uno"), (14, 14), (8, 8)),
    "i2f": Helper(_to_float("sitofp"), (46, 11), (25, 6), operands=1),
    "ui2f": Helper(_to_float("uitofp"), (39, 8), (24, 5), operands=1),
    "f2iz": Helper(_to_integer("si"), (24, 9), (13, 5), operands=1),
    "f2uiz": Helper(_to_integer("ui"), (70, 52), (11, 6), operands=1),
    "l2f": Helper(_long_to_float("sitofp"), (574, 574), (29, 29), stack=88),
    "ul2f": Helper(_long_to_float("uitofp"), (556, 556), (28, 28), stack=88),
    "lmul": Helper(_long_product, (41, 41), (5, 5)),
    "llsl": Helper(_long_shift("shl"), (12, 12), (12, 12)),
    "llsr": Helper(_long_shift("lshr"), (12, 12), (12, 12)),
    "lasr": Helper(_long_shift("ashr"), (11, 11), (11, 11)),
    "uidiv": Helper(_quotient("udiv"), (74, 10), (4, 4), operands=1),
    "idiv": Helper(_quotient("sdiv"), (76, 13), (4, 4), operands=1),
    "uidivmod": Helper(_division("udiv"), (77, 13), (6, 6), operands=1),
    "idivmod": Helper(_division("sdiv"), (79, 16), (6, 6), operands=1),
}

OTHER_HELPER_STACK = 88

HELPERS: Mapping[str, Helper] = {f"__aeabi_{name}": helper for name, helper in _TABLE.items()}
