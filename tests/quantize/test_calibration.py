"""Calibration data from files, and how wrong ones are refused."""

from pathlib import Path

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import Value
from ccml.ir.types import DType, TensorType
from ccml.quantization.calibration import Sample, read_calibration, stacked_samples
from ccml.quantization.images import ImageOptions

X = Value("x", TensorType(DType.F32, (1, 4)))
STATE = Value("state", TensorType(DType.F32, (2, 3)))
DATA = np.arange(12, dtype=np.float32).reshape(3, 4)


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def refused(path: Path, *inputs: Value, images: ImageOptions | None = None) -> CcmlError:
    with pytest.raises(CcmlError) as error:
        read_calibration(path, inputs or (X,), images or ImageOptions())
    return error.value


@pytest.mark.parametrize("key", ["x", "input", "in:x"])
def test_npz(tmp_path: Path, key: str) -> None:
    data = read_calibration(saved(tmp_path / "d.npz", **{key: DATA, "label": np.arange(3)}), [X])
    assert data.samples.count == 3
    assert np.array_equal(data.samples.inputs["x"], DATA[:, np.newaxis])
    assert data.arrays["label"].tolist() == [0, 1, 2]


def test_npz_of_several_inputs(tmp_path: Path) -> None:
    data = read_calibration(saved(tmp_path / "d.npz", x=DATA, state=np.ones((3, 2, 3), np.float32)), [X, STATE])
    assert {name: array.shape for name, array in data.samples.inputs.items()} == {"x": (3, 1, 4), "state": (3, 2, 3)}


