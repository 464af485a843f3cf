"""Typical inputs, from files: .npz, .npy, a folder of .npy, a folder of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..samples import Samples, match_samples, read_arrays
from .images import SUFFIXES, ImageOptions, read_image


@dataclass(frozen=True)
class CalibrationData:
    """``samples`` are the model's inputs. ``arrays`` is all that the file has as often: labels, expected outputs."""

    samples: Samples
    arrays: Mapping[str, np.ndarray]

    def chosen(self, kept: np.ndarray) -> CalibrationData:
        """The samples for which ``kept`` is true."""
        return CalibrationData(self.samples.chosen(kept), {name: array[kept] for name, array in self.arrays.items()})

    def split(self, every: int) -> tuple[CalibrationData, CalibrationData]:
        """All samples but each ``every``-th, and these: to quantize with, and to test with."""
        kept_back = np.arange(self.samples.count) % every == every - 1
        return self.chosen(~kept_back), self.chosen(kept_back)


DEFAULT_IMAGES = ImageOptions()


def read_calibration(
    path: Path, inputs: Sequence[Value], images: ImageOptions = DEFAULT_IMAGES
) -> CalibrationData:
    """Samples for a graph's ``inputs`` from ``path``.

    * .npz: an array for each input under its name, samples along the first axis; ``input`` will do where there is one.
    * .npy: an array for the only input.
    * A folder of .npy: a sample (or several, along the first axis) in each file, in the order of the names; with
      several inputs a folder of the input's name for each.
    * A folder of images: a sample each, as ``images`` says; needs Pillow.

    Raises ``BAD_INPUT`` that names the tensor or the file where data are missing, empty, or of another shape or type,
    or hold NaN or infinity.
    """
    arrays = _folder(path, inputs, images) if path.is_dir() else read_arrays(path)
    samples = match_samples(arrays, inputs, ())
    samples.require_finite()
    return CalibrationData(samples, {name: a for name, a in arrays.items() if a.shape[:1] == (samples.count,)})


def _folder(path: Path, inputs: Sequence[Value], images: ImageOptions) -> dict[str, np.ndarray]:
    parts = {value.name: path / value.name for value in inputs}
    if any(part.is_dir() for part in parts.values()):
        return {name: _files(part, _named(inputs, name), images) for name, part in parts.items()}
    if len(inputs) != 1:
        names = ", ".join(value.name for value in inputs)
        raise _bad(f"the model has several inputs ({names}); the folder needs a folder for each", str(path))
    return {inputs[0].name: _files(path, inputs[0], images)}


def _named(inputs: Sequence[Value], name: str) -> Value:
    return next(value for value in inputs if value.name == name)


def _files(folder: Path, value: Value, images: ImageOptions) -> np.ndarray:
    """All samples of one input, one file after the other."""
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    arrays = [file for file in names if file.suffix.lower() == ".npy"]
    pictures = [file for file in names if file.suffix.lower() in SUFFIXES]
    if bool(arrays) == bool(pictures):
        kinds = f".npy or of images ({', '.join(sorted(SUFFIXES))})"
        reason = "has both arrays and images" if arrays else "has no samples"
        raise _bad(f"the folder {folder} {reason}; expected are files of {kinds}", value.name)
    parts = [_samples(file, value) for file in arrays] or [read_image(file, value, images) for file in pictures]
    return np.concatenate(parts)


def _samples(file: Path, value: Value) -> np.ndarray:
    """``[count, *shape]`` from one .npy."""
    try:
        samples = match_samples(read_arrays(file), [value], ())
    except CcmlError as problem:
        raise CcmlError(problem.kind, f"{file.name}: {problem.reason}", loc=value.name, hint=problem.hint) from problem
    return samples.inputs[value.name]


def _bad(reason: str, loc: str) -> CcmlError:
    return CcmlError(ErrorCode.BAD_INPUT, reason, loc=loc)
