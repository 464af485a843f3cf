"""What the names of a kernel mean in C: visible variables, buffers and register elements, and whether they are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from ..errors import CcmlError, ErrorCode
from ..ir.loops import Buffer, Const, Expr, Var
from .names import Names


@dataclass
class Binding:
    """A C variable. ``written`` counts only for register elements; other variables are born with a value."""

    c_name: str
    read: bool = False
    written: bool = False


class Scope:
    """Nested scopes of loop-IR names, each bound to a C variable of its own."""

    def __init__(self, kernel: str, reserved: Iterable[str]) -> None:
        self._kernel = kernel
        self._names = Names(reserved)
        self._levels: list[dict[object, Binding]] = [{}]

    def push(self) -> None:
        self._names.push()
        self._levels.append({})

    def pop(self) -> None:
        self._names.pop()
        self._levels.pop()

    def bind(self, key: Var | Buffer) -> Binding:
        """A new variable for a loop variable, a Let or an array."""
        return self._bind(_key(key), key.name)

    def bind_elements(self, buffer: Buffer) -> list[Binding]:
        """A variable for every element of a register buffer."""
        bindings = []
        for position in product(*(range(extent) for extent in buffer.shape)):
            suffix = "".join(f"_{i}" for i in position)
            bindings.append(self._bind((*_key(buffer), position), buffer.name + suffix))
        return bindings

    def use(self, var: Var) -> str:
        return self._read(_key(var), f"variable '{var.name}'")

    def use_buffer(self, buffer: Buffer) -> str:
        return self._read(_key(buffer), f"buffer '{buffer.name}'")

    def use_element(self, buffer: Buffer, index: tuple[Expr, ...]) -> str:
        return self._read(self._position(buffer, index), f"register buffer '{buffer.name}'")

    def write_element(self, buffer: Buffer, index: tuple[Expr, ...]) -> str:
        binding = self._find(self._position(buffer, index), f"register buffer '{buffer.name}'")
        binding.written = True
        return binding.c_name

    def _bind(self, key: object, preferred: str) -> Binding:
        binding = Binding(self._names.bind(preferred))
        self._levels[-1][key] = binding
        return binding

    def _read(self, key: object, what: str) -> str:
        binding = self._find(key, what)
        binding.read = True
        return binding.c_name

    def _find(self, key: object, what: str) -> Binding:
        for level in reversed(self._levels):
            if key in level:
                return level[key]
        raise self.error(f"{what} is used where it is not defined")

    def _position(self, buffer: Buffer, index: tuple[Expr, ...]) -> object:
        constants = tuple(int(part.value) for part in index if isinstance(part, Const))
        if len(constants) != len(index):
            raise self.error(
                f"register buffer '{buffer.name}' has an index that is not constant", "unroll the loops around it"
            )
        return (*_key(buffer), constants)

    def error(self, reason: str, hint: str | None = None) -> CcmlError:
        return CcmlError(ErrorCode.IR_INVALID, reason, loc=f"kernel {self._kernel}", hint=hint)


def _key(item: Var | Buffer) -> tuple[str, str]:
    """Variables and buffers live in name spaces of their own."""
    return ("variable" if isinstance(item, Var) else "buffer", item.name)
