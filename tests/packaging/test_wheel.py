"""What ``pip install`` puts on a machine, and that it compiles a model there."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from ccml import __version__
from ccml.emit_llvm.jit import host_machine

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
NOT_SOURCES = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")


def run(*command: object, cwd: Path) -> str:
    """Runs a command, whose output is shown where it fails; nothing of this process's Python reaches it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the repository is left alone, by way of the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "ccml", ignore=NOT_SOURCES)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, folder / "ccml", cwd=folder)
    (path,) = folder.glob("ccml-*.whl")
    return path


def packages() -> list[Path]:
    """The root and every folder below it that is a package."""
    inner = (path.parent for path in ROOT.rglob("__init__.py"))
    return [path for path in inner if not {".venv", "build", ".git"} & set(path.relative_to(ROOT).parts)]


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    names = {Path(name) for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    metadata = {name for name in names if name.parts[0].endswith(".dist-info")}
    assert any(name.match("licenses/LICENSE") for name in metadata)

    code = names - metadata
    wanted = {path for package in packages() for path in package.glob("*.py")}
    wanted |= {path for path in (ROOT / "runtime_c").iterdir() if path.suffix in (".c", ".h")}
    wanted |= set((ROOT / "emulation" / "c").iterdir())
    wanted.add(ROOT / "py.typed")  # type checkers of programs that use ccml look for it
    assert {Path("ccml", path.relative_to(ROOT)) for path in wanted} <= code

    assert {name.parts[0] for name in code} == {"ccml"}
    folders = {"ccml", *(Path("ccml", package.relative_to(ROOT)).as_posix() for package in packages())}
    strange = {name for name in code if not {parent.as_posix() for parent in name.parents} & folders - {"ccml"}}
    at_root = [*ROOT.glob("*.py"), ROOT / "py.typed"]
    assert {name.as_posix() for name in strange} == {f"ccml/{path.name}" for path in at_root}


@pytest.mark.check
def test_a_clean_environment_compiles_a_model(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    before = {path.name for path in packages.iterdir()}
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=tmp_path)
    info = f"{wheel.name.rpartition('-py3')[0]}.dist-info"
    assert {path.name for path in packages.iterdir()} - before == {"ccml", info}

    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    ccml = environment / "bin" / "ccml"
    assert run(ccml, "--version", cwd=tmp_path).startswith("ccml ")
    summary = run(ccml, "compile", DIGITS, "--target", "arm", cwd=tmp_path)
    assert "1,186,176" in summary
    files = {path.name for path in (tmp_path / "digits_cortex-m4").iterdir()}
    assert {"digits.c", "digits.h", "digits_runtime.h", "libdigits.a", "report.json"} <= files
    assert "logits" in run(ccml, "run", DIGITS, cwd=tmp_path)
    options = ["--cpu", "native", "-o", "host", "--package", "make,cmake", "--bindings", "cpp", "--page", "page.html"]
    run(ccml, "compile", DIGITS, "--target", host_machine().name, *options, cwd=tmp_path)
    assert (tmp_path / "host" / "make" / "digits" / "Makefile").is_file() and (tmp_path / "page.html").is_file()
    assert "%" in run(python, DIGITS.parent / "demo.py", "host", "digits_cortex-m4", cwd=tmp_path)


def test_the_metadata_are_complete(wheel: Path) -> None:
    """The version is that of the package, and whoever looks for it on an index finds what it is."""
    archive = zipfile.ZipFile(wheel)
    (file,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(archive.read(file))
    assert metadata["Version"] == __version__ and metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11" and "# ccml" in metadata.get_payload()
    classifiers = metadata.get_all("Classifier") or []
    wanted = ("Programming Language :: Python :: 3.11", "Operating System :: POSIX :: Linux", "Typing :: Typed")
    assert set(wanted) <= set(classifiers)
    extras = set(metadata.get_all("Provides-Extra") or [])
    assert {"image", "tflite", "zig"} <= extras


def test_no_folder_hides_a_distribution_that_tools_import() -> None:
    """With the root of the repository as the current folder, ``python -m build`` and others find their own modules."""
    top = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {path.stem for path in ROOT.glob("*.py")}
    installed = {name for name in packages_distributions() if name != "tests"}
    assert not (top - {"__init__", "__main__"}) & installed
