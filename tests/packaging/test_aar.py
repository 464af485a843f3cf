"""Android libraries: what is in them, and their code where it can run: the class on this machine's virtual machine, the
native methods of every ABI as such a machine calls them, what C programs link."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import ccml
import numpy as np
import pytest
from ccml.emulation.platforms import compiler_of, is_native, loadable, run_command
from ccml.packages.java.glue import glue_object
from ccml.targets import Machine, find, select
from elftools.elf.elffile import ELFFile
from onnx import save

from tests.cli.command_line import ccml as command
from tests.models import models_dir, needs_models
from tests.packaging.odd_models import ODD_MODELS
from tests.packaging.packages import HOSTILE_OUTPUT, STUBS, write_model
from tests.packaging.run import run
from tests.tools import needs

pytestmark = needs("javac", "ld.lld")

HARNESS = Path(__file__).parent / "jni" / "harness.c"
ABIS = [abi.name for abi in find("android").abis]  # type: ignore[union-attr]
SIZES = (48, 20, 8)
"""Bytes of the tensors of the model."""
FEATURES = np.random.default_rng(3).standard_normal((1, 12)).astype(np.float32)
_TOOLS = {
    "arm64-v8a": ("aarch64-linux-gnu-gcc", "qemu-aarch64"), "armeabi-v7a": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
    "x86_64": ("gcc",), "x86": ("i686-linux-gnu-gcc", "qemu-i386"),
}  # fmt: skip
each_abi = pytest.mark.parametrize("abi", [pytest.param(abi, marks=needs(*_TOOLS[abi])) for abi in ABIS])


@dataclass(frozen=True)
class Library:
    """The package of the model ``net`` with code for every CPU, and what its archive holds."""

    folder: Path
    files: dict[str, bytes]
    outputs: dict[str, np.ndarray]

    def digest(self, folder: Path) -> int:
        """What the class asks its library for: the only long integer in it."""
        (folder / "Net.class").write_bytes(unpacked(self.files["classes.jar"])["ccml/net/Net.class"])
        (found,) = re.findall(r"= Long +(-?\d+)l", run("javap", "-v", "-p", folder / "Net.class", cwd=folder))
        return int(found)

    @property
    def model(self) -> Path:
        return self.folder.parents[2] / "net.onnx"

    def library(self, abi: str, folder: Path) -> Path:
        """That of an ABI as a file that a program for Linux loads."""
        path = folder / "libnet_jni.so"
        path.write_bytes(loadable(machine_of(abi), self.files[f"jni/{abi}/libnet_jni.so"]))
        return path


def machine_of(abi: str) -> Machine:
    return select("android", abi)


def unpacked(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as content:
        assert content.testzip() is None
        return {name: content.read(name) for name in content.namelist()}


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("aar")
    write_model(folder / "net.onnx")
    np.savez(folder / "sample.npz", input=FEATURES)
    done = command("compile", folder / "net.onnx", "-t", "android", "--package", "aar", "--cpu", "all",
                   "--input", folder / "sample.npz", "-o", folder / "out")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    root = folder / "out" / "aar" / "net"
    outputs = ccml.load(folder / "net.onnx").run(FEATURES)
    return Library(root, unpacked((root / "net.aar").read_bytes()), outputs)


def test_what_an_archive_holds(net: Library) -> None:
    """By Android's description of the format (AAR file contents)."""
    assert list(net.files)[:4] == ["AndroidManifest.xml", "classes.jar", "R.txt", "proguard.txt"]
    manifest = ElementTree.fromstring(net.files["AndroidManifest.xml"])
    assert manifest.get("package") == "ccml.net"
    (sdk,) = manifest
    assert sdk.get("{http://schemas.android.com/apk/res/android}minSdkVersion") == "21"
    assert {name for name in net.files if name.startswith("jni/")} == {f"jni/{abi}/libnet_jni.so" for abi in ABIS}
    assert list(unpacked(net.files["classes.jar"])) == ["ccml/net/Net.class"]
    assert unpacked(net.files["classes.jar"])["ccml/net/Net.class"][4:8] == bytes([0, 0, 0, 52]), "of Java 8"
    rules = net.files["proguard.txt"].decode()
    assert "class ccml.net.Net {" in rules and "native <methods>;" in rules


