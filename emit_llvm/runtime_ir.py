"""LLVM IR of the helpers that code generation calls where a machine has no instruction.

Each function is named and called as LLVM expects it and gives the same bits as the instruction would.
"""

from __future__ import annotations

from ..record import record


@record
class Helper:
    """``signature`` without linkage (``float @__name(half %x)``), ``body``, and the helpers that the body calls; of
    machine ``code`` without a body, the body is nothing that runs."""

    signature: str
    body: str
    calls: tuple[str, ...] = ()
    code: bytes = b""

    def text(self, convention: str, words: str) -> str:
        """The definition, weak and hidden, with the calling ``convention`` of the machine's helpers and ``words`` in
        front of the body."""
        head = f"define weak hidden {convention} {self.signature} nounwind"
        if self.code:
            head = f"{head} naked noinline"
            words += f' prologue [{len(self.code)} x i8] c"\\{self.code.hex(chr(92))}"'
        body = self.body.replace("$cc", convention)
        return f'{head} "no-builtins"{words} {{\n{body}}}\n'


# Widening is exact: the exponent is moved, 0 and subnormals go through a subtraction, infinity and NaN go to the top.
_HALF_TO_FLOAT = """
  %low = and i32 %bits, 32767
  %moved = shl i32 %low, 13
  %exponent = and i32 %moved, 260046848
  %is_top = icmp eq i32 %exponent, 260046848
  %is_bottom = icmp eq i32 %exponent, 0
  %normal = add i32 %moved, 939524096
  %top = add i32 %moved, 1879048192
  %bottom = add i32 %moved, 947912704
  %shifted = bitcast i32 %bottom to float
  %subnormal = fsub float %shifted, 0x3F10000000000000
  %subnormal_bits = bitcast float %subnormal to i32
  %a = select i1 %is_top, i32 %top, i32 %normal
  %b = select i1 %is_bottom, i32 %subnormal_bits, i32 %a
  %sign = and i32 %bits, 32768
  %sign_moved = shl i32 %sign, 16
  %all = or i32 %b, %sign_moved
  %result = bitcast i32 %all to float
  ret float %result
"""

# Rounding once to nearest even: normal values in integers, subnormal ones by adding 0.5, whose last bit weighs 2^-24.
_FLOAT_TO_HALF = """
  %all = bitcast float %x to i32
  %low = and i32 %all, 2147483647
  %is_nan = icmp ugt i32 %low, 2139095040
  %is_top = icmp uge i32 %low, 1199570944
  %is_bottom = icmp ult i32 %low, 947912704
  %last = lshr i32 %low, 13
  %odd = and i32 %last, 1
  %biased = add i32 %low, 4095
  %rounded = add i32 %biased, %odd
  %cut = lshr i32 %rounded, 13
  %normal = sub i32 %cut, 114688
  %absolute = bitcast i32 %low to float
  %pushed = fadd float %absolute, 0.5
  %pushed_bits = bitcast float %pushed to i32
  %subnormal = sub i32 %pushed_bits, 1056964608
  %special = select i1 %is_nan, i32 32256, i32 31744
  %a = select i1 %is_bottom, i32 %subnormal, i32 %normal
  %b = select i1 %is_top, i32 %special, i32 %a
  %moved = lshr i32 %all, 16
  %sign = and i32 %moved, 32768
  %wide = or i32 %b, %sign
  %bits = trunc i32 %wide to i16
"""

_DOUBLE_TO_HALF = """
  %all = bitcast double %x to i64
  %low = and i64 %all, 9223372036854775807
  %is_nan = icmp ugt i64 %low, 9218868437227405312
  %is_top = icmp uge i64 %low, 4679239875398991872
  %is_bottom = icmp ult i64 %low, 4544132024016830464
  %last = lshr i64 %low, 42
  %odd = and i64 %last, 1
  %biased = add i64 %low, 2199023255551
  %rounded = add i64 %biased, %odd
  %cut = lshr i64 %rounded, 42
  %normal = sub i64 %cut, 1032192
  %absolute = bitcast i64 %low to double
  %pushed = fadd double %absolute, 268435456.0
  %pushed_bits = bitcast double %pushed to i64
  %subnormal = sub i64 %pushed_bits, 4733283208366391296
  %special = select i1 %is_nan, i64 32256, i64 31744
  %a = select i1 %is_bottom, i64 %subnormal, i64 %normal
  %b = select i1 %is_top, i64 %special, i64 %a
  %moved = lshr i64 %all, 48
  %sign = and i64 %moved, 32768
  %wide = or i64 %b, %sign
  %bits = trunc i64 %wide to i16
"""

_BITS_OF_HALF = "  %short = bitcast half %h to i16\n  %bits = zext i16 %short to i32"
_RETURN_HALF = "  %result = bitcast i16 %bits to half\n  ret half %result\n"
_RETURN_SHORT = "  ret i16 %bits\n"

