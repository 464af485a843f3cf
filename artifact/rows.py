"""What inputs that come by rows go with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..bindings.write import is_module
from ..errors import CcmlError, ErrorCode
from ..program.goal import Goal
from ..targets import Machine
from .options import ArtifactOptions

BINDINGS = ("cpp", "python")
"""The languages whose bindings take a function that brings rows."""


def check_by_rows(
    rows: Sequence[str], machines: Iterable[Machine], goal: Goal, artifact: ArtifactOptions,
    languages: Iterable[str], packages: Sequence[str],
) -> None:  # fmt: skip
    """Raises ``BAD_OPTION`` where inputs come by ``rows`` and something else is asked for that cannot call for them.
    ``packages`` are those that call the model by arrays."""
    if not rows:
        return
    others = [name for name in languages if name not in BINDINGS]
    reasons = [
        ("--threads", bool(goal.threads), "rows come on one thread"),
        ("--slices", artifact.slices or artifact.slice_cycles is not None, "a row that fails ends a run"),
        (f"--bindings {','.join(others)}", bool(others), f"only {' and '.join(BINDINGS)} take rows"),
        (f"--package {','.join(packages)}", bool(packages), "its classes take arrays"),
    ]
    for machine in machines:
        reasons.append((f"--target {machine.name}", is_module(machine), "it imports no function"))
    for option, given, reason in reasons:
        if given:
            raise CcmlError(
                ErrorCode.BAD_OPTION, f"--input rows with {option}: {reason}",
                hint=f"leave '{option.split()[0]}' out, or '--input rows'",
            )  # fmt: skip
