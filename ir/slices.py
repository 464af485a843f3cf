"""A body of steps as a list of operations, for runs that are taken call by call.

Whoever runs the list keeps the number of the next operation, and a count of passes for each loop around it::

    0  Enter(0)                 passes[0] = 0
    1  Pass(repeat, 0, 4)       to 4 where the loop is over; else its number is stored
    2  call step_0(...)
    3  Next(0, 1)               passes[0] += 1, to 1
    4  (the end)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from ..record import record
from .steps import Branch, Call, Repeat, Step


@record
class JumpUnless:
    """To the operation ``otherwise`` where the bool buffer ``condition`` is false, else to the next one."""

    condition: str
    otherwise: int


@record
class Jump:
    """To the operation ``target``."""

    target: int


@record
class Enter:
    """No pass of the loop ``depth`` is done."""

    depth: int


@record
class Pass:
    """To the operation ``end`` where the loop ``repeat`` is over, else the buffer of its number is set."""

    repeat: Repeat
    depth: int
    end: int


@record
class Next:
    """A pass of the loop ``depth`` is done; to the operation ``target``."""

    depth: int
    target: int


Operation = Union[Call, JumpUnless, Jump, Enter, Pass, Next]


def operations(body: Sequence[Step]) -> list[Operation]:
    """The operations of a run; it is over behind the last one."""
    found: list[Operation] = []
    _append(found, body, 0)
    return found


def loop_depth(body: Sequence[Step]) -> int:
    """How many counts of passes a run needs."""
    return max((step.depth + 1 for step in operations(body) if isinstance(step, Enter)), default=0)


def _append(found: list[Operation], body: Sequence[Step], depth: int) -> None:
    for step in body:
        match step:
            case Call():
                found.append(step)
            case Branch():
                place = len(found)
                found.append(Jump(0))
                _append(found, step.then, depth)
                leave = len(found)
                found += [Jump(0)] if step.orelse else []
                found[place] = JumpUnless(step.condition, len(found))
                _append(found, step.orelse, depth)
                if step.orelse:
                    found[leave] = Jump(len(found))
            case Repeat():
                found.append(Enter(depth))
                place = len(found)
                found.append(Jump(0))
                _append(found, step.body, depth + 1)
                found.append(Next(depth, place))
                found[place] = Pass(step, depth, len(found))