HALF = {
    "__extendhfsf2": Helper("float @__extendhfsf2(half %h)", _BITS_OF_HALF + _HALF_TO_FLOAT),
    "__truncsfhf2": Helper("half @__truncsfhf2(float %x)", _FLOAT_TO_HALF + _RETURN_HALF),
    "__truncdfhf2": Helper("half @__truncdfhf2(double %x)", _DOUBLE_TO_HALF + _RETURN_HALF),
}

HALF_AEABI = {
    "__aeabi_h2f": Helper("float @__aeabi_h2f(i32 %bits)", _HALF_TO_FLOAT),
    "__aeabi_f2h": Helper("zeroext i16 @__aeabi_f2h(float %x)", _FLOAT_TO_HALF + _RETURN_SHORT),
    "__aeabi_d2h": Helper("zeroext i16 @__aeabi_d2h(double %x)", _DOUBLE_TO_HALF + _RETURN_SHORT),
}
"""libgcc has these under other names only."""


def _square_root(real: str, word: str, fraction: int, bias: int, scale: str, scale_bits: int) -> Helper:
    """The schoolbook method, one binary digit of the root in each round; what is left decides the rounding. There is no
    tie: its square would need more digits than ``real`` has.

    ``fraction`` bits follow the leading one, and ``scale``, 2 to the ``scale_bits``, makes subnormal numbers normal.
    """
    infinity, sign = (2 * bias + 1) << fraction, 1 << (fraction + (2 * bias + 2).bit_length() - 1)
    name = "ccml_square_root" if real == "float" else f"ccml_square_root_{real}"
    body = f"""
  %bits = bitcast {real} %x to {word}
  %positive = icmp sgt {word} %bits, 0
  %finite = icmp ult {word} %bits, {infinity}
  %ordinary = and i1 %positive, %finite
  br i1 %ordinary, label %scale, label %special
special:
  %magnitude = and {word} %bits, {sign - 1}
  %negative = icmp ugt {word} %bits, {sign}
  %number = icmp ule {word} %magnitude, {infinity}
  %invalid = and i1 %negative, %number
  %same = select i1 %invalid, {real} 0x7FF8000000000000, {real} %x
  ret {real} %same
scale:
  %small = icmp ult {word} %bits, {1 << fraction}
  %times = fmul {real} %x, {scale}
  %usual = select i1 %small, {real} %times, {real} %x
  %scaled = bitcast {real} %usual to {word}
  %offset = select i1 %small, {word} {bias + scale_bits}, {word} {bias}
  %exponent = lshr {word} %scaled, {fraction}
  %fraction = and {word} %scaled, {(1 << fraction) - 1}
  %significand = or {word} %fraction, {1 << fraction}
  %power = sub {word} %exponent, %offset
  %odd = and {word} %power, 1
  %doubled = shl {word} %significand, %odd
  %half = ashr {word} %power, 1
  %start = shl {word} %doubled, 1
  br label %loop
loop:
  %digit = phi {word} [ {2 << fraction}, %scale ], [ %digit1, %loop ]
  %rest = phi {word} [ %start, %scale ], [ %rest2, %loop ]
  %twice = phi {word} [ 0, %scale ], [ %twice1, %loop ]
  %root = phi {word} [ 0, %scale ], [ %root1, %loop ]
  %trial = add {word} %twice, %digit
  %fits = icmp ule {word} %trial, %rest
  %less = sub {word} %rest, %trial
  %rest1 = select i1 %fits, {word} %less, {word} %rest
  %next = add {word} %trial, %digit
  %twice1 = select i1 %fits, {word} %next, {word} %twice
  %more = add {word} %root, %digit
  %root1 = select i1 %fits, {word} %more, {word} %root
  %rest2 = shl {word} %rest1, 1
  %digit1 = lshr {word} %digit, 1
  %end = icmp eq {word} %digit1, 0
  br i1 %end, label %done, label %loop
done:
  %floor = lshr {word} %root1, 1
  %last = and {word} %root1, 1
  %exact = icmp eq {word} %rest2, 0
  %up = select i1 %exact, {word} 0, {word} %last
  %rounded = add {word} %floor, %up
  %rebiased = add {word} %half, {bias - 1}
  %top = shl {word} %rebiased, {fraction}
  %sum = add {word} %rounded, %top
  %result = bitcast {word} %sum to {real}
  ret {real} %result
"""
    return Helper(f"{real} @{name}({real} %x)", body)


def square_roots() -> tuple[Helper, Helper]:
    """Of float and of double, for machines without the instruction: a call of sqrtf or sqrt would need a C library."""
    return (
        _square_root("float", "i32", 23, 127, "0x42F0000000000000", 48),
        _square_root("double", "i64", 52, 1023, "0x4350000000000000", 54),
    )


