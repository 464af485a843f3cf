"""Several models in one output folder: nothing of one is lost or hidden when another is compiled, and all build."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from onnx import TensorProto, helper, numpy_helper, save

from tests.tools import needs

SIZE = 6
MAIN = """
#include <stdio.h>
#include "add.h"
#include "mul.h"

int main(void)
{
    static _Alignas(64) unsigned char arena[ADD_ARENA_SIZE + MUL_ARENA_SIZE + 1];
    const float x[ADD_X_ELEMENTS] = {1, 2, 3, 4, 5, 6};
    float sum[ADD_Y_ELEMENTS], product[MUL_Y_ELEMENTS];
    if (add_run(arena, x, sum) || mul_run(arena, x, product))
        return 1;
    for (int i = 0; i < ADD_Y_ELEMENTS; i++)
        printf("%g %g\\n", (double)sum[i], (double)product[i]);
    return 0;
}
"""


def model(folder: Path, op: str) -> Path:
    """``y = x op w`` with w = 0, 1, 2, ..., as ``add.onnx`` or ``mul.onnx``."""
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [SIZE]) for name in "xy"]
    weights = numpy_helper.from_array(np.arange(SIZE, dtype=np.float32), "w")
    graph = helper.make_graph([helper.make_node(op, ["x", "w"], ["y"])], "g", sides[:1], sides[1:], [weights])
    path = folder / f"{op.lower()}.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(folder: Path) -> set[str]:
    return set(tree(folder))


def own(name: str, *kinds: str) -> set[str]:
    stems = {"c": ["{}.c", "{}_weights.c", "{}_internal.h", "{}_runtime.h"], "lib": ["lib{}.a"], "so": ["lib{}.so"]}
    return {stem.format(name) for kind in kinds for stem in stems[kind]} | {f"{name}.h"}


def test_the_first_model_stays_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ccml.compile(model(tmp_path, "Add"), "arm", out)
    before = tree(out)
    result = ccml.compile(model(tmp_path, "Mul"), "arm", out)
    shared = {"Makefile", "report.json", "add.mk", "mul.mk", "add_report.json", "mul_report.json"}
    assert names(out) == own("add", "c", "lib") | own("mul", "c", "lib") | shared
    assert {name: tree(out)[name] for name in own("add", "c", "lib")} == {
        name: before[name] for name in own("add", "c", "lib")
    }
    assert (out / "add.mk").read_bytes() == before["Makefile"]
    first, second = (json.loads((out / f"{name}_report.json").read_text()) for name in ("add", "mul"))
    alone = json.loads(before["report.json"])
    assert {**first, "files": None} == {**alone, "files": None}
    assert {file["path"] for file in first["files"]} == own("add", "c", "lib") | {"add.mk"}
    assert (out / "mul_report.json").read_text() == result.artifacts[0].report.to_json()
    assert second["model"]["name"] == "mul"
    index = json.loads((out / "report.json").read_text())
    assert index["models"] == {"add": "add_report.json", "mul": "mul_report.json"}
    assert {file["path"] for file in index["files"]} == names(out) - {"report.json"}


def test_compiling_one_again_replaces_its_files_alone(tmp_path: Path) -> None:
    out, add = tmp_path / "out", model(tmp_path, "Add")
    ccml.compile(add, "arm", out)
    ccml.compile(model(tmp_path, "Mul"), "arm", out)
    before = tree(out)
    ccml.compile(add, "arm", out)
    assert tree(out) == before
    ccml.compile(add, "arm", out, emit=["lib"])
    assert names(out) == own("add", "lib") | own("mul", "c", "lib") | {
        "Makefile", "report.json", "mul.mk", "add_report.json", "mul_report.json",
    }  # fmt: skip
    assert {name: tree(out)[name] for name in own("mul", "c", "lib")} == {
        name: before[name] for name in own("mul", "c", "lib")
    }


def test_the_order_does_not_matter(tmp_path: Path) -> None:
    add, mul = model(tmp_path, "Add"), model(tmp_path, "Mul")
    for folder, order in (("one", (add, mul)), ("other", (mul, add))):
        for path in order:
            ccml.compile(path, "arm", tmp_path / folder)
    assert tree(tmp_path / "one") == tree(tmp_path / "other")


def test_a_model_that_was_removed_by_hand_is_forgotten(tmp_path: Path) -> None:
    out, mul = tmp_path / "out", model(tmp_path, "Mul")
    ccml.compile(model(tmp_path, "Add"), "arm", out)
    ccml.compile(mul, "arm", out)
    for path in (*out.glob("add*"), out / "libadd.a"):
        path.unlink()
    ccml.compile(mul, "arm", out)
    assert names(out) == own("mul", "c", "lib") | {"Makefile", "report.json"}


@needs("make", "gcc")
@pytest.mark.parametrize("by", ["all", "goals", "sources"])
def test_both_build_and_run(by: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for op in ("Add", "Mul"):
        ccml.compile(model(tmp_path, op), "generic", out, emit=["c"])
    (out / "main.c").write_text(MAIN)
    goals = {"all": [], "goals": ["libadd.a", "mul"]}
    built = ["libadd.a", "libmul.a"]
    if by == "sources":
        built = [path.name for path in out.glob("*.c") if path.name != "main.c"]
    else:
        run(out, "make", "--no-builtin-rules", "CFLAGS=-Werror", *goals[by])
    run(out, "gcc", "-std=c11", "-I.", "main.c", *built, "-o", "main")
    printed = run(out, "./main").split()
    x, w = np.arange(1, SIZE + 1), np.arange(SIZE)
    assert [float(word) for word in printed] == np.stack([x + w, x * w], 1).reshape(-1).tolist()
    if by == "all":
        run(out, "make", "clean")
        assert not {"build", "libadd.a", "libmul.a"} & {path.name for path in out.iterdir()}


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64", "x86")


def test_two_models_for_all_abis(tmp_path: Path) -> None:
    out = tmp_path / "jniLibs"
    for op in ("Add", "Mul"):
        ccml.compile(model(tmp_path, op), "android", out, abi="all", emit=["lib"])
    each = own("add", "lib", "so") | own("mul", "lib", "so") | {"report.json", "add_report.json", "mul_report.json"}
    assert names(out) == {f"{abi}/{name}" for abi in ABIS for name in each} | {"report.json"}
    index = json.loads((out / "report.json").read_text())
    assert index["reports"] == {abi: f"{abi}/report.json" for abi in ABIS}
    assert {file["path"] for file in index["files"]} == names(out) - {"report.json"}


def test_one_abi_after_all_abis(tmp_path: Path) -> None:
    out, add = tmp_path / "jniLibs", model(tmp_path, "Add")
    ccml.compile(add, "android", out, abi="all", emit=["lib"])
    before = tree(out)
    ccml.compile(add, "android", out, abi="arm64-v8a", emit=["lib"])
    assert names(out) == set(before) | own("add", "lib", "so") | {"add_report.json"}
    index = json.loads((out / "report.json").read_text())
    assert index["models"] == {"add": "add_report.json"}
    assert set(index["reports"]) == set(ABIS)
    ccml.compile(add, "android", out, abi="all", emit=["lib"])
    assert {name: tree(out)[name] for name in before if name != "report.json"} == {
        name: content for name, content in before.items() if name != "report.json"
    }
    assert (out / "libadd.so").exists()


def test_all_abis_after_one(tmp_path: Path) -> None:
    out, add = tmp_path / "jniLibs", model(tmp_path, "Add")
    ccml.compile(add, "android", out, abi="arm64-v8a", emit=["c"])
    before = tree(out)
    ccml.compile(model(tmp_path, "Mul"), "android", out, abi="all", emit=["lib"])
    assert names(out) >= own("add", "c") | {"add.mk", "Makefile", "add_report.json", "x86_64/libmul.so"}
    assert (out / "add.mk").read_bytes() == before["Makefile"]


@pytest.mark.parametrize("name", ["ADD", "add_weights", "add_runtime", "add_internal"])
def test_names_that_would_share_files_or_macros_are_refused(name: str, tmp_path: Path) -> None:
    out, add = tmp_path / "out", model(tmp_path, "Add")
    ccml.compile(add, "arm", out, emit=["c"])
    before = tree(out)
    with pytest.raises(CcmlError) as caught:
        ccml.compile(add, "arm", out, emit=["c"], options=ccml.ModelOptions(name=name))
    assert caught.value.kind is ErrorCode.OUTPUT_FOLDER
    assert "'add'" in caught.value.reason
    assert tree(out) == before


@pytest.mark.parametrize("strange", ["add.mk", "add_report.json"])
def test_a_strange_file_in_the_place_of_the_first_model_s_is_not_overwritten(strange: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ccml.compile(model(tmp_path, "Add"), "arm", out)
    (out / strange).write_text("mine")
    before = tree(out)
    with pytest.raises(CcmlError) as caught:
        ccml.compile(model(tmp_path, "Mul"), "arm", out)
    assert caught.value.kind is ErrorCode.OUTPUT_FOLDER
    assert tree(out) == before
