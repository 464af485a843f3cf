"""Models of one library whose images come by rows: what each computes of the whole image alone."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.artifact.link import link_models, write_library
from ccml.driver import lower, read, run_passes
from ccml.emulation import Build, build_and_run
from ccml.targets import Machine

from tests.artifacts.built import SANITIZED
from tests.artifacts.commands import run
from tests.artifacts.machines import M4, V3, machine_id, runs_here
from tests.cli.command_line import ccml as command
from tests.rows.networks import save_image
from tests.tools import needs

SECTIONS = Build(flags=("-ffunction-sections", "-Wl,--gc-sections"))


@pytest.mark.parametrize("kind", [ccml.Emit.C, ccml.Emit.LIBRARY], ids=["c", "llvm"])
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(V3, marks=[needs("gcc"), runs_here(V3)]),
        pytest.param(M4, marks=needs("arm-none-eabi-gcc", "qemu-system-arm")),
    ],
    ids=machine_id,
)
def test_two_models_by_rows_and_one_of_arrays(machine: Machine, kind: ccml.Emit, tmp_path: Path) -> None:
    """Equal code fetches rows for the first two, whose structures have different names."""
    rows = {"near": ("",), "far": ("",), "still": ()}
    sources = [
        read(save_image(tmp_path / f"{name}.onnx", height), ccml.ModelOptions(rows=own))
        for (name, own), height in zip(rows.items(), (12, 12, 14), strict=True)
    ]
    compiled = [lower(source, run_passes(source, None, machine), machine, shared=False) for source in sources]
    linked = link_models("cams", compiled)
    out = tmp_path / "out"
    write_library(linked, compiled, (kind,), out)
    files = sorted(path for path in out.iterdir() if path.suffix in (".c", ".a"))
    how = SECTIONS if machine is M4 else SANITIZED if kind is ccml.Emit.C else Build()
    for source, program in zip(sources, linked.models, strict=True):
        (shape,) = (value.shape for value in source.graph.inputs)
        feed = {"image": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
        (found,) = build_and_run(program, machine, files, [feed], include=out, how=how)
        np.testing.assert_allclose(found["scores"], ccml.load(source.path).run(feed)["scores"], rtol=1e-4, atol=1e-5)


@needs("make", "gcc")
def test_the_command_and_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("near", "far"):
        save_image(tmp_path / f"{name}.onnx")
    monkeypatch.chdir(tmp_path)
    done = command("link", "near.onnx", "far.onnx", "-t", "x86", "-o", "both", "-i", "near=rows", "--package", "make",
                   "--bindings", "cpp")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "const near_rows *image" in (tmp_path / "both" / "near.h").read_text()
    assert "const float *image" in (tmp_path / "both" / "far.h").read_text()
    assert "all results are right" in run("make", "-C", tmp_path / "both" / "make" / "near_far", "run")
    (tmp_path / "ccml.toml").write_text(
        '[models.near]\nfile = "near.onnx"\n[models.far]\nfile = "far.onnx"\nrows = ["image"]\n'
    )
    done = command("link", "-t", "x86", "-o", "one", "--emit", "c")
    assert done.exit_code == 0, done.stderr
    assert "const float *image" in (tmp_path / "one" / "near.h").read_text()
    assert "const far_rows *image" in (tmp_path / "one" / "far.h").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("-i", "middle=rows"), "'middle=rows' is not [MODEL=]rows; models: near, far"),
        (("-i", "samples.npz"), "'samples.npz' is not [MODEL=]rows"),
        (("-i", "rows", "--slices"), "--input rows with --slices"),
        (("-i", "rows", "--threads", "2"), "--input rows with --threads"),
        (("-i", "rows", "--bindings", "rust"), "--input rows with --bindings rust"),
    ],
)
def test_what_does_not_go(more: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("near", "far"):
        save_image(tmp_path / f"{name}.onnx")
    monkeypatch.chdir(tmp_path)
    done = command("link", "near.onnx", "far.onnx", "-t", "x86", "-o", "out", *more)
    assert done.exit_code != 0 and said in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()
