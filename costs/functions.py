"""The control flow of functions: which instructions belong to one, and where its basic blocks begin."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from .decode import decode, it_conditions
from .image import Image
from .instruction import ALWAYS, LR, NONE, PC, Instruction

_LOADS_PC = frozenset({"ldm", "ldmdb"})


@dataclass
class Function:
    """``blocks`` maps the address of each basic block to its instructions. ``calls`` are addresses of functions that it
    calls or ends in; ``computed``: some jump may lead to any of its instructions; ``indirect``: it calls by address."""

    name: str
    address: int
    blocks: dict[int, tuple[Instruction, ...]] = field(default_factory=dict)
    calls: set[int] = field(default_factory=set)
    tables: dict[int, tuple[int, ...]] = field(default_factory=dict)
    computed: bool = False
    indirect: bool = False

    @property
    def instructions(self) -> Iterator[Instruction]:
        for block in self.blocks.values():
            yield from block


def is_return(instruction: Instruction) -> bool:
    """Leaves the function for where it was called from."""
    if instruction.op in _LOADS_PC and not instruction.floats:
        return PC in instruction.registers
    return (
        instruction.op == "pop_pc"
        or (instruction.op == "bx" and instruction.rm == LR)
        or (instruction.op == "jump" and instruction.rm == LR and instruction.rn == NONE)
    )


def is_computed(instruction: Instruction) -> bool:
    """Goes where a register says."""
    return instruction.op in ("bx", "jump", "jump_loaded") and not is_return(instruction)


def falls_through(instruction: Instruction) -> bool:
    """Whether control may go on behind it."""
    if instruction.cond != ALWAYS:
        return True
    leaves = instruction.op in ("b", "tbb", "tbh", "trap")
    return not (leaves or is_return(instruction) or is_computed(instruction))


@lru_cache(maxsize=2)
def find_functions(image: Image, entry: str) -> Mapping[int, Function]:
    """The functions that ``entry`` may reach, by address."""
    names = {address: name for name, (address, _) in image.functions.items()}
    sizes = dict(image.functions.values())
    missing = {address & ~1: name for name, address in image.missing.items()}
    found: dict[int, Function] = {}
    waiting = [image.function(entry)]
    while waiting:
        address = waiting.pop()
        if address in found or address in missing:
            continue
        function = _Explorer(image, names, names.get(address, f"{address:#x}"), address, sizes.get(address, 0)).run()
        found[address] = function
        waiting.extend(sorted(function.calls))
        if function.indirect:
            waiting.extend(sorted(sizes))
    return found


class _Explorer:
    """Follows the control flow of one function from its entry on."""

    def __init__(self, image: Image, names: dict[int, str], name: str, address: int, size: int) -> None:
        self.memory = image.memory
        self.names = names
        self.function = Function(name, address)
        self.end = address + size
        self.seen: dict[int, Instruction] = {}
        self.leaders = {address}

    def run(self) -> Function:
        self._follow(self.function.address)
        if self.function.computed:
            for address in range(self.function.address, self.end, 2):
                self._follow(address)
            self.leaders |= self.seen.keys()
        self._split()
        return self.function

    def _follow(self, start: int) -> None:
        waiting = [start]
        while waiting:
            address = waiting.pop()
            conditions: tuple[int, ...] = ()
            while address not in self.seen and self._is_code(address):
                instruction = self._decode(address, conditions)
                conditions = it_conditions(instruction) if instruction.op == "it" else conditions[1:]
                self.seen[address] = instruction
                waiting.extend(self._targets(instruction))
                if not falls_through(instruction):
                    break
                address = instruction.end

    def _decode(self, address: int, conditions: tuple[int, ...]) -> Instruction:
        """The instruction, a BL within the function as what it is meant for: Armv6-M has no other long jump."""
        instruction = decode(self.memory, 0, address, conditions)
        inside = self.function.address < instruction.target < self.end and instruction.target not in self.names
        return replace(instruction, op="b") if instruction.op == "bl" and inside else instruction

    def _is_code(self, address: int) -> bool:
        """Behind computed jumps data may be taken for code, which then must not lead further."""
        if self.function.computed:
            return self.function.address <= address < self.end
        return 0 < address <= len(self.memory) - 4

    def _targets(self, instruction: Instruction) -> list[int]:
        """Where it may go within the function; these are leaders, and so is what follows."""
        function = self.function
        if instruction.op in ("bl", "blx"):
            if instruction.op == "bl" and (instruction.target in self.names or not function.computed):
                function.calls.add(instruction.target)
            function.indirect |= instruction.op == "blx"
            return []
        if instruction.op in ("tbb", "tbh"):
            targets = list(self._table(instruction))
            function.tables[instruction.address] = tuple(targets)
        elif instruction.target:
            if self._leaves(instruction):
                function.calls.add(instruction.target)
                self.leaders.add(instruction.end)
                return []
            targets = [instruction.target]
        elif is_return(instruction) or is_computed(instruction):
            function.computed |= is_computed(instruction)
            targets = []
        else:
            return []
        self.leaders.update(targets, [instruction.end])
        return targets

    def _leaves(self, instruction: Instruction) -> bool:
        """A tail call: a jump to another function's first instruction."""
        target = instruction.target
        return instruction.op == "b" and target in self.names and target != self.function.address

    def _table(self, instruction: Instruction) -> Iterator[int]:
        """The targets of a table branch. The table ends before the first code that it leads to."""
        width = 2 if instruction.op == "tbh" else 1
        base = instruction.end
        at, lowest = base, len(self.memory)
        while at + width <= lowest:
            (entry,) = struct.unpack_from("<H" if width == 2 else "<B", self.memory, at)
            target = base + 2 * entry
            at += width
            if target < at:
                return  # padding
            lowest = min(lowest, target)
            yield target

    def _split(self) -> None:
        """Cuts the instructions at leaders."""
        block: list[Instruction] = []
        for address in sorted(self.seen):
            if block and (address in self.leaders or block[-1].end != address):
                self._add(block)
                block = []
            block.append(self.seen[address])
        self._add(block)

    def _add(self, block: list[Instruction]) -> None:
        if block:
            self.function.blocks[block[0].address] = tuple(block)
