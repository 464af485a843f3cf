"""Arrays for a model's inputs: read from files, matched with the model, cut into samples, or made up."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from math import prod
from pathlib import Path
from typing import IO, Protocol, TypeVar

import numpy as np

from .errors import CcmlError, ErrorCode
from .ir.strings import encoded, is_text
from .ir.types import DType, TensorType
from .record import record

ONLY_INPUT = "input"
"""The name that an array may have where there is one input, whatever the model calls it."""

_IN, _OUT = "in:", "out:"

_Read = TypeVar("_Read")


class Side(Protocol):
    """An input or output: of a program or of a graph."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> TensorType: ...


class Batching(Enum):
    """Where samples stand in the arrays: there is one; along a first axis of their own; in place of a leading 1."""

    NONE = "none"
    ADDED = "added"
    LEADING = "leading"


@record
class Samples:
    """``inputs`` and ``expected`` by tensor name, each ``[count, *shape]``; a shared input is repeated without a copy.

    ``ignored`` are keys of the file that mean nothing here.
    """

    inputs: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]
    count: int
    batching: Batching
    ignored: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        for index in range(self.count):
            yield {name: array[index] for name, array in self.inputs.items()}

    def first(self, count: int) -> Samples:
        """The first ``count`` samples at most."""
        return self.chosen(np.arange(self.count) < count)

    def chosen(self, kept: np.ndarray) -> Samples:
        """The samples for which ``kept`` is true."""
        return self.at(np.flatnonzero(kept))

    def at(self, places: np.ndarray) -> Samples:
        """The samples with these numbers, in this order."""
        inputs = {name: array[places] for name, array in self.inputs.items()}
        expected = {name: array[places] for name, array in self.expected.items()}
        return Samples(inputs, expected, len(places), self.batching, self.ignored)

    def require_finite(self) -> None:
        """Raises ``BAD_INPUT`` that names the tensor and the sample where there is a NaN or an infinity."""
        for name, array in self.inputs.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                bad = next(number for number, sample in enumerate(array) if not np.isfinite(sample).all())
                raise _bad(f"sample {bad} holds NaN or infinite values", name)

    def joined(self, results: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The outputs of all samples as arrays that hold samples like the inputs do."""
        if self.batching is Batching.NONE:
            return dict(results[0])
        for name in results[0]:
            if len({result[name].shape for result in results}) > 1:
                reason = "the samples have results of different shapes"
                raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=name, hint="run them one at a time")
        stacked = {name: np.stack([result[name] for result in results]) for name in results[0]}
        merged = self.batching is Batching.LEADING
        return {
            name: array.reshape(-1, *array.shape[2:]) if merged and array.shape[1:2] == (1,) else array
            for name, array in stacked.items()
        }


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz``; an ``.npy`` is one array under the name ``input``. Raises ``BAD_INPUT``.

    Elements come in this machine's byte order. Nothing is unpickled, and nothing decompressed that is out of all
    proportion to the file.
    """
    return _read(path, _read_array)


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that :func:`read_arrays` reads, without their elements."""
    return _read(path, _read_shape)


def _read(path: Path, read: Callable[[IO[bytes], int], _Read]) -> dict[str, _Read]:
    """What ``read`` makes of each array of a file: a stream and the number of its bytes."""
    try:
        with path.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                stream.seek(0)
                return {ONLY_INPUT: read(stream, path.stat().st_size)}
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > max(_MOST_BYTES, _MOST_PER_BYTE * path.stat().st_size):
                raise _bad("the arrays would take far more memory than the file has bytes", str(path))
            found = {}
            for member in members:
                with archive.open(member) as stream:
                    found[member.filename.removesuffix(".npy")] = read(stream, member.file_size)
            return found
    except CcmlError:
        raise
    except OSError as problem:
        raise _bad(f"cannot read the file: {problem.strerror or problem}", str(path)) from problem
    except Exception as problem:  # damaged archives end in errors of every library that reads a part of them
        what = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
        hint = f"numpy.savez(path, name=array, ...) writes one; this one ends in {what}"
        raise _bad("the file is no .npz or .npy of plain arrays", str(path), hint) from problem


_MOST_BYTES = 1 << 30
_MOST_PER_BYTE = 100
"""What a compressed file may take in memory: so much in any case, or so many bytes for each of its own."""


def _read_shape(stream: IO[bytes], size: int) -> tuple[int, ...]:
    """The shape of an array in NumPy's format, of a stream with ``size`` bytes, which have to be enough."""
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject or prod(shape) * dtype.itemsize > size:
        raise ValueError(f"{dtype}{list(shape)} in {size} bytes")
    return shape


def _read_array(stream: IO[bytes], size: int) -> np.ndarray:
    """An array in NumPy's format, of a stream with ``size`` bytes, which is checked before memory is taken."""
    _read_shape(stream, size)
    stream.seek(0)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    return np.asarray(array, array.dtype.newbyteorder("="))


def match_samples(arrays: Mapping[str, np.ndarray], inputs: Sequence[Side], outputs: Sequence[Side]) -> Samples:
    """Finds the array of every input: under its name, ``in:`` and its name, or ``input`` where there is one input.

    An array is one sample (it has the input's shape, with or without a leading 1), or several: ``[count, *shape]``, or
    the input's shape with another extent in place of a leading 1. Expected outputs stand under ``out:`` and the
    output's name, the name itself, or ``expected`` where there is one output.
    Elements of narrow types, which files do not have, may be the integers with their bits.
    Raises ``BAD_INPUT`` that names the tensor.
    """
    keys = {side.name: _key(arrays, side, inputs) for side in inputs}
    arrays = {**arrays, **{keys[side.name]: _typed(arrays[keys[side.name]], side) for side in inputs}}
    batchings = {side.name: _batching(arrays[keys[side.name]], side) for side in inputs}
    batched = {name: batching for name, batching in batchings.items() if batching is not Batching.NONE}
    counts = {name: len(arrays[keys[name]]) for name in batched}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise _bad(f"the inputs have different numbers of samples: {listed}")
    count = next(iter(counts.values()), 1)
    if count == 0:
        raise _bad("there are no samples: the first axis of the arrays is empty")
    stacked = {side.name: _stacked(arrays[keys[side.name]], side.type, count, side.name in batched) for side in inputs}
    found = {side.name: _expected_key(arrays, side, outputs) for side in outputs}
    expected = {
        side.name: _expected(arrays[key], side, count)
        for side in outputs
        if (key := found[side.name]) is not None and _elements(arrays[key], side) == count * side.type.size
    }
    used = {*keys.values(), *(found[name] for name in expected)}
    ignored = tuple(key for key in arrays if key not in used)
    kinds = set(batched.values())
    batching = Batching.NONE if not kinds else Batching.LEADING if kinds == {Batching.LEADING} else Batching.ADDED
    return Samples(stacked, expected, count, batching, ignored)


def random_samples(inputs: Sequence[Side], count: int = 1, seed: int = 0) -> Samples:
    """Seeded arrays: normally distributed floats, in narrow types their magnitudes; integers 0 or 1; either truth
    value; words."""
    rng = np.random.default_rng(seed)
    arrays = {side.name: _random(rng, (count, *side.type.shape), side.type.dtype) for side in inputs}
    return Samples(arrays, {}, count, Batching.ADDED if count > 1 else Batching.NONE)


def _typed(array: np.ndarray, side: Side) -> np.ndarray:
    """Bytes or integers in place of a narrow type as that type; strings as their bytes."""
    dtype = side.type.dtype
    if dtype is DType.CHAR and is_text(array):
        return encoded(array, side.type.shape[-1], side.name)
    kind, size = array.dtype.kind, array.dtype.itemsize
    return array.view(dtype.numpy) if dtype.is_narrow and kind in "Vui" and size == dtype.size else array


def _elements(array: np.ndarray, side: Side) -> int:
    """How many elements of the side's type the array has."""
    return array.size * side.type.shape[-1] if side.type.dtype is DType.CHAR and is_text(array) else array.size


def _expected(array: np.ndarray, side: Side, count: int) -> np.ndarray:
    """An expected output for each sample; strings stay strings."""
    if side.type.dtype is DType.CHAR and is_text(array):
        return array.reshape(count, *side.type.shape[:-1])
    return _typed(array, side).reshape(count, *side.type.shape)


def plain_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays as a file can hold them: elements of narrow types as the integers with their bits; strings stay."""
    return {
        name: array if is_text(array) else array.view(DType.from_numpy(array.dtype).stored.numpy)
        for name, array in arrays.items()
    }


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    if dtype.is_float:
        return rng.standard_normal(shape).astype(dtype.numpy)
    if dtype is DType.CHAR:
        return _random_words(rng, shape)
    if dtype.is_narrow:
        return np.abs(rng.standard_normal(shape)).astype(dtype.numpy)
    return rng.integers(0, 2, shape).astype(dtype.numpy)


def _random_words(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Words of one to eight small letters."""
    *outer, bound = shape
    letters = rng.integers(ord("a"), ord("z") + 1, shape).astype(np.uint8)
    lengths = rng.integers(1, min(bound, 8) + 1, (*outer, 1))
    return np.where(np.arange(bound) < lengths, letters, np.uint8(0)).view(DType.CHAR.numpy)


def _key(arrays: Mapping[str, np.ndarray], side: Side, inputs: Sequence[Side]) -> str:
    names = {key.removeprefix(_IN): key for key in arrays if not key.startswith(_OUT)}
    key = names.get(side.name)
    if key is None and len(inputs) == 1:
        key = names.get(ONLY_INPUT)
    if key is None:
        hint = f"the inputs are {', '.join(i.name for i in inputs)}; the file has {', '.join(arrays) or 'nothing'}"
        raise _bad("there is no array for this input", side.name, hint)
    return key


def _expected_key(arrays: Mapping[str, np.ndarray], side: Side, outputs: Sequence[Side]) -> str | None:
    names = {key.removeprefix(_OUT): key for key in arrays if not key.startswith(_IN)}
    key = names.get(side.name)
    return names.get("expected") if key is None and len(outputs) == 1 else key


def _batching(array: np.ndarray, side: Side) -> Batching:
    type_ = side.type
    if array.dtype != type_.dtype.numpy:
        hint = f"array.astype('{type_.dtype.numpy}') converts it"
        raise _bad(f"expected {type_.dtype.numpy}, got {array.dtype}", side.name, hint)
    shape = type_.shape
    if array.shape == shape or (shape[:1] == (1,) and array.shape == shape[1:]):
        return Batching.NONE
    if array.ndim and array.shape[1:] == shape:
        return Batching.ADDED
    if array.ndim and array.ndim == len(shape) and shape[0] == 1 and array.shape[1:] == shape[1:]:
        return Batching.LEADING
    raise _bad(
        f"expected shape {list(shape)}, or samples of it along the first axis, got {list(array.shape)}", side.name
    )


def _stacked(array: np.ndarray, type_: TensorType, count: int, batched: bool) -> np.ndarray:
    if batched:
        return array.reshape(count, *type_.shape)
    return np.broadcast_to(array.reshape(type_.shape), (count, *type_.shape))


def _bad(reason: str, loc: str | None = None, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_INPUT, reason, loc=loc, hint=hint)