def _divide(bits: int) -> str:
    """Quotient ``%q`` and remainder ``%r`` of unsigned ``%n`` by ``%d``, one bit in each round."""
    word = f"i{bits}"
    return f"""
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %i1, %loop ]
  %n0 = phi {word} [ %n, %0 ], [ %n1, %loop ]
  %r0 = phi {word} [ 0, %0 ], [ %r, %loop ]
  %q0 = phi {word} [ 0, %0 ], [ %q, %loop ]
  %top = lshr {word} %n0, {bits - 1}
  %n1 = shl {word} %n0, 1
  %carry = lshr {word} %r0, {bits - 1}
  %r1 = shl {word} %r0, 1
  %r2 = or {word} %r1, %top
  %over = icmp ne {word} %carry, 0
  %reached = icmp uge {word} %r2, %d
  %fits = or i1 %over, %reached
  %r3 = sub {word} %r2, %d
  %r = select i1 %fits, {word} %r3, {word} %r2
  %q1 = shl {word} %q0, 1
  %bit = zext i1 %fits to {word}
  %q = or {word} %q1, %bit
  %i1 = add i32 %i, 1
  %end = icmp eq i32 %i1, {bits}
  br i1 %end, label %done, label %loop
done:
"""


def _signs(bits: int) -> str:
    """Magnitudes ``%n`` and ``%d`` of signed ``%x`` and ``%y``, and the masks that restore the signs."""
    word, top = f"i{bits}", bits - 1
    return f"""
  %sx = ashr {word} %x, {top}
  %sy = ashr {word} %y, {top}
  %sq = xor {word} %sx, %sy
  %fx = xor {word} %x, %sx
  %n = sub {word} %fx, %sx
  %fy = xor {word} %y, %sy
  %d = sub {word} %fy, %sy
"""


_PAIR = """
  %lo = zext i32 %q to i64
  %hi = zext i32 %r to i64
  %up = shl i64 %hi, 32
  %both = or i64 %lo, %up
  ret i64 %both
"""
_FROM_PAIR = "  %qw = trunc i64 %both to i32\n  %top = lshr i64 %both, 32\n  %rw = trunc i64 %top to i32\n"
_LONG_PAIR = """
  %a = insertvalue { i64, i64 } poison, i64 %q, 0
  %b = insertvalue { i64, i64 } %a, i64 %r, 1
  ret { i64, i64 } %b
"""


def _resign(word: str, quotient: str, rest: str) -> str:
    return f"""
  %qx = xor {word} {quotient}, %sq
  %q = sub {word} %qx, %sq
  %rx = xor {word} {rest}, %sx
  %r = sub {word} %rx, %sx
"""


_SIGNED_DIVIDE = (
    _signs(32)
    + "  %both0 = call $cc i64 @__aeabi_uidivmod(i32 %n, i32 %d)\n"
    + _FROM_PAIR.replace("%both", "%both0")
    + _resign("i32", "%qw", "%rw")
)
_SIGNED_LONG_DIVIDE = (
    _signs(64)
    + "  %both = call $cc { i64, i64 } @__aeabi_uldivmod(i64 %n, i64 %d)\n"
    + "  %qw = extractvalue { i64, i64 } %both, 0\n  %rw = extractvalue { i64, i64 } %both, 1\n"
    + _resign("i64", "%qw", "%rw")
)


def _long_to_double(signed: bool) -> str:
    """``%wide``: the high word times 2^32 plus the low word, rounded once."""
    opcode = "sitofp" if signed else "uitofp"
    return f"""
  %low = trunc i64 %x to i32
  %shifted = lshr i64 %x, 32
  %high = trunc i64 %shifted to i32
  %fl = uitofp i32 %low to double
  %fh = {opcode} i32 %high to double
  %scaled = fmul double %fh, 4294967296.0
  %wide = fadd double %scaled, %fl
"""


def _long_to_float(signed: bool) -> str:
    """Beyond 53 bits, the low 11 become one sticky bit first, so that rounding to double loses nothing that counts."""
    signed_far = "  %top = ashr i64 %long, 53\n  %next = add i64 %top, 1\n  %far = icmp ugt i64 %next, 1\n"
    unsigned_far = "  %far = icmp ugt i64 %long, 9007199254740991\n"
    return (
        f"{signed_far if signed else unsigned_far}"
        "  %low11 = and i64 %long, 2047\n  %sum = add i64 %low11, 2047\n  %mixed = or i64 %long, %sum\n"
        "  %sticky = and i64 %mixed, -2048\n  %x = select i1 %far, i64 %sticky, i64 %long\n"
        f"{_long_to_double(signed)}  %result = fptrunc double %wide to float\n  ret float %result\n"
    )


