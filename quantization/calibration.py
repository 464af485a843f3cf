"""Typical inputs, from files: .npz, .npy, a folder of .npy, a folder of images."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..record import record
from ..samples import Samples, match_samples, read_arrays
from .images import SUFFIXES, ImageOptions, read_image

Sample = np.ndarray | Mapping[str, np.ndarray]
"""One sample of the only input, or of each input by its name."""


@record
class CalibrationData:
    """``samples`` are the model's inputs. ``arrays`` is all that the file has as often: labels, expected outputs.

    ``pictures`` are the inputs that were read from images.
    """

    samples: Samples
    arrays: Mapping[str, np.ndarray]
    pictures: frozenset[str] = frozenset()

    def chosen(self, kept: np.ndarray) -> CalibrationData:
        """The samples for which ``kept`` is true."""
        arrays = {name: array[kept] for name, array in self.arrays.items()}
        return CalibrationData(self.samples.chosen(kept), arrays, self.pictures)

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

    Files may also stand in folders inside these, such as one for each class. A sample may lack the input's leading 1.

    Raises ``BAD_INPUT`` that names the tensor or the file where data are missing, empty, or of another shape or type,
    or hold NaN or infinity.
    """
    pictures: frozenset[str] = frozenset()
    if path.is_dir():
        folders = _folders(path, inputs)
        arrays = {value.name: _files(folders[value.name], value, images) for value in inputs}
        pictures = frozenset(name for name, folder in folders.items() if _listed(folder, SUFFIXES))
    else:
        arrays = read_arrays(path)
    samples = match_samples(arrays, inputs, ())
    samples.require_finite()
    others = {name: array for name, array in arrays.items() if array.shape[:1] == (samples.count,)}
    return CalibrationData(samples, others, pictures)


def stacked_samples(rows: Iterable[Sample], inputs: Sequence[Value]) -> CalibrationData:
    """Samples for a graph's ``inputs`` from Python: each is an array, where there is one input, or arrays by name. All
    are kept. Raises ``BAD_INPUT`` as :func:`read_calibration` does, and for samples of different inputs or shapes."""
    columns: dict[str, list[np.ndarray]] = {}
    number = -1
    for number, row in enumerate(rows):
        named = row if isinstance(row, Mapping) else {inputs[0].name if len(inputs) == 1 else "": row}
        arrays = {name: np.asarray(array) for name, array in named.items()}
        if number and any(name not in columns or columns[name][0].shape != arrays[name].shape for name in arrays):
            raise _bad(f"sample {number} has other inputs or shapes than the samples before", "calibration data")
        for name, array in arrays.items():
            columns.setdefault(name, []).append(array)
    if number < 0 or any(len(column) <= number for column in columns.values()):
        raise _bad("there are no samples" if number < 0 else "samples lack inputs that others have", "calibration data")
    samples = match_samples({name: np.stack(column) for name, column in columns.items()}, inputs, ())
    samples.require_finite()
    return CalibrationData(samples, {})


def _folders(path: Path, inputs: Sequence[Value]) -> dict[str, Path]:
    """The folder of each input."""
    parts = {value.name: path / value.name for value in inputs}
    if any(part.is_dir() for part in parts.values()):
        return parts
    if len(inputs) != 1:
        names = ", ".join(value.name for value in inputs)
        raise _bad(f"the model has several inputs ({names}); the folder needs a folder for each", str(path))
    return {inputs[0].name: path}


def _listed(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """The files of ``folder`` and of the folders in it that have one of ``suffixes``, by path; hidden ones are not."""
    folders = [folder, *(path for path in folder.iterdir() if path.is_dir())] if folder.is_dir() else []
    files = (file for each in folders if each == folder or not each.name.startswith(".") for file in each.iterdir())
    return sorted(f for f in files if f.suffix.lower() in suffixes and not f.name.startswith("."))


def _files(folder: Path, value: Value, images: ImageOptions) -> np.ndarray:
    """All samples of one input, one file after the other."""
    arrays, pictures = _listed(folder, {".npy"}), _listed(folder, SUFFIXES)
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
