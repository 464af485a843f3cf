"""What audio features are: the options, what they must fit, and the numbers that follow."""

from __future__ import annotations

from math import gcd

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ops.fourier import BLOCK_LENGTHS, is_length
from ..record import record
from .mel import WINDOWS, cosine_transform, mel_filters, window

KINDS = ("mfcc", "log-mel", "spectrogram")
FULL_SCALE = 32768
"""What 16-bit samples are divided by."""


@record
class Convention:
    """What a library does where the names of options do not tell.

    ``power``: of the magnitudes that filters add up. ``scale``, ``on_mel_axis``, ``area``: see
    :func:`~ccml.features.mel.mel_filters`. ``decibels``: 10 log10 of what is at least ``floor``, else the natural
    logarithm of what ``floor`` was added to. ``orthonormal``: the cosine transform. ``centered``: frames have their
    samples in the middle of the transform and begin half of it before the first sample, else at its start.
    ``range_db``: what is further below the loudest of a clip is raised to that.
    """

    power: int
    scale: str
    on_mel_axis: bool
    area: bool
    decibels: bool
    floor: float
    orthonormal: bool
    centered: bool
    range_db: float | None


CONVENTIONS: dict[str, Convention] = {
    "tensorflow": Convention(1, "htk", True, False, False, 1e-6, False, False, None),
    "librosa": Convention(2, "slaney", False, True, True, 1e-10, True, True, 80.0),
}
"""``tensorflow``: the recipe of ``tf.signal``, with magnitudes. ``librosa``: the defaults of ``feature.mfcc``."""


@record
class AudioFeatures:
    """Features of 16-bit PCM. ``rate`` is in hertz, ``frame`` (the window) and ``hop`` in samples.

    ``fft`` is the length of the transform, by default the power of two that holds a frame. ``power`` is that of the
    convention unless it is given. ``samples`` is the length of a clip; with ``streaming`` a run takes ``hop`` new
    samples instead and gives the features of one frame. ``fixed_point`` computes in integers.
    Raises ``BAD_OPTION`` where the numbers do not go together.
    """

    kind: str
    rate: int = 16000
    frame: int = 480
    hop: int = 320
    fft: int | None = None
    mels: int = 40
    coefficients: int = 10
    window: str = "hann"
    lower: float = 20.0
    upper: float | None = None
    convention: str = "tensorflow"
    power: int | None = None
    samples: int | None = None
    streaming: bool = False
    fixed_point: bool = False

    def __post_init__(self) -> None:
        _check_range("--rate", self.rate, 1000, 400_000, "hertz")
        _check_range("--frame", self.frame, 2, 1 << 16, "samples")
        _check_range("--hop", self.hop, 1, 1 << 16, "samples")
        _check_range("--mels", self.mels, 1, 512, "filters")
        _check_range("--coefficients", self.coefficients, 1, self.mels, "coefficients (--mels)")
        _check_range("--fft", self.length, self.frame, 1 << 16, "samples; a frame has to fit")
        if self.window not in WINDOWS or self.kind not in KINDS or self.convention not in CONVENTIONS:
            raise _refused(f"{self.kind}, {self.window}, {self.convention}", "there is no such kind of features")
        if self.power not in (None, 1, 2):
            raise _refused("--power", f"{self.power} is neither 1 nor 2")
        if not 0 <= self.lower < self.highest <= self.rate / 2:
            reason = f"{self.lower:g} to {self.highest:g} Hz is no range up to half of {self.rate} Hz"
            raise _refused("--lower, --upper", reason)
        if self.fixed_point and not is_length(self.length, BLOCK_LENGTHS):
            reason = f"a transform of {self.length} is none of fixed point"
            raise _refused("--fft", reason, "take a power of two from 8 to 4096, or no --fixed-point")
        if self.streaming and self.hop > self.frame:
            raise _refused("--hop", f"{self.hop} samples are more than a frame of {self.frame} holds")
        if not self.streaming and self.count < 1:
            least = self.frame if not self.centered else self.length // 2 + 1
            raise _refused("--clip", f"{self.clip} samples have no frame", f"give at least {least}")
        if self.kind != "spectrogram" and not self.filters.any(axis=0).all():
            empty = int(np.argmin(self.filters.any(axis=0)))
            reason = f"filter {empty} of {self.mels} has no element of a transform of {self.length}"
            raise _refused("--mels", reason, "take fewer filters, a longer --fft, or a wider range")

    @property
    def rules(self) -> Convention:
        return CONVENTIONS[self.convention]

    @property
    def exponent(self) -> int:
        """The power of the magnitudes."""
        return self.rules.power if self.power is None else self.power

    @property
    def length(self) -> int:
        """Of the transform."""
        return 1 << max(self.frame - 1, 1).bit_length() if self.fft is None else self.fft

    @property
    def highest(self) -> float:
        return self.rate / 2 if self.upper is None else self.upper

    @property
    def centered(self) -> bool:
        return self.rules.centered and not self.streaming

    @property
    def clip(self) -> int:
        """Samples of a run."""
        if self.streaming:
            return self.hop
        return self.rate if self.samples is None else self.samples

    @property
    def count(self) -> int:
        """Frames of a run."""
        if self.streaming:
            return 1
        if self.centered:
            return self.clip // self.hop + 1 if self.clip > self.length // 2 else 0
        return (self.clip - self.frame) // self.hop + 1 if self.clip >= self.frame else 0

    @property
    def columns(self) -> int:
        """Features of a frame."""
        return {"mfcc": self.coefficients, "log-mel": self.mels, "spectrogram": self.length // 2 + 1}[self.kind]

    @property
    def taper(self) -> np.ndarray:
        """The window [frame]."""
        return window(self.window, self.frame)

    @property
    def filters(self) -> np.ndarray:
        """[fft // 2 + 1, mels]"""
        rules = self.rules
        return mel_filters(
            self.mels, self.length, self.rate, self.lower, self.highest,
            scale=rules.scale, on_mel_axis=rules.on_mel_axis, area=rules.area,
        )  # fmt: skip

    @property
    def bins(self) -> tuple[int, int]:
        """The first element of the spectrum that is needed, and the one behind the last."""
        if self.kind == "spectrogram":
            return 0, self.length // 2 + 1
        used = np.flatnonzero(self.filters.any(axis=1))
        return int(used[0]), int(used[-1]) + 1

    @property
    def cosines(self) -> np.ndarray:
        return cosine_transform(self.mels, self.coefficients, orthonormal=self.rules.orthonormal)

    @property
    def pieces(self) -> int:
        """Samples of which frames and hops are multiples."""
        return gcd(self.frame, self.hop)

    def clip_of(self, frames: int) -> int:
        """The least number of samples that has so many frames."""
        if self.centered:
            return max((frames - 1) * self.hop, self.length // 2 + 1)
        return (frames - 1) * self.hop + self.frame


def _check_range(option: str, value: int, least: int, most: int, what: str) -> None:
    if not least <= value <= most:
        raise _refused(option, f"{value} is not from {least} to {most} {what}")


def _refused(option: str, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=option, hint=hint)
