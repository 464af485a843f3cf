"""Small programs with branches and loops, made by hand."""

from __future__ import annotations

from collections.abc import Mapping

from ccml.ir.loops_text import parse_kernel
from ccml.ir.program import BufferDecl, Interface, MemoryPlan, Pool, Program, Storage
from ccml.ir.steps import Body, Branch, Call, Repeat, walk_calls
from ccml.ir.types import DType, TensorType

KERNELS = {
    "copy": "kernel copy(x: i32[4] const, y: i32[4] out)\n  for i:4\n    y[i] = x[i]\n",
    "double": "kernel double(x: i32[4] const, y: i32[4] out)\n  for i:4\n    y[i] = x[i] + x[i]\n",
    "step": (
        "kernel step(n: i64[1] const, s: i32[4] inout)\n"
        "  for i:4\n    s[i] = s[i] + convert<i32>(n[0]) + 1i32\n"
    ),
    "small": "kernel small(s: i32[4] const, f: bool[1] out)\n  f[0] = s[0] < 100i32\n",
}
SIZES = {"x": (DType.I32, 4), "y": (DType.I32, 4), "s": (DType.I32, 4), "t": (DType.I32, 4), "u": (DType.I32, 4),
         "n": (DType.I64, 1), "flag": (DType.BOOL, 1), "count": (DType.I64, 1)}  # fmt: skip
STORAGE = {"x": Storage.INPUT, "count": Storage.INPUT, "y": Storage.OUTPUT}


def program(body: Body, offsets: Mapping[str, int], size: int = 64, whole: int = 0) -> Program:
    """x and count -> y, by the steps of ``body``; tensors of the arena (s, t, u, n, flag) at ``offsets``."""
    buffers = {
        name: BufferDecl(name, dtype, (extent,), STORAGE.get(name, Storage.ARENA))
        for name, (dtype, extent) in SIZES.items()
    }
    called = {call.kernel for call in walk_calls(body)}
    kernels = tuple(parse_kernel(text) for name, text in KERNELS.items() if name in called)
    x, count, y = (Interface(n, n, TensorType(SIZES[n][0], (SIZES[n][1],)), n) for n in ("x", "count", "y"))
    plan = MemoryPlan((Pool("arena", dict(offsets), size, 16, whole),))
    return Program("m", "generic", (x, count), (y,), buffers, {}, kernels, body, plan)


def counting() -> Program:
    """y = x + 1 + 2 + .. + count, as long as the first element is less than 100, or doubled where it is not."""
    body: Body = (
        Call("copy", ("x", "s")),
        Call("small", ("s", "flag")),
        Repeat((Call("step", ("n", "s")), Call("small", ("s", "flag"))), 20, "count", "flag", "n", "rounds"),
        Branch("flag", (Call("copy", ("s", "y")),), (Call("double", ("s", "t")), Call("copy", ("t", "y"))), "choice"),
    )
    return program(body, {"s": 0, "t": 16, "n": 32, "flag": 40})


def counted(x: list[int], count: int) -> list[int]:
    """What :func:`counting` computes."""
    values, done = list(x), 0
    while done < min(count, 20) and values[0] < 100:
        values = [value + done + 1 for value in values]
        done += 1
    return values if values[0] < 100 else [2 * value for value in values]