@pytest.mark.parametrize("abi", ABIS)
def test_libraries_for_a_loader(net: Library, abi: str) -> None:
    elf = ELFFile(io.BytesIO(net.files[f"jni/{abi}/libnet_jni.so"]))
    loaded = [segment for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD"]
    assert {segment["p_align"] for segment in loaded} == {16 << 10}
    assert elf.get_section_by_name(".symtab") is None and elf.get_section_by_name(".note.gnu.build-id") is not None
    symbols = list(elf.get_section_by_name(".dynsym").iter_symbols())[1:]
    defined = {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}
    assert defined == {"net_run", "net_model_id", "Java_ccml_net_Net_nativeBytes", "Java_ccml_net_Net_nativeRun"}
    assert {symbol.name for symbol in symbols} == defined
    tags = list(elf.get_section_by_name(".dynamic").iter_tags())
    assert not any(tag.entry.d_tag == "DT_NEEDED" for tag in tags)
    assert not any(tag.entry.d_tag == "DT_TEXTREL" for tag in tags)


def test_prefab_as_its_schema_says(net: Library) -> None:
    """https://google.github.io/prefab, schema 2."""
    files = {name.removeprefix("prefab/"): net.files[name] for name in net.files if name.startswith("prefab/")}
    package = json.loads(files.pop("prefab.json"))
    assert package == {"schema_version": 2, "name": "net", "version": "1.0.0", "dependencies": []}
    module = json.loads(files.pop("modules/net/module.json"))
    assert module == {"export_libraries": ["-ldl"], "library_name": "libnet", "android": {}}
    for abi in ABIS:
        folder = f"modules/net/libs/android.{abi}"
        about = json.loads(files.pop(f"{folder}/abi.json"))
        assert about == {"abi": abi, "api": 21, "ndk": 21, "stl": "none", "static": True}
        assert f"for android ({abi}," in files.pop(f"{folder}/include/net.h").decode()
        assert b"namespace net" in files.pop(f"{folder}/include/net.hpp")
        assert files.pop(f"{folder}/libnet.a").startswith(b"!<arch>")
    assert files == {}


# ---------------------------------------------------------------- the class and the app


def run_app(files: dict[str, bytes], root: Path, folder: Path) -> str:
    """What the app in ``root`` shows: the classes and the x86-64 library of the archive, and the app's own sources, on
    this machine's virtual machine; what the app takes of Android is there in name only."""
    (folder / "classes.jar").write_bytes(files["classes.jar"])
    (folder / "libnet_jni.so").write_bytes(files["jni/x86_64/libnet_jni.so"])
    main = root / "example" / "app" / "src" / "main"
    shutil.copytree(main / "assets", folder / "assets", dirs_exist_ok=True)
    for name, content in files.items():
        if name.startswith("assets/"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
    sources = sorted((main / "java").rglob("*.java"))
    assert [path.name for path in sources] == ["Check.java", "MainActivity.java"]
    weights = ", map(folder[0] + ccml.net.Net.weightsAsset())" if (folder / "assets" / "net").is_dir() else ""
    mapping = """static java.nio.ByteBuffer map(String path) throws Exception {
        try (java.io.FileInputStream file = new java.io.FileInputStream(path)) {
            return ccml.net.Net.mapWeights(file.getFD(), 0, file.getChannel().size());
        }
    }"""
    (folder / "Main.java").write_text(
        f"package ccml.net.example;\nclass Main {{ {mapping if weights else ''}\n"
        "public static void main(String[] folder) throws Exception {\n"
        f"System.out.println(Check.run(file -> new java.io.FileInputStream(folder[0] + file){weights})); }} }}\n"
    )
    stubs = sorted((STUBS / "android").rglob("*.java"))
    run("javac", "-Xlint:all", "-Werror", "--release", "8", "-Xlint:-options", "-cp", "classes.jar", "-d", "app",
        "Main.java", *sources, *stubs, cwd=folder)  # fmt: skip
    return run("java", "-Xcheck:jni", f"-Djava.library.path={folder}", "-cp", "classes.jar:app",
               "ccml.net.example.Main", "assets/", cwd=folder)  # fmt: skip


@needs("java", "gcc")
def test_the_class_runs_the_sample_of_the_app(net: Library, tmp_path: Path) -> None:
    said = run_app(net.files, net.folder, tmp_path)
    assert re.fullmatch(r"net: the result is right; a run took \d+\.\d{3} ms\n", said)
    (tmp_path / "assets" / "expected_1.bin").write_bytes(bytes(8))
    said = run("java", f"-Djava.library.path={tmp_path}", "-cp", "classes.jar:app", "ccml.net.example.Main", "assets/",
               cwd=tmp_path)  # fmt: skip
    assert "net: the result is wrong" in said


@needs("java", "gcc")
def test_weights_are_assets(net: Library, tmp_path: Path) -> None:
    """A file for each ABI, which the class tells apart, and which may begin at multiples of 4 as in an archive."""
    options = ccml.ArtifactOptions(external_weights=True)
    ccml.compile(net.model, "android", tmp_path / "out", emit=["c"], packages=["aar"], artifact=options)
    root = tmp_path / "out" / "aar" / "net"
    files = unpacked((root / "net.aar").read_bytes())
    assets = {name: content for name, content in files.items() if name.startswith("assets/")}
    assert list(assets) == [f"assets/net/{abi}.weights" for abi in ABIS]
    assert b"#define NET_WEIGHTS_ALIGN 4\n" in files["prefab/modules/net/libs/android.arm64-v8a/include/net.h"]
    assert "the result is right" in run_app(files, root, tmp_path)
    assert 'noCompress += "weights"' in (root / "example/app/build.gradle.kts").read_text()


def test_the_project_of_the_app_fits_together(net: Library) -> None:
    example = net.folder / "example"
    build = (example / "app" / "build.gradle.kts").read_text()
    (path,) = re.findall(r'implementation\(files\("(.*)"\)\)', build)
    assert (example / "app" / path).resolve() == (net.folder / "net.aar").resolve()
    activity = ElementTree.parse(example / "app/src/main/AndroidManifest.xml").getroot().find("application/activity")
    assert activity is not None
    (name,) = set(activity.attrib.values()) - {"true"}
    (namespace,) = re.findall(r'namespace = "(.*)"', build)
    assert (example / "app/src/main/java" / f"{(namespace + name).replace('.', '/')}.java").is_file()
    assert 'include(":app")' in (example / "settings.gradle.kts").read_text()
    assert "`Net.newBuffer`" in (net.folder / "README.md").read_text()


# ---------------------------------------------------------------- native code under emulation and sanitizers


MISUSE = [
    "no memory -1", "not direct -1", "output not direct -33", "misaligned -2", "last misaligned -34", "overlap -19",
    "same output -35",
]  # fmt: skip


def harness_arguments(digest: int, tmp_path: Path) -> list[str]:
    (tmp_path / "input.bin").write_bytes(FEATURES.tobytes())
    return ["Java_ccml_net_Net", str(digest), str(tmp_path / "input.bin"), *map(str, SIZES)]


def assert_harness(said: str, net: Library) -> None:
    wrong, ran, scores, number, *misuse = said.splitlines()
    assert (wrong, ran) == ("wrong contract -1", "run 0")
    found = np.frombuffer(bytes.fromhex(scores.removeprefix("output ")), np.float32)
    np.testing.assert_allclose(found, net.outputs[HOSTILE_OUTPUT][0], rtol=1e-5)
    assert bytes.fromhex(number.removeprefix("output ")) == net.outputs["class"].tobytes()
    assert misuse == MISUSE


def run_for(abi: str, program: Path, arguments: list[str], libraries: Path) -> str:
    """What a program prints that finds libraries in a folder, where the C library has the name that Android's has."""
    machine = machine_of(abi)
    environment = machine.abi.environment
    c_library = next(Path(environment.sysroot).glob("lib/libc.so.6"), None)
    link = libraries / "libc.so"
    if c_library is not None and not is_native(environment) and not link.exists():
        link.symlink_to(c_library)
    first, *rest = run_command(machine, program)
    setting = f"LD_LIBRARY_PATH={libraries}"
    command = ["env", setting, first, *rest] if not rest else [first, "-E", setting, *rest]
    return run(*command, *arguments, cwd=libraries)


@each_abi
def test_native_methods_of_every_abi(net: Library, abi: str, tmp_path: Path) -> None:
    library = net.library(abi, tmp_path)
    run(compiler_of(machine_of(abi)), "-std=c99", "-O1", HARNESS, "-o", "harness", "-ldl", cwd=tmp_path)
    arguments = [str(library), *harness_arguments(net.digest(tmp_path), tmp_path)]
    assert_harness(run_for(abi, tmp_path / "harness", arguments, tmp_path), net)


@needs("gcc")
def test_native_methods_under_sanitizers(net: Library, tmp_path: Path) -> None:
    """The native methods around the model's C, whose every access is watched, in buffers of exact size."""
    machine = select("generic")
    model = net.model
    ccml.compile(model, "generic", tmp_path / "out", emit=["c"])
    program = ccml.compile_model(model, machine).program
    (tmp_path / "glue.o").write_bytes(glue_object(program, machine, 77))
    sources = (tmp_path / "out").glob("*.c")
    run("gcc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I", "out", *sources, HARNESS,
        "glue.o", "-rdynamic", "-ldl", "-o", "harness", cwd=tmp_path)  # fmt: skip
    assert_harness(run(tmp_path / "harness", "-", *harness_arguments(77, tmp_path), cwd=tmp_path), net)


C_PROGRAM = """
#include "net.h"
#include <stdio.h>
int main(void)
{
  static unsigned char arena[NET_ARENA_SIZE + 1] __attribute__((aligned(NET_ARENA_ALIGN)));
  float features[12], scores[5];
  int64_t number = -1;
  FILE *file = fopen("input.bin", "rb");
  if (file == 0 || fread(features, sizeof features, 1, file) != 1) { return 2; }
  int status = net_run(arena, features, scores, &number);
  status += status == 0 ? net_run(arena, features, scores, &number) : 0;
  printf("%d %d\\n", status, (int)number);
  return 0;
}
"""


@each_abi
def test_what_c_programs_link(net: Library, abi: str, tmp_path: Path) -> None:
    """The import library of the Prefab package finds the library that the app has; without it a call is an error."""
    folder = f"prefab/modules/net/libs/android.{abi}"
    (tmp_path / "net.h").write_bytes(net.files[f"{folder}/include/net.h"])
    archive = net.files[f"{folder}/libnet.a"]
    start = archive.index(b"\x7fELF")
    (tmp_path / "libnet.a").write_bytes(archive[:start] + loadable(machine_of(abi), archive[start:]))
    (tmp_path / "main.c").write_text(C_PROGRAM)
    (tmp_path / "input.bin").write_bytes(FEATURES.tobytes())
    # Objects for Android have floats in other registers than programs for Linux on Arm; only pointers are passed here.
    flags = ["-std=c99", "-O1", "-I.", "-L.", "-Wl,--no-warn-mismatch"]
    run(compiler_of(machine_of(abi)), *flags, "main.c", "-lnet", "-ldl", "-o", "app", cwd=tmp_path)
    assert run_for(abi, tmp_path / "app", [], tmp_path) == "5 -1\n"
    net.library(abi, tmp_path)
    assert run_for(abi, tmp_path / "app", [], tmp_path) == f"0 {int(net.outputs['class'][0])}\n"


@pytest.mark.parametrize("options", [("--slices",), ("--threads", "2", "--weights", "external")], ids=" ".join)
def test_what_a_header_declares_can_be_linked(options: tuple[str, ...], tmp_path: Path) -> None:
    """States, slices, threads and files of weights have functions of their own."""
    proto, _ = ODD_MODELS["state"]
    save(proto, tmp_path / "odd.onnx")
    done = command("compile", tmp_path / "odd.onnx", "-t", "android", "--abi", "x86_64", "--package", "aar",
                   "--state", "s=t", *options, "-o", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    files = unpacked((tmp_path / "out/aar/odd/odd.aar").read_bytes())
    folder = "prefab/modules/odd/libs/android.x86_64"
    (tmp_path / "libodd.a").write_bytes(files[f"{folder}/libodd.a"])
    header = files[f"{folder}/include/odd.h"].decode()
    declared = set(re.findall(r"^ODD_API \w+ (\w+)\(", header, re.MULTILINE))
    defined = {line.split()[-1] for line in run("nm", "libodd.a", cwd=tmp_path).splitlines() if " T " in line}
    assert declared == defined > {"odd_run", "odd_reset"} and len(declared) >= 5


# ---------------------------------------------------------------- the command


def test_the_same_compilation_gives_the_same_bytes(net: Library, tmp_path: Path) -> None:
    sample = net.model.with_name("sample.npz")
    ccml.compile(net.model, "android", tmp_path / "out", cpu="all", packages=["aar"], file=sample)
    assert (tmp_path / "out/aar/net/net.aar").read_bytes() == (net.folder / "net.aar").read_bytes()


def test_one_abi_alone(net: Library, tmp_path: Path) -> None:
    model = net.model
    ccml.compile(model, "android", tmp_path / "out", abi="x86", emit=["c"], packages=["aar"])
    files = unpacked((tmp_path / "out/aar/net/net.aar").read_bytes())
    assert [name for name in files if name.endswith(".so")] == ["jni/x86/libnet_jni.so"]


@pytest.fixture
def without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with a linker alone."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ld.lld").symlink_to(shutil.which("ld.lld"))  # type: ignore[arg-type]
    monkeypatch.setenv("PATH", str(tools))


def test_without_a_compiler_for_java_there_is_a_gradle_module(
    net: Library, tmp_path: Path, without_java: Iterator[None]
) -> None:
    done = command("compile", net.model, "-t", "android", "--package", "aar", "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert "net.aar needs javac, which is not here: written as a Gradle project" in done.stderr
    root = tmp_path / "out" / "aar" / "net"
    assert not (root / "net.aar").exists()
    module = root / "net"
    assert "public final class Net" in (module / "src/main/java/ccml/net/Net.java").read_text()
    assert {path.parent.name for path in (module / "src/main/jniLibs").rglob("libnet_jni.so")} == set(ABIS)
    assert 'namespace = "ccml.net"' in (module / "build.gradle.kts").read_text()
    assert "native <methods>" in (module / "consumer-rules.pro").read_text()
    settings = (root / "example/settings.gradle.kts").read_text()
    assert 'include(":net")' in settings and 'file("../net")' in settings
    assert 'implementation(project(":net"))' in (root / "example/app/build.gradle.kts").read_text()


def test_all_abis_are_asked_for_by_none(net: Library, tmp_path: Path) -> None:
    done = command("compile", net.model, "-t", "android", "--abi", "all", "--package", "aar",
                   "-o", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 2 and "has all ABIs by itself" in done.stderr and "leave --abi out" in done.stderr
    assert all(len(line) <= 80 for line in done.stderr.splitlines())


@needs_models
def test_sizes_of_keyword_spotting(tmp_path: Path) -> None:
    """With four ABIs at most 260 KB; the library for arm64 at most 75 KB with code for every CPU, 50 KB for one."""
    model = models_dir() / "mlperf_tiny_kws_dscnn_qdq_int8.onnx"
    ccml.compile(model, "android", tmp_path / "all", cpu="all", emit=["c"], packages=["aar"])
    (archive,) = (tmp_path / "all").rglob("*.aar")
    assert archive.stat().st_size <= 260_000
    library = unpacked(archive.read_bytes())["jni/arm64-v8a/libmlperf_tiny_kws_dscnn_qdq_int8_jni.so"]
    assert len(library) <= 75_000 and b"getauxval\0" in library, "with a choice of CPUs"
    ccml.compile(model, "android", tmp_path / "one", cpu="armv8-a", emit=["c"], packages=["aar"],
                 abi="arm64-v8a")  # fmt: skip
    (archive,) = (tmp_path / "one").rglob("*.aar")
    assert len(unpacked(archive.read_bytes())["jni/arm64-v8a/libmlperf_tiny_kws_dscnn_qdq_int8_jni.so"]) <= 50_000
