"""Steps: what the body of a program consists of, and the walks over them that everything uses.

A body is a sequence of steps that run one after the other::

    call conv_0(x, w, t)
    if c:                          Branch: one of two bodies
      call add_0(t, y)
    else:
      call mul_0(t, y)
    repeat 10 as i while going:    Repeat: a body again and again
      call step_0(i, s, going)

Calls have numbers in the order of the text. Where a Branch or a Repeat looks at a buffer counts as the call behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from ..record import record


@record
class Call:
    """One kernel call. ``args`` are buffer names, one for each parameter of the kernel, equal in element count (or not
    shorter, where the kernel has scalars), and ``scalars`` the values of its scalars.

    ``macs`` counts multiply-accumulates, ``loc`` names the ONNX nodes, ``generator`` what made the kernel's loops,
    and ``summary`` says what is computed.
    """

    kernel: str
    args: tuple[str, ...]
    loc: str = ""
    macs: int = 0
    scalars: tuple[int, ...] = ()
    generator: str = ""
    summary: str = ""


@record
class Branch:
    """``then`` where the element of the bool buffer ``condition`` is true, else ``orelse``; at least one has a step."""

    condition: str
    then: tuple[Step, ...]
    orelse: tuple[Step, ...]
    loc: str = ""

    @property
    def buffers(self) -> tuple[str, ...]:
        """What the step itself looks at."""
        return (self.condition,)


@record
class Repeat:
    """``body`` again and again, as long as the number of passes done is less than ``limit`` and than the element of the
    i64 buffer ``count``, and the element of the bool buffer ``condition`` is true; one of these is there.

    They are tested before each pass. When it begins, the i64 buffer ``number`` gets the number of passes done.
    """

    body: tuple[Step, ...]
    limit: int | None = None
    count: str | None = None
    condition: str | None = None
    number: str | None = None
    loc: str = ""

    @property
    def buffers(self) -> tuple[str, ...]:
        """What the step itself looks at or sets."""
        return tuple(name for name in (self.count, self.condition, self.number) if name is not None)

    @property
    def has_a_pass(self) -> bool:
        """Whether there is at least one pass in every run."""
        return self.limit is not None and self.limit > 0 and self.count is None and self.condition is None


Step = Union[Call, Branch, Repeat]
Body = tuple[Step, ...]


def walk_steps(body: Sequence[Step]) -> Iterator[Step]:
    """All steps in the order of the text, each before those that it holds."""
    for step in body:
        yield step
        for inner in bodies_of(step):
            yield from walk_steps(inner)


def walk_calls(body: Sequence[Step]) -> Iterator[Call]:
    """All calls in the order of the text."""
    return (step for step in walk_steps(body) if isinstance(step, Call))


def bodies_of(step: Step) -> tuple[Body, ...]:
    """The bodies that a step holds."""
    match step:
        case Branch():
            return (step.then, step.orelse)
        case Repeat():
            return (step.body,)
    return ()


def has_control_flow(body: Sequence[Step]) -> bool:
    """Whether a run may leave out calls, or make them more than once."""
    return not all(isinstance(step, Call) for step in body)


def buffers_of(body: Sequence[Step]) -> set[str]:
    """The names of all buffers that steps use."""
    return {name for step in walk_steps(body) for name in (step.args if isinstance(step, Call) else step.buffers)}


def map_calls(body: Sequence[Step], rule: Callable[[int, Call], Sequence[Call]]) -> Body:
    """``body`` with what ``rule`` says of each call, by its number, in its place; what no call is left in is
    dropped."""
    numbers = iter(range(sum(1 for _ in walk_calls(body))))

    def mapped(steps: Sequence[Step]) -> Body:
        found: list[Step] = []
        for step in steps:
            match step:
                case Call():
                    found.extend(rule(next(numbers), step))
                case Branch():
                    then, orelse = mapped(step.then), mapped(step.orelse)
                    found.extend([replace(step, then=then, orelse=orelse)] if then or orelse else [])
                case Repeat():
                    inner = mapped(step.body)
                    found.extend([replace(step, body=inner)] if inner else [])
        return tuple(found)

    return mapped(body)


def at_most(body: Sequence[Step], cost: Callable[[int, Call], int]) -> int:
    """What a run costs at most, by the cost of each call with its number: the dearer body of a Branch, that of a Repeat
    times its ``limit``, or once where it has none."""
    numbers = iter(range(sum(1 for _ in walk_calls(body))))

    def total(steps: Sequence[Step]) -> int:
        found = 0
        for step in steps:
            match step:
                case Call():
                    found += cost(next(numbers), step)
                case Branch():
                    found += max(total(step.then), total(step.orelse))
                case Repeat():
                    found += total(step.body) * (1 if step.limit is None else step.limit)
        return found

    return total(body)


def circumstances(body: Sequence[Step], around: str = "") -> Iterator[str]:
    """For each call, when and how often it is made, outermost first: ``then of NODE; up to 10 passes of NODE``. Empty
    where it is made once in every run."""

    def inside(what: str, step: Branch | Repeat) -> str:
        return "; ".join(filter(None, (around, f"{what} of {step.loc}")))

    for step in body:
        match step:
            case Call():
                yield around
            case Branch():
                yield from circumstances(step.then, inside("then", step))
                yield from circumstances(step.orelse, inside("else", step))
            case Repeat():
                passes = "passes" if step.limit is None else f"up to {step.limit} passes"
                yield from circumstances(step.body, inside(passes, step))


@record
class Outline:
    """Where control flow is among the calls of a body, by their numbers.

    ``loops`` are the first and last call of each Repeat, inner ones before outer; ``runs`` the first call and the one
    behind the last of each straight line. ``tests`` are buffers that Branch and Repeat look at or set, each with the
    call behind it in the text.
    """

    loops: tuple[tuple[int, int], ...]
    runs: tuple[tuple[int, int], ...]
    tests: tuple[tuple[int, str], ...]


def outline(body: Sequence[Step]) -> Outline:
    """The outline of ``body``, whose Branches and Repeats all hold calls."""
    found = _Outliner()
    found.walk(body)
    return Outline(tuple(found.loops), tuple(found.runs), tuple(found.tests))


@dataclass
class _Outliner:
    count: int = 0
    loops: list[tuple[int, int]] = field(default_factory=list)
    runs: list[tuple[int, int]] = field(default_factory=list)
    tests: list[tuple[int, str]] = field(default_factory=list)

    def walk(self, body: Sequence[Step]) -> None:
        start = self.count
        for step in body:
            if isinstance(step, Call):
                self.count += 1
                continue
            self._run(start)
            self.tests += [(self.count, name) for name in step.buffers]
            first = self.count
            for inner in bodies_of(step):
                self.walk(inner)
            if isinstance(step, Repeat):
                self.loops.append((first, self.count - 1))
            start = self.count
        self._run(start)

    def _run(self, start: int) -> None:
        if start < self.count:
            self.runs.append((start, self.count))
