"""Data classes that take little time to declare and to make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Class]) -> type[Class]:
    """``@dataclass(frozen=True)`` to type checkers, which refuse assignments to fields; at run time nothing does.

    ``__init__`` of a frozen data class sets each field through ``object.__setattr__`` and takes three times as long,
    which was a tenth of a compilation for the nodes of loop IR alone. And for each class ``dataclass`` writes and
    compiles the source of six methods: for ccml's five hundred that was a quarter of the time of importing it. Here
    that is ``__init__`` alone; the others are closures that give the same results.
    """
    defined = {name for name, value in vars(cls).items() if value is not None}
    made = dataclass(repr=False, eq=False)(cls)
    for method in _methods(fields(made)):  # type: ignore[arg-type]
        if method.__name__ not in defined:
            setattr(made, method.__name__, method)
    return made


def _methods(of: tuple[Field[Any], ...]) -> tuple[Callable[..., Any], ...]:
    """``__repr__``, ``__eq__`` and ``__hash__`` of a data class with these fields."""
    printed = [each.name for each in of if each.repr]
    compared = _values([each.name for each in of if each.compare])
    hashed = _values([each.name for each in of if (each.compare if each.hash is None else each.hash)])

    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in printed)})"

    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(hashed(self))

    return __repr__, __eq__, __hash__


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The function from an object to the tuple of its attributes with these names."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple([getattr(self, name) for name in names])
