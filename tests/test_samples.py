"""Matching arrays with a model's inputs."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.ir.program import Interface
from ccml.ir.types import DType, TensorType
from ccml.samples import Batching, match_samples, plain_arrays, random_samples, read_arrays


def side(name: str, *shape: int, dtype: DType = DType.F32) -> Interface:
    return Interface(name, name, TensorType(dtype, shape), name)


IMAGE = side("image", 1, 8, 8)
STATE = side("state", 2, 4)
RATE = side("rate", dtype=DType.I64)
OUT = side("out", 1, 3)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_samples_stand_in_place_of_a_leading_one() -> None:
    found = match_samples({"image": zeros(5, 8, 8), "out": zeros(5, 3)}, [IMAGE], [OUT])
    assert (found.count, found.batching) == (5, Batching.LEADING)
    assert [inputs["image"].shape for inputs in found] == [(1, 8, 8)] * 5
    assert found.expected["out"].shape == (5, 1, 3)
    joined = found.joined([{"out": zeros(1, 3)}] * 5)
    assert joined["out"].shape == (5, 3)


def test_an_input_without_samples_is_shared() -> None:
    arrays = {"in:state": zeros(7, 2, 4), "in:rate": np.array(16000), "in:image": zeros(7, 1, 8, 8)}
    found = match_samples(arrays, [IMAGE, STATE, RATE], [OUT])
    assert (found.count, found.batching) == (7, Batching.ADDED)
    assert [int(inputs["rate"]) for inputs in found] == [16000] * 7
    assert found.joined([{"out": zeros(1, 3)}] * 7)["out"].shape == (7, 1, 3)


def test_one_sample() -> None:
    found = match_samples({"input": zeros(1, 8, 8)}, [IMAGE], [OUT])
    assert (found.count, found.batching) == (1, Batching.NONE)
    assert found.joined([{"out": zeros(1, 3)}])["out"].shape == (1, 3)


def test_first_samples() -> None:
    found = match_samples({"image": zeros(5, 8, 8), "expected": zeros(5, 3)}, [IMAGE], [OUT]).first(2)
    assert (found.count, len(list(found)), found.expected["out"].shape) == (2, 2, (2, 1, 3))


def test_expected_outputs_that_do_not_fit_are_ignored() -> None:
    found = match_samples({"image": zeros(5, 8, 8), "out": zeros(5, 4), "label": zeros(5)}, [IMAGE], [OUT])
    assert found.expected == {}
    assert found.ignored == ("out", "label")


def test_counts_have_to_agree() -> None:
    with pytest.raises(CcmlError, match="image has 5, state has 3"):
        match_samples({"image": zeros(5, 8, 8), "state": zeros(3, 2, 4)}, [IMAGE, STATE], [OUT])


def test_random_samples_are_seeded_and_typed() -> None:
    inputs = [IMAGE, RATE, side("mask", 4, dtype=DType.BOOL)]
    first, second = (list(random_samples(inputs, 2)) for _ in range(2))
    for lhs, rhs in zip(first, second):
        for interface in inputs:
            assert lhs[interface.name].dtype == interface.type.dtype.numpy
            np.testing.assert_array_equal(lhs[interface.name], rhs[interface.name])
    assert not np.array_equal(first[0]["image"], first[1]["image"])


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def rewritten(path: Path, content: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def stored(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_every_damage_of_an_archive_is_reported(tmp_path: Path, compression: int) -> None:
    """Bits flipped, bytes cut off: a result, or an error for people."""
    whole = rewritten(tmp_path / "a.npz", {"x.npy": stored(zeros(5, 7)), "y.npy": stored(zeros(2))}, compression)
    content, rng = whole.read_bytes(), np.random.default_rng(compression)
    assert read_arrays(whole)["x"].shape == (5, 7)
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
            damaged[place] ^= 1 << int(rng.integers(8))
        if rng.random() < 0.2:
            del damaged[int(rng.integers(len(damaged))) :]
        whole.write_bytes(damaged)
        with suppress(CcmlError):
            read_arrays(whole)


@pytest.mark.parametrize(
    "data",
    [
        stored(np.array([{}, None], object)), b"no array", b"", stored(zeros(3))[:-4],
        stored(zeros(3)).replace(b"(3,)", b"(9999999999999,)"), stored(zeros(3)).replace(b"(3,)", b"((((("),
        stored(zeros(3)).replace(b"<f4", b"<zz"),
    ],
    ids=["objects", "text", "empty", "short", "huge", "syntax", "type"],
)  # fmt: skip
def test_members_that_are_no_arrays(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(data)
    for path in (rewritten(tmp_path / "a.npz", {"x.npy": data}), tmp_path / "a.npy"):
        with pytest.raises(CcmlError, match=r"no \.npz or \.npy of plain arrays"):
            read_arrays(path)


def test_an_encrypted_member(tmp_path: Path) -> None:
    path = rewritten(tmp_path / "a.npz", {"x.npy": stored(zeros(3))})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(CcmlError, match="plain arrays"):
        read_arrays(path)


def test_a_decompression_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccml.samples._MOST_BYTES", 10_000)
    path = rewritten(tmp_path / "a.npz", {"x.npy": stored(zeros(1000, 1000))}, zipfile.ZIP_DEFLATED)
    with pytest.raises(CcmlError, match="more memory than the file has bytes"):
        read_arrays(path)


def test_big_endian_and_scalar_arrays(tmp_path: Path) -> None:
    arrays = read_arrays(saved(tmp_path / "a.npz", x=np.arange(3, dtype=">f4"), rate=np.asarray(5, np.int64)))
    assert arrays["x"].dtype == np.float32 and arrays["x"].tolist() == [0, 1, 2]
    assert arrays["rate"].shape == () and arrays["rate"] == 5


def test_narrow_types_in_files(tmp_path: Path) -> None:
    """NumPy's files know them as raw bytes, or not at all; integers with their bits do as well."""
    narrow = side("x", 2, 3, dtype=DType.BF16)
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    for array in (x, x.view(np.uint16), plain_arrays({"x": x})["x"]):
        samples = match_samples(read_arrays(saved(tmp_path / "a.npz", x=array)), [narrow], [])
        assert samples.inputs["x"].dtype == ml_dtypes.bfloat16 and samples.inputs["x"].tobytes() == x.tobytes()
    for dtype in (dtype for dtype in DType if dtype.is_narrow):
        assert random_samples([side("x", 3, dtype=dtype)]).inputs["x"].dtype == dtype.numpy
