"""C of the user's in the place of a kernel's loops."""

from __future__ import annotations

from ..record import record


@record
class Foreign:
    """The C function that computes one kernel, as it is compiled for this kernel alone.

    ``function`` is defined in ``code``, the text of ``file``, with ``constants`` (preprocessor lines) set before. It
    takes a pointer of the C type in ``types`` for each of ``arguments``: to the kernel's parameter of that number, or
    ``NULL`` (-1). ``operator`` is what it stands for in the model, ``domain::Name``. ``in_place`` are pairs of
    parameters, first a result, then the operand of the same type whose memory it may be given.
    """

    operator: str
    function: str
    file: str
    code: str
    constants: str
    arguments: tuple[int, ...]
    types: tuple[str, ...]
    in_place: tuple[tuple[int, int], ...] = ()
