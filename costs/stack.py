"""Bytes of stack from the code: how far each function lowers its stack pointer, along the deepest chain of calls.

The stack pointer is followed through every path of a function, with the registers that hold addresses on the stack or
constants: frames of Armv6-M are made by adding a register, and aligned ones through another register.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ..record import record
from .functions import Function, falls_through
from .instruction import ALWAYS, NONE, PC, SP, Instruction

_CLOBBERED = (0, 1, 2, 3, 12, 14)
_WRITES_NO_RD = frozenset({"str", "strd", "push", "stm", "b", "cbz", "cbnz", "it", "trap", "tbb", "tbh"})
_FLOATS_TO_CORE = frozenset({"vmov_to_core", "vmov_to_core2", "vmrs"})


@record
class _Value:
    """A constant, or with ``stack`` a distance from where the stack pointer was at the start of the function."""

    number: int
    stack: bool = False


_State = dict[int, _Value]


def stack_bytes(
    functions: Mapping[int, Function], entry: int, memory: bytes, helpers: Mapping[int, int] | None = None
) -> int | None:
    """The most that a call of ``entry`` takes; ``None`` where the code does what is not understood. ``helpers`` gives
    what functions without code take, by their addresses."""
    known: dict[int, int | None] = {}

    def deepest(address: int, chain: tuple[int, ...]) -> int | None:
        if address not in functions:
            return (helpers or {}).get(address, 0)
        if address in chain:
            return None
        if address not in known:
            known[address] = _total(_Frames(functions[address], memory), (*chain, address))
        return known[address]

    def _total(frames: _Frames, chain: tuple[int, ...]) -> int | None:
        if not frames.follow():
            return None
        totals: list[int | None] = [frames.deepest]
        for callee, depth in frames.calls.items():
            inner = deepest(callee, chain)
            totals.append(None if inner is None else depth + inner)
        sure = [total for total in totals if total is not None]
        return max(sure) if len(sure) == len(totals) else None

    return deepest(entry, ())


class _Frames:
    """The depths of the stack within one function. ``calls``: that at the calls of each other function."""

    def __init__(self, function: Function, memory: bytes) -> None:
        self.function = function
        self.memory = memory
        self.deepest = 0
        self.calls: dict[int, int] = {}

    def follow(self) -> bool:
        """Visits every block once, as compilers leave the same depth on all ways to it."""
        waiting: list[tuple[int, _State]] = [(self.function.address, {SP: _Value(0, True)})]
        seen: set[int] = set()
        while waiting:
            address, state = waiting.pop()
            if address in seen or address not in self.function.blocks:
                continue
            seen.add(address)
            last = None
            for last in self.function.blocks[address]:
                self._executed(last, state)
                if SP not in state:
                    return False
            if last is not None:
                waiting += [(target, dict(state)) for target in self._successors(last)]
        return True

    def _successors(self, last: Instruction) -> list[int]:
        targets = [last.target] if last.target and last.op != "bl" else []
        targets += self.function.tables.get(last.address, ())
        return targets + ([last.end] if falls_through(last) else [])

    def _executed(self, i: Instruction, state: _State) -> None:
        """With a condition it is part of a return, behind which the stack pointer is what it was where it fails."""
        if i.cond == ALWAYS or i.op == "b":
            self._step(i, state)
            return
        taken = dict(state)
        self._step(i, taken)
        for register in [register for register, value in state.items() if taken.get(register) != value]:
            if register != SP:
                del state[register]

    def _step(self, i: Instruction, state: _State) -> None:
        if i.op in ("bl", "blx", "b") and i.target in self.function.calls:
            depth = -state[SP].number
            self.calls[i.target] = max(self.calls.get(i.target, 0), depth)
        if i.op in ("bl", "blx"):
            for register in _CLOBBERED:
                state.pop(register, None)
            return
        result = self._result(i, state)
        base = self._moved_base(i, state)
        if i.op in ("ldm", "ldmdb") and not i.floats:
            for register in i.registers:
                state.pop(register, None)
        of_floats = i.op[0] == "v" and i.op not in _FLOATS_TO_CORE
        if i.op not in _WRITES_NO_RD and i.rd != NONE and not of_floats:
            for register in (i.rd, i.ra) if i.words == 2 or i.op.endswith("2") else (i.rd,):
                state.pop(register, None)
            if result is not None:
                state[i.rd] = result
        if base is not None:
            state[i.rn] = base
        if SP in state and state[SP].stack:
            self.deepest = max(self.deepest, -state[SP].number)
        elif SP in state:
            del state[SP]

    def _moved_base(self, i: Instruction, state: _State) -> _Value | None:
        """The base register of a load or store that moves it."""
        if i.index == "offset" or i.rn not in state:
            return None
        old = state[i.rn]
        step = 4 * len(i.registers) if i.registers else i.imm
        return _Value(old.number + (-step if i.op in ("push", "ldmdb") else step), old.stack)

    def _result(self, i: Instruction, state: _State) -> _Value | None:
        """The value of ``rd``, where it is known."""
        if i.op == "ldr" and i.rn == PC and i.rm == NONE and i.width == 4:
            (word,) = struct.unpack_from("<i", self.memory, ((i.address + 4) & ~3) + i.imm)
            return _Value(word)
        y = state.get(i.rm) if i.rm != NONE else _Value(i.imm)
        if y is None or (i.rm != NONE and i.shift[1] and y.stack):
            return None
        if i.rm != NONE and i.shift[1]:
            return _Value(y.number << i.shift[1]) if i.shift[0] == "lsl" else None
        if i.op == "mov":
            return y
        if i.op == "mvn" and not y.stack:
            return _Value(~y.number)
        x = state.get(i.rn)
        if i.op == "bfi" and i.rn == NONE and i.imm == 0 and i.rd in state:
            old = state[i.rd]
            return _Value(old.number - (1 << i.width) + 8, old.stack)  # the stack pointer is a multiple of 8
        if x is None:
            return None
        if i.op == "add" and not (x.stack and y.stack):
            return _Value(x.number + y.number, x.stack or y.stack)
        if i.op == "sub" and not y.stack:
            return _Value(x.number - y.number, x.stack)
        if i.op == "bic" and x.stack and not y.stack:
            return _Value(x.number - max(y.number + 1 - 8, 0), True)
        if i.op == "rsb" and not (x.stack or y.stack):
            return _Value(y.number - x.number)
        return None
