"""When tensors live: from the first to the last call that uses them, in the order of the text.

What passes of a loop hand on to each other, or to what is outside, lives in all of the loop. Tensors of two branches do
not live at the same time, so that they may share memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..ir.loops import Access, Kernel
from ..ir.steps import Step, outline, walk_calls
from ..record import record


@record
class Lifetime:
    """The numbers of the first and the last call during which a tensor lives. ``across_passes``: in a loop, longer than
    one pass of it."""

    first: int
    last: int
    across_passes: bool = False


def lifetimes(body: Sequence[Step], kernels: Mapping[str, Kernel]) -> dict[str, Lifetime]:
    """The lifetime of each buffer that steps use, constants too."""
    uses: dict[str, list[int]] = {}
    made: dict[str, int] = {}
    for number, call in enumerate(walk_calls(body)):
        for name in dict.fromkeys(call.args):
            uses.setdefault(name, []).append(number)
            params = zip(kernels[call.kernel].params, call.args, strict=True)
            if all(param.access is Access.WRITE for param, arg in params if arg == name):
                made.setdefault(name, number)
    found = outline(body)
    for number, name in found.tests:
        uses.setdefault(name, []).append(number)
    tested = {name for _, name in found.tests}
    lives = {name: Lifetime(min(numbers), max(numbers)) for name, numbers in uses.items()}
    for first, last in found.loops:
        for name, numbers in uses.items():
            inside = [number for number in numbers if first <= number <= last]
            whole = len(inside) == len(numbers) and made.get(name) == min(numbers)
            if inside and not (whole and name not in tested):
                life = lives[name]
                lives[name] = replace(life, first=min(life.first, first), last=max(life.last, last), across_passes=True)
    return lives
