"""The price of a quantized model on the device that it is for, as mixed precision is judged by it (``mixed.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from ..ir.graph import Graph
from ..record import record
from ..report.budget import Need


@record
class Price:
    """What one model takes: ``time`` in cycles, or in operations where these are not predicted (``cycles`` is ``None``
    then); bytes of ``flash`` (``None`` where no code was made) and of ``ram``, states included. ``layers`` have the
    time of each call by its name, as far as it is known; ``needs`` are of everything that is limited."""

    time: float
    cycles: int | None
    flash: int | None
    ram: int
    layers: Mapping[str, float] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()

    @property
    def fits(self) -> bool:
        return all(need.fits for need in self.needs)

    def excess(self) -> str:
        """What does not fit."""
        return "; ".join(str(need) for need in self.needs if not need.fits)

    @property
    def worst(self) -> float:
        """The largest share of a limit that it takes."""
        return max((need.amount / max(need.limit, 1e-9) for need in self.needs), default=0.0)

    def amounts(self) -> str:
        """What it takes of everything that is limited."""
        return "; ".join(need.taken() for need in self.needs)


Meter = Callable[[Graph], Price]
"""The price of a graph of quantize and dequantize nodes."""
