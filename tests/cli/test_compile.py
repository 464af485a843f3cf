"""``ccml compile``: which files it writes, what it prints, and what it refuses."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from onnx import helper

from tests.cli.command_line import DIGITS, ccml, files_in, save_model, small_model
from tests.integerize.test_coverage import OPERATORS, Qdq
from tests.tools import needs

C_FILES = {"Makefile", "relu.c", "relu.h", "relu_internal.h", "relu_runtime.h", "relu_weights.c"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small_model(tmp_path / "relu.onnx")


def test_default_output_for_a_microcontroller(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = ccml("compile", model, "--target", "arm")
    assert result.exit_code == 0, result.stderr
    assert files_in(tmp_path / "relu_cortex-m4") == C_FILES | {"librelu.a", "report.json"}
    assert "cortex-m4" in result.stdout
    assert "compiled in" in result.stderr


@needs("gcc")
def test_a_hosted_target_has_a_shared_library(model: Path, tmp_path: Path) -> None:
    assert ccml("compile", model, "--target", "x86", "-o", tmp_path / "out").exit_code == 0
    assert files_in(tmp_path / "out") == C_FILES | {"librelu.a", "librelu.so", "report.json"}


@needs("gcc")
def test_numbers_of_flash_are_of_what_they_say(tmp_path: Path) -> None:
    """Of a library for several CPUs weights and code are those of one; else they are what flash is made of."""
    facts = []
    for cpu in ((), ("--cpu", "x86-64-v3")):
        result = ccml("compile", DIGITS, "--target", "x86", *cpu, "-o", tmp_path / f"out{len(cpu)}")
        facts.append([line.split() for line in result.stdout.splitlines() if "bytes" in line])
    several, one = ({line[0]: line[1:] for line in lines} for lines in facts)
    levels = json.loads((tmp_path / "out0" / "report.json").read_text())["levels"]
    assert " ".join(several["flash"]).endswith(f"for {len(levels)} CPUs") and len(levels) > 1
    own = " ".join(several["x86-64-v3"])
    assert own.split(",")[:2] == " ".join(one["flash"][one["flash"].index("weights") :]).split(",")[:2]
    (level,) = (level for level in levels if level["cpu"] == "x86-64-v3")
    assert f"code {level['code_bytes']:,} bytes" in own


def test_where_one_cpu_gains_all_its_flash_is_that_of_one(model: Path, tmp_path: Path) -> None:
    result = ccml("compile", model, "--target", "linux-arm64", "--emit", "lib", "-o", tmp_path / "out")
    assert len(json.loads((tmp_path / "out" / "report.json").read_text())["levels"]) == 1
    assert "CPUs" not in result.stdout


@pytest.mark.parametrize(
    ("kinds", "files"),
    [
        ("c", C_FILES),
        ("obj", {"relu.h", "relu.o"}),
        ("lib", {"relu.h", "librelu.a"}),
        ("asm", {"relu.h", "relu.s"}),
        ("llvm", {"relu.h", "relu.ll"}),
        ("obj, asm", {"relu.h", "relu.o", "relu.s"}),
    ],
)
def test_emit(model: Path, tmp_path: Path, kinds: str, files: set[str]) -> None:
    result = ccml("compile", model, "--target", "arm", "-o", tmp_path / "out", "--emit", kinds)
    assert result.exit_code == 0, result.stderr
    assert files_in(tmp_path / "out") == files | {"report.json"}


def test_name_is_the_prefix_of_files_and_symbols(model: Path, tmp_path: Path) -> None:
    assert ccml("compile", model, "--target", "arm", "-o", tmp_path / "out", "--name", "wake_word").exit_code == 0
    assert "wake_word_run(" in (tmp_path / "out" / "wake_word.h").read_text()


@needs("ld.lld")
def test_all_abis_of_android(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = ccml("compile", model, "--target", "android", "--abi", "all", "--emit", "lib", "-o", out)
    assert result.exit_code == 0, result.stderr
    abis = ("arm64-v8a", "armeabi-v7a", "x86_64", "x86")
    each = {"librelu.a", "librelu.so", "relu.h", "report.json"}
    assert files_in(out) == {f"{abi}/{name}" for abi in abis for name in each} | {"report.json"}
    index = json.loads((out / "report.json").read_text())
    assert index["reports"] == {abi: f"{abi}/report.json" for abi in abis}


def test_two_compilations_give_the_same_bytes(model: Path, tmp_path: Path) -> None:
    def compiled(folder: str) -> dict[str, bytes]:
        (tmp_path / folder).mkdir()
        copy = tmp_path / folder / "relu.onnx"
        copy.write_bytes(model.read_bytes())
        out = tmp_path / folder / "out"
        assert ccml("compile", copy, "--target", "arm", "-o", out, "--emit", "c,lib,obj,asm,llvm").exit_code == 0
        return {name: (out / name).read_bytes() for name in files_in(out)}

    assert compiled("first") == compiled("second")


def test_nothing_written_tells_where_it_was_made(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert ccml("compile", model, "--target", "arm", "-o", out, "--emit", "c,lib,obj,asm,llvm").exit_code == 0
    for name in files_in(out):
        assert str(tmp_path).encode() not in (out / name).read_bytes(), name


def test_files_of_an_earlier_compilation_go_and_others_stay(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert ccml("compile", model, "--target", "arm", "-o", out, "--emit", "c,asm").exit_code == 0
    (out / "main.c").write_text("int main(void) { return 0; }\n")
    assert ccml("compile", model, "--target", "arm", "-o", out, "--emit", "c").exit_code == 0
    assert files_in(out) == C_FILES | {"report.json", "main.c"}


def test_json_is_the_report(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = ccml("compile", model, "--target", "arm", "-o", out, "--json")
    assert result.stdout == (out / "report.json").read_text()
    listed = {entry["path"]: entry for entry in json.loads(result.stdout)["files"]}
    assert set(listed) == files_in(out) - {"report.json"}
    for name, entry in listed.items():
        content = (out / name).read_bytes()
        assert (entry["bytes"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


def test_dump_ir(model: Path, tmp_path: Path) -> None:
    dump = tmp_path / "ir"
    assert ccml("compile", model, "--target", "arm", "-o", tmp_path / "out", "--dump-ir", dump).exit_code == 0
    names = sorted(path.name for path in dump.iterdir())
    assert names[0] == "00-import.ccml"
    assert names[-1].endswith("-share-cortex-m4-eabihf.ccml")
    assert (dump / names[0]).read_text().startswith("graph relu(")
    assert (dump / names[-1]).read_text().startswith("program relu for cortex-m4")


def test_each_abi_has_the_bytes_that_its_instructions_take(tmp_path: Path) -> None:
    """Of one target with two architectures: x64 multiplies unsigned bytes, arm64 signed ones."""
    q = Qdq("int8")
    onnx.save(q.model(OPERATORS["Conv"](q)), tmp_path / "conv.onnx")
    words = ("-t", "windows", "--abi", "all", "--emit", "c")
    found = ccml("compile", tmp_path / "conv.onnx", *words, "-o", tmp_path / "out")
    assert found.exit_code == 0, found.stderr
    for abi, activations in (("x64", "u8"), ("arm64", "i8")):
        layers = json.loads((tmp_path / "out" / abi / "report.json").read_text())["layers"]
        assert layers[0]["dtype"] == activations


def test_without_a_linker_the_static_library_is_still_there(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_linker(*_: object, **__: object) -> None:
        raise CcmlError(ErrorCode.TOOLCHAIN, "no linker", hint="install one")

    monkeypatch.setattr("ccml.artifact.emit.link_library", no_linker)
    out = tmp_path / "out"
    result = ccml("compile", model, "--target", "x86", "-o", out)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: librelu.so is not written: no linker; install one\n")
    assert files_in(out) == C_FILES | {"librelu.a", "report.json"}

    alone = ccml("compile", model, "--target", "x86", "-o", tmp_path / "alone", "--emit", "lib")
    assert alone.exit_code == 6
    assert "[E601] no linker\n  hint: install one" in alone.stderr
    assert not (tmp_path / "alone").exists()


# ---------------------------------------------------------------- what is refused


def refused(*args: object) -> tuple[int, str]:
    result = ccml("compile", *args)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    return result.exit_code, result.stderr


def test_missing_file(tmp_path: Path) -> None:
    code, text = refused(tmp_path / "no.onnx", "--target", "arm")
    assert (code, "[E101]" in text, "no.onnx" in text) == (1, True, True)


def test_a_folder(tmp_path: Path) -> None:
    code, text = refused(tmp_path, "--target", "arm")
    assert (code, "[E101]" in text) == (1, True)


@pytest.mark.parametrize("content", [b"", b"# readme\n", b"PK\3\4" + bytes(100), DIGITS.read_bytes()[:5000]])
def test_no_onnx_or_a_truncated_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "relu.onnx"
    path.write_bytes(content)
    code, text = refused(path, "--target", "arm", "-o", tmp_path / "out")
    assert (code, "[E101]" in text) == (1, True)
    assert not (tmp_path / "out").exists()


def test_missing_external_data(tmp_path: Path) -> None:
    path = save_model(tmp_path / "relu.onnx", helper.make_node("Add", ["x", "w"], ["y"]), w=np.ones((2, 3), np.float32))
    model = onnx.load(path)
    onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert ccml("compile", path, "--target", "arm", "-o", tmp_path / "out").exit_code == 0
    (tmp_path / "w.bin").unlink()
    code, text = refused(path, "--target", "arm", "-o", tmp_path / "out")
    assert (code, "[E103]" in text, "w.bin" in text) == (1, True, True)


def test_unbound_dimension_shows_the_options(tmp_path: Path) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    path = save_model(tmp_path / "relu.onnx", relu, shape=("batch", "seq"))
    code, text = refused(path, "--target", "arm")
    assert (code, "[E104]" in text, "--dim batch=1 --dim seq=1" in text) == (2, True, True)
    assert ccml("compile", path, "--target", "arm", "--dim", "seq=2", "-o", tmp_path / "a").exit_code == 0
    assert ccml("compile", path, "--target", "arm", "--shape", "x=2,4", "-o", tmp_path / "b").exit_code == 0


def test_all_unsupported_operators_are_named(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Strange", ["x"], ["a"], "first", domain="my.ops"),
        helper.make_node("Odd", ["a"], ["y"], "second", domain="my.ops"),
    ]
    code, text = refused(save_model(tmp_path / "relu.onnx", *nodes), "--target", "arm")
    assert code == 3
    for part in ("[E105]", "my.ops.Strange", "first", "my.ops.Odd", "second"):
        assert part in text


def test_output_is_a_file(model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    code, text = refused(model, "--target", "arm", "-o", tmp_path / "out")
    assert (code, "[E204]" in text, "it is not a folder" in text) == (1, True, True)
    assert (tmp_path / "out").read_text() == "mine"


def test_a_file_of_somebody_else_is_not_overwritten(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "Makefile").write_text("all:\n")
    code, text = refused(model, "--target", "arm", "-o", out)
    assert (code, "[E204]" in text, "Makefile" in text) == (1, True, True)
    assert files_in(out) == {"Makefile"}
    assert (out / "Makefile").read_text() == "all:\n"


@pytest.mark.parametrize(
    ("options", "code", "parts"),
    [
        (("--target", "vax"), "[E202]", ("vax", "cortex-m4", "ccml targets")),
        (("--target", "android", "--abi", "mips"), "[E202]", ("mips", "arm64-v8a")),
        (("--target", "x86", "--cpu", "z80"), "[E202]", ("z80", "x86-64-v3")),
        (("--target", "arm", "--cpu", "native"), "[E202]", ("native",)),
        (("--target", "arm", "--dim", "n"), "", ("--dim", "batch=1")),
        (("--target", "arm", "--dim", "n=0"), "", ("--dim",)),
        (("--target", "arm", "--dim", "n=4"), "[E203]", ("n",)),
        (("--target", "arm", "--shape", "x=2,b"), "", ("--shape", "x=2,b")),
        (("--target", "arm", "--shape", "x=3,3"), "[E203]", ("x",)),
        (("--target", "arm", "--emit", "elf"), "", ("--emit", "elf")),
        (("--target", "arm", "--name", "two words"), "[E203]", ("two_words",)),
        (("--target", "arm", "--name", "math"), "[E203]", ("math_model",)),
        ((), "", ("--target",)),
    ],
)
def test_bad_options_are_usage_errors(model: Path, options: tuple[str, ...], code: str, parts: tuple[str, ...]) -> None:
    exit_code, text = refused(model, *options)
    assert exit_code == 2
    for part in (code, *parts):
        assert part in text


def test_a_limit_on_ram_that_cannot_be_kept(tmp_path: Path) -> None:
    result = ccml("compile", DIGITS, "--target", "arm", "-o", tmp_path / "out", "--max-ram", "1KB")
    assert result.exit_code == 5
    assert isinstance(result.exception, SystemExit)
    assert "bytes of RAM" in result.stderr
    assert "1,000 are allowed" in result.stderr
    assert "tensors at the peak" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("limit", ["1MiB", "1048576", "1000KB"])
def test_a_limit_on_ram_that_is_kept(model: Path, tmp_path: Path, limit: str) -> None:
    result = ccml("compile", model, "--target", "arm", "-o", tmp_path / "out", "--max-ram", limit, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["options"]["max_ram"] in (1 << 20, 1_000_000)


def test_a_limit_is_a_number_of_bytes(model: Path) -> None:
    result = ccml("compile", model, "--target", "arm", "--max-ram", "lots")
    assert result.exit_code == 2
    assert "such as 34000, 34KB or 32KiB" in result.stderr


def convolution(path: Path) -> Path:
    """A layer that is worth Winograd's algorithm on machines with vectors."""
    weights = np.random.default_rng(1).standard_normal((32, 32, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], "m",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 32, 16, 16])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 32, 16, 16])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.mark.parametrize("how", ["default", "option", "file"])
def test_exact_sums(tmp_path: Path, how: str) -> None:
    file, out = convolution(tmp_path / "relu.onnx"), tmp_path / "out"
    (tmp_path / "project.toml").write_text("[model]\nexact = true\n")
    options = {"default": (), "option": ("--exact",), "file": ("--config", tmp_path / "project.toml")}[how]
    assert ccml("compile", file, "--target", "x86", "--emit", "obj", "-o", out, *options).exit_code == 0
    report = json.loads((out / "report.json").read_text())
    (layer,) = (row for row in report["layers"] if row["macs"])
    assert report["options"]["exact"] is (how != "default")
    assert layer["generator"] == ("winograd F(4x4,3x3)" if how == "default" else "contraction")


def test_other_ways_of_summing_are_within_the_tolerance_of_verify(tmp_path: Path) -> None:
    file = convolution(tmp_path / "relu.onnx")
    for options in ((), ("--exact",)):
        result = ccml("verify", file, "--tolerance", "1e-6", *options)
        assert result.exit_code == 0, result.stderr