def test_samples_from_python() -> None:
    single = stacked_samples((row for row in DATA), [X])
    assert np.array_equal(single.samples.inputs["x"], DATA[:, np.newaxis])
    named = stacked_samples([{"x": row[np.newaxis], "state": np.ones((2, 3), np.float32)} for row in DATA], [X, STATE])
    assert {name: array.shape for name, array in named.samples.inputs.items()} == {"x": (3, 1, 4), "state": (3, 2, 3)}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no samples"),
        ([DATA[0], DATA[1, :3]], "sample 1 has other inputs or shapes"),
        ([{"x": DATA[0], "y": DATA[0]}, {"x": DATA[1]}], "lack inputs"),
        ([np.full(4, np.nan, np.float32)] * 2, "NaN"),
    ],
)
def test_wrong_samples_from_python(rows: list[Sample], reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        stacked_samples(rows, [X])


def test_npy_and_folders_of_them(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", DATA)
    folder = tmp_path / "samples"
    folder.mkdir()
    for number, row in enumerate(DATA):
        np.save(folder / f"{number}.npy", row[np.newaxis])
    for path in (tmp_path / "d.npy", folder):
        assert np.array_equal(read_calibration(path, [X]).samples.inputs["x"][:, 0], DATA)


def test_a_folder_for_each_input(tmp_path: Path) -> None:
    for name, shape in (("x", (1, 4)), ("state", (2, 3))):
        (tmp_path / name).mkdir()
        for number in range(2):
            np.save(tmp_path / name / f"{number}.npy", np.full(shape, number, np.float32))
    data = read_calibration(tmp_path, [X, STATE])
    assert data.samples.inputs["state"][:, 0, 0].tolist() == [0.0, 1.0]
    assert "needs a folder for each" in refused(tmp_path / "x", X, STATE).reason


def test_samples_without_the_batch_axis(tmp_path: Path) -> None:
    """An exporter's [1, 4] is often fed with [4]."""
    np.save(tmp_path / "d.npy", DATA[0])
    assert read_calibration(tmp_path / "d.npy", [X]).samples.inputs["x"].shape == (1, 1, 4)
    folder = tmp_path / "samples"
    folder.mkdir()
    for number, row in enumerate(DATA):
        np.save(folder / f"{number}.npy", row)
    assert np.array_equal(read_calibration(folder, [X]).samples.inputs["x"][:, 0], DATA)
    assert "expected shape [2, 3]" in refused(saved(tmp_path / "s.npz", state=np.ones(3, np.float32)), STATE).reason


@pytest.mark.parametrize("inputs", [[X], [X, STATE]], ids=["one", "several"])
def test_folders_of_classes(tmp_path: Path, inputs: list[Value]) -> None:
    """Hidden files and folders, as of editors and operating systems, are no data."""
    for value in inputs:
        root = tmp_path if len(inputs) == 1 else tmp_path / value.name
        for number, name in enumerate(("cat", "dog")):
            (root / name).mkdir(parents=True)
            for index in range(2):
                np.save(root / name / f"{index}.npy", np.full(value.shape, 2 * number + index, np.float32))
        (root / ".cache").mkdir()
        np.save(root / ".cache" / "0.npy", np.zeros(99))
        np.save(root / "cat" / "._0.npy", np.zeros(99))
    data = read_calibration(tmp_path, inputs)
    for value in inputs:
        assert data.samples.inputs[value.name].reshape(4, -1)[:, 0].tolist() == [0, 1, 2, 3]


def test_every_fifth_sample_may_be_kept_back(tmp_path: Path) -> None:
    path = saved(tmp_path / "d.npz", x=np.arange(40, dtype=np.float32).reshape(10, 4), label=np.arange(10))
    calibration, test = read_calibration(path, [X]).split(5)
    assert calibration.arrays["label"].tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert test.arrays["label"].tolist() == [4, 9]
    assert test.samples.count == 2


@pytest.mark.parametrize(
    ("arrays", "part"),
    [
        ({"y": DATA}, "there is no array for this input"),
        ({"x": DATA[:, :3]}, "expected shape [1, 4]"),
        ({"x": DATA.astype(np.float64)}, "expected float32, got float64"),
        ({"x": DATA[:0]}, "no samples"),
        ({"x": np.where(DATA == 5, np.nan, DATA)}, "sample 1 holds NaN"),
        ({"x": np.where(DATA == 9, np.inf, DATA)}, "sample 2 holds NaN or infinite"),
    ],
)
def test_wrong_data_name_the_tensor(tmp_path: Path, arrays: dict[str, np.ndarray], part: str) -> None:
    error = refused(saved(tmp_path / "d.npz", **arrays))
    assert error.kind is ErrorCode.BAD_INPUT
    assert part in error.reason
    assert error.loc == "x" or "no samples" in error.reason


def test_wrong_files_name_the_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.npz").loc == str(tmp_path / "none.npz")
    folder = tmp_path / "empty"
    folder.mkdir()
    assert "has no samples" in refused(folder).reason
    np.save(folder / "a.npy", DATA[0, :3])
    error = refused(folder)
    assert (error.kind, error.loc) == (ErrorCode.BAD_INPUT, "x")
    assert error.reason.startswith("a.npy: expected shape")


# ---------------------------------------------------------------- images

IMAGE = Value("image", TensorType(DType.F32, (1, 3, 2, 5)))


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A red and a blue picture of another size than the input."""
    image = pytest.importorskip("PIL.Image")
    for name, color in (("a", (255, 0, 0)), ("b", (0, 0, 255))):
        image.new("RGB", (8, 8), color).save(tmp_path / f"{name}.png")
    return tmp_path


def test_images_are_scaled_and_normalized(pictures: Path) -> None:
    options = ImageOptions(mean=(127.5,), scale=(127.5,))
    found = read_calibration(pictures, [IMAGE], options).samples.inputs["image"]
    assert found.shape == (2, 1, 3, 2, 5)
    assert found[:, 0, :, 0, 0].tolist() == [[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]]


def test_images_channels_last_in_the_other_order(pictures: Path) -> None:
    last = Value("image", TensorType(DType.F32, (1, 2, 4, 3)))
    found = read_calibration(pictures, [last], ImageOptions(scale=(255.0, 255.0, 85.0), bgr=True)).samples.inputs
    assert found["image"][:, 0, 0, 0].tolist() == [[0.0, 0.0, 3.0], [1.0, 0.0, 0.0]]


def test_integer_inputs_take_pixels(pictures: Path) -> None:
    gray = Value("image", TensorType(DType.U8, (1, 1, 2, 2)))
    found = read_calibration(pictures, [gray]).samples.inputs["image"]
    assert found.dtype == np.uint8
    assert found.reshape(2, 4)[:, 0].tolist() == [76, 29]


def test_images_that_do_not_fit(pictures: Path) -> None:
    ambiguous = Value("image", TensorType(DType.F32, (1, 3, 8, 3)))
    assert "in one layout" in refused(pictures, ambiguous).reason
    assert read_calibration(pictures, [ambiguous], ImageOptions(layout="nhwc")).samples.count == 2
    assert refused(pictures, IMAGE, images=ImageOptions(mean=(1.0, 2.0))).kind is ErrorCode.BAD_OPTION
    (pictures / "c.png").write_bytes(b"no picture")
    error = refused(pictures, IMAGE)
    assert (error.kind, error.loc) == (ErrorCode.BAD_INPUT, "image")
    assert error.reason.startswith("c.png: cannot be read")


def test_wrong_image_options() -> None:
    for wrong in ({"scale": (0.0,)}, {"layout": "hwc"}):
        with pytest.raises(CcmlError) as error:
            ImageOptions(**wrong)  # type: ignore[arg-type]
        assert error.value.kind is ErrorCode.BAD_OPTION
