"""What a model needs and ccml does not have, collected over the whole model before anything is reported."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import CcmlError, ErrorCode

_FOR_ONE_MACHINE = (
    "ONNX Runtime chose operators for one machine when it saved this model; save it with graph_optimization_level "
    "ORT_ENABLE_EXTENDED or lower, or compile the model that it was made of"
)
_HINTS: Mapping[str, str] = {"com.microsoft.nchwc": _FOR_ONE_MACHINE, "com.ms.internal.nhwc": _FOR_ONE_MACHINE}
"""By domain, how to get a model without its operators."""


class LimitError(CcmlError):
    """Something that grows without bounds. It ends the import at once: going on would only make it grow."""

    def __init__(self, reason: str, *, loc: str | None = None, hint: str | None = None) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=loc, hint=hint)


class Problems:
    """Unsupported operators and features, each with the node where it stands."""

    def __init__(self, listing: str = "ccml ops", own: str = "") -> None:
        """``listing`` is the command that lists operators, ``own`` how the user can give some himself."""
        self._listing, self._own = listing, own
        self._operators: dict[tuple[str, str], list[str]] = {}
        self._features: list[CcmlError] = []

    def add_operator(self, domain: str, operator: str, loc: str) -> None:
        self._operators.setdefault((domain, operator), []).append(loc)

    def add_feature(self, problem: CcmlError) -> None:
        # Its frames hold arrays.
        self._features.append(problem.with_traceback(None))

    def copy(self) -> Problems:
        found = Problems(self._listing, self._own)
        found._operators = {operator: list(locs) for operator, locs in self._operators.items()}
        found._features = list(self._features)
        return found

    def _deciding(self) -> list[str]:
        """Values with which all problems were solved."""
        if not all(problem.deciding for problem in self._features):
            return []
        return [name for problem in self._features for name in problem.deciding]

    def raise_any(self) -> None:
        """One error for all: UNSUPPORTED_OPERATOR where there is an operator, UNSUPPORTED_FEATURE otherwise."""
        features = list(dict.fromkeys(f"{problem.loc}: {problem.reason}" for problem in self._features))
        if self._operators:
            named = sorted((".".join(filter(None, name)), locs) for name, locs in self._operators.items())
            operators = [f"{operator} ({', '.join(locs)})" for operator, locs in named]
            ways = [_HINTS[domain] for domain, _ in self._operators if domain in _HINTS]
            ways.append(f"'{self._listing}' lists the supported ones{self._own}")
            raise CcmlError(
                ErrorCode.UNSUPPORTED_OPERATOR,
                "\n  ".join(["the model has operators that ccml does not support:", *operators, *features]),
                hint="; ".join(dict.fromkeys(ways)),
            )
        if len(features) == 1:
            raise self._features[0]
        if features:
            hints = dict.fromkeys(problem.hint for problem in self._features if problem.hint)
            raise CcmlError(
                ErrorCode.UNSUPPORTED_FEATURE,
                "\n  ".join(["the model uses what ccml does not support:", *features]),
                hint="; ".join(hints) or None,
                deciding=self._deciding(),
            )
