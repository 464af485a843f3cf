"""How a program becomes an artifact: what is the same whatever the program computes."""

from __future__ import annotations

from dataclasses import dataclass

from ..program.placing import Placing


@dataclass(frozen=True)
class ArtifactOptions:
    """``external_weights``: constants are in a file of their own, which the caller maps or has in flash. ``slices``: a
    run can be taken layer by layer as well, or with ``slice_cycles`` by parts of layers of so many cycles at most.
    ``places`` are sections for code and weights of chosen layers."""

    external_weights: bool = False
    slices: bool = False
    places: tuple[Placing, ...] = ()
    slice_cycles: int | None = None

    @property
    def weights(self) -> str:
        """Where the constants are, as ``--weights`` has it."""
        return "external" if self.external_weights else "internal"


DEFAULT_ARTIFACT = ArtifactOptions()