_UNSIGNED_LONG = """
  %down = fmul double %abs, 0x3DF0000000000000
  %high = fptoui double %down to i32
  %fh = uitofp i32 %high to double
  %back = fmul double %fh, 4294967296.0
  %rest = fsub double %abs, %back
  %low = fptoui double %rest to i32
  %wl = zext i32 %low to i64
  %wh = zext i32 %high to i64
  %up = shl i64 %wh, 32
  %long = or i64 %wl, %up
"""
_SIGNED_LONG = f"""
  %abs = call double @llvm.fabs.f64(double %x)
{_UNSIGNED_LONG}
  %negative = fcmp olt double %x, 0.0
  %minus = sub i64 0, %long
  %result = select i1 %negative, i64 %minus, i64 %long
  ret i64 %result
"""
_WIDEN = "  %x = fpext float %f to double\n"
_TO_UNSIGNED = _UNSIGNED_LONG.replace("%abs", "%x") + "  ret i64 %long\n"
_U32, _U64 = ("__aeabi_uidivmod",), ("__aeabi_uldivmod",)

INTEGERS_AEABI = {
    "__aeabi_uidivmod": Helper("i64 @__aeabi_uidivmod(i32 %n, i32 %d)", _divide(32) + _PAIR),
    "__aeabi_uidiv": Helper("i32 @__aeabi_uidiv(i32 %n, i32 %d)", _divide(32) + "  ret i32 %q\n"),
    "__aeabi_idivmod": Helper("i64 @__aeabi_idivmod(i32 %x, i32 %y)", _SIGNED_DIVIDE + _PAIR, _U32),
    "__aeabi_idiv": Helper("i32 @__aeabi_idiv(i32 %x, i32 %y)", _SIGNED_DIVIDE + "  ret i32 %q\n", _U32),
    "__aeabi_uldivmod": Helper("{ i64, i64 } @__aeabi_uldivmod(i64 %n, i64 %d)", _divide(64) + _LONG_PAIR),
    "__aeabi_ldivmod": Helper("{ i64, i64 } @__aeabi_ldivmod(i64 %x, i64 %y)", _SIGNED_LONG_DIVIDE + _LONG_PAIR, _U64),
    "__aeabi_l2d": Helper("double @__aeabi_l2d(i64 %x)", _long_to_double(True) + "  ret double %wide\n"),
    "__aeabi_ul2d": Helper("double @__aeabi_ul2d(i64 %x)", _long_to_double(False) + "  ret double %wide\n"),
    "__aeabi_l2f": Helper("float @__aeabi_l2f(i64 %long)", _long_to_float(True)),
    "__aeabi_ul2f": Helper("float @__aeabi_ul2f(i64 %long)", _long_to_float(False)),
    "__aeabi_d2ulz": Helper("i64 @__aeabi_d2ulz(double %x)", _TO_UNSIGNED),
    "__aeabi_f2ulz": Helper("i64 @__aeabi_f2ulz(float %f)", _WIDEN + _TO_UNSIGNED),
    "__aeabi_d2lz": Helper("i64 @__aeabi_d2lz(double %x)", _SIGNED_LONG),
    "__aeabi_f2lz": Helper("i64 @__aeabi_f2lz(float %f)", _WIDEN + _SIGNED_LONG),
}
"""What cores with a double-precision FPU but without integer division call; bare metal has it from the compiler."""

_SIGNED_LONG_QUOTIENT = (
    _signs(64)
    + "  %qw = call $cc i64 @__udivdi3(i64 %n, i64 %d)\n  %whole = mul i64 %qw, %d\n  %rw = sub i64 %n, %whole\n"
    + _resign("i64", "%qw", "%rw")
)

LONG_DIVISION = {
    "__udivdi3": Helper("i64 @__udivdi3(i64 %n, i64 %d)", _divide(64) + "  ret i64 %q\n"),
    "__umoddi3": Helper("i64 @__umoddi3(i64 %n, i64 %d)", _divide(64) + "  ret i64 %r\n"),
    "__divdi3": Helper("i64 @__divdi3(i64 %x, i64 %y)", _SIGNED_LONG_QUOTIENT + "  ret i64 %q\n", ("__udivdi3",)),
    "__moddi3": Helper("i64 @__moddi3(i64 %x, i64 %y)", _SIGNED_LONG_QUOTIENT + "  ret i64 %r\n", ("__udivdi3",)),
}
"""What processors of 32 bits call that divide words of their own size alone."""

HELPER_GROUPS = {
    "half": HALF, "half_aeabi": HALF_AEABI, "integers_aeabi": INTEGERS_AEABI, "long_division": LONG_DIVISION,
}  # fmt: skip
"""By the names under which ABIs list what an artifact brings itself."""
