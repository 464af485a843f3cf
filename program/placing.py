"""Code and weights of chosen layers in sections of their own, for a linker script that puts them into fast memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ..errors import CcmlError, ErrorCode
from ..ir.program import Program
from ..ir.steps import Call
from ..record import record

CODE, WEIGHTS = "code", "weights"


@record
class Placing:
    """``what``, code or weights, of the layers that ``layer`` means, in the section ``section``.

    ``layer`` is the number of a layer, the name of an ONNX node that is computed in it, or a pattern of such names with
    ``*`` and ``?``.
    """

    what: str
    layer: str
    section: str

    def means(self, number: int, call: Call) -> bool:
        """Whether the layer is one of them."""
        names = (call.loc, *call.loc.split(" + "))
        return self.layer == str(number) or any(fnmatchcase(name, self.layer) for name in names)


def placed(program: Program, placings: Sequence[Placing]) -> Program:
    """``program`` with the sections of its kernels and constants; the last placing that means one counts.

    A kernel that several layers share goes with each of them. Raises ``BAD_OPTION`` where no layer is meant.
    """
    sections: dict[tuple[str, str], str] = {}
    for placing in placings:
        found = list(_meant(program, placing))
        if not found:
            reason = f"no {placing.what} of a layer '{placing.layer}' to place"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="'ccml inspect MODEL --target ...' lists the layers")
        sections |= dict.fromkeys(((placing.what, name) for name in found), placing.section)
    return replace(program, sections=sections)


def _meant(program: Program, placing: Placing) -> Iterator[str]:
    """The kernels, or the constants, of the layers."""
    for number, call in enumerate(program.calls):
        if placing.means(number, call):
            yield from [call.kernel] if placing.what == CODE else (a for a in call.args if a in program.constants)
