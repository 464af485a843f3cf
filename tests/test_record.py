"""Records behave as frozen data classes of the standard library do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ccml.record import record


def classes() -> list[tuple[Any, Any]]:
    """(record, standard data class) of the same source."""

    def pair(make: Any) -> tuple[Any, Any]:
        return make(record), make(dataclass(frozen=True))

    def empty(decorate: Any) -> Any:
        @decorate
        class Empty:
            """Without fields."""

        return Empty

    def single(decorate: Any) -> Any:
        @decorate
        class Single:
            number: float

        return Single

    def partly(decorate: Any) -> Any:
        @decorate
        class Partly:
            number: int
            note: str = field(default="", compare=False)
            items: tuple[int, ...] = field(default=(), hash=False)
            secret: int = field(default=0, repr=False)

        return Partly

    def derived(decorate: Any) -> Any:
        @decorate
        class Base:
            number: int

        @decorate
        class Derived(Base):
            other: str = "a"

        return Derived

    def own(decorate: Any) -> Any:
        @decorate
        class Own:
            number: int

            def __eq__(self, other: object) -> bool:
                return True

            def __repr__(self) -> str:
                return "own"

        return Own

    return [pair(make) for make in (empty, single, partly, derived, own)]


def instances(cls: Any) -> list[Any]:
    if cls.__name__ == "Empty":
        return [cls(), cls()]
    made = [cls(1), cls(1), cls(2), cls(float("nan"))]
    if cls.__name__ == "Partly":
        made += [replace(made[0], note="x"), replace(made[0], items=(1,)), replace(made[0], secret=1)]
    if cls.__name__ == "Derived":
        made += [cls(1, "b")]
    return made


@pytest.mark.parametrize(("ours", "standard"), classes(), ids=lambda cls: cls.__name__)
def test_printed_compared_and_hashed_as_the_standard_does(ours: Any, standard: Any) -> None:
    mine, its = instances(ours), instances(standard)
    assert [repr(each) for each in mine] == [repr(each) for each in its]
    assert [[a == b for b in mine] for a in mine] == [[a == b for b in its] for a in its]
    assert [[hash(a) == hash(b) for b in mine] for a in mine] == [[hash(a) == hash(b) for b in its] for a in its]
    assert (mine[0] == object()) is (its[0] == object())


def test_records_of_other_classes_differ() -> None:
    (_, _), (single, _), *_ = classes()
    (_, _), (other, _), *_ = classes()
    assert single(1) != other(1)
