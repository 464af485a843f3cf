"""What asks the planner for memory."""

from __future__ import annotations

from ..record import record


@record
class Request:
    """A tensor of ``nbytes`` that lives from step ``first`` to step ``last``, both included, at a multiple of ``align``
    (0: that of the pool). The caller may keep a tensor ``outside`` of the pool."""

    name: str
    nbytes: int
    first: int
    last: int
    align: int = 0
    outside: bool = False

    def overlaps(self, other: Request) -> bool:
        """Whether both live at some step."""
        return self.first <= other.last and other.first <= self.last
