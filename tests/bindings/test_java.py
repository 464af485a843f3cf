"""The class for Java on this machine's virtual machine: results, misuse that throws, threads, and the jar."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import ccml
import numpy as np
import pytest
from ccml.emit_c.contract import contract_of
from ccml.packages.java.names import KEYWORDS, TYPES, JavaNames
from ccml.packages.java.source import class_source
from ccml.targets import select
from onnx import TensorProto as T
from onnx import helper, save

from tests.cli.command_line import ccml as command
from tests.packaging.odd_models import ODD_MODELS, model, node, often_or_in_check
from tests.packaging.packages import HOSTILE, HOSTILE_OUTPUT, write_model
from tests.packaging.run import run
from tests.tools import needs

pytestmark = needs("java", "javac", "gcc")
MAIN = Path(__file__).parent / "java" / "Main.java"
FEATURES = np.random.default_rng(8).standard_normal((1, 12)).astype(np.float32)
STEM = "IN_B_X_TOUCH_X_INCLUDE_Y_PATH_Z_7_7_RAW"
"""What the constants of the input begin with."""


def in_java(folder: Path, jar: Path, body: str, *options: str) -> list[str]:
    """What a program says whose ``main`` is ``body``. The virtual machine checks calls of JNI."""
    text = MAIN.read_text(encoding="utf-8").replace("/* BODY */", body)
    (folder / "Main.java").write_text(text, encoding="utf-8")
    run("javac", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-cp", jar, "-d", folder, "Main.java", cwd=folder)
    said = run("java", "-Xcheck:jni", *options, "-cp", f"{jar}:{folder}", "Main", cwd=folder)
    assert all(line.startswith('"') for line in said.splitlines()), said
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("java")
    write_model(path / "net.onnx")
    ccml.compile(path / "net.onnx", "generic", path / "out", bindings=["java"])
    return path


@pytest.fixture(scope="module")
def jar(folder: Path) -> Path:
    return folder / "out" / "java" / "net" / "net.jar"


def test_arrays_buffers_and_threads(folder: Path, jar: Path, tmp_path: Path) -> None:
    """The same results from arrays, from parts of buffers, and on several threads, with one model or one for each."""
    wanted = ccml.load(folder / "net.onnx").run(FEATURES)
    features = ", ".join(f"{value!r}f" for value in FEATURES.reshape(-1).tolist())
    said = in_java(tmp_path, jar, f"""
        final float[] features = {{{features}}};
        final float[] scores = new float[5];
        final long[] number = new long[1];
        final ccml.net.Net model = new ccml.net.Net();
        model.run(features, scores, number);
        say(Arrays.toString(scores));
        say(number[0]);

        ByteBuffer whole = part(ccml.net.Net.newBuffer(64), 8, 56);
        nativeOrder(whole.slice()).asFloatBuffer().put(features);
        ByteBuffer out = ccml.net.Net.newBuffer(20), last = ccml.net.Net.newBuffer(8);
        model.run(nativeOrder(whole.asReadOnlyBuffer()), out, last);
        float[] again = new float[5];
        out.asFloatBuffer().get(again);
        say(Arrays.equals(scores, again) && last.getLong(0) == number[0]);
        say(whole.position() + " " + out.position() + " " + out.limit());

        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Boolean>> futures = new ArrayList<>();
        for (int thread = 0; thread < 8; thread++) {{
            final boolean shared = thread % 2 == 0;
            futures.add(pool.submit(() -> {{
                boolean same = true;
                try (ccml.net.Net own = new ccml.net.Net()) {{
                    float[] mine = new float[5];
                    for (int round = 0; round < 200; round++) {{
                        (shared ? model : own).run(features, mine, new long[1]);
                        same &= Arrays.equals(scores, mine);
                    }}
                }}
                return same;
            }}));
        }}
        for (Future<Boolean> each : futures) say(each.get());
        pool.shutdown();
        say(ccml.net.Net.V_CLASS_NAME + ccml.net.Net.V_CLASS_SHAPE + ccml.net.Net.V_CLASS_ELEMENTS);
        say(ccml.net.Net.{STEM}_NAME);
        say(ccml.net.Net.{STEM}_SHAPE + " " + ccml.net.Net.{STEM}_BYTES);
        error(() -> ccml.net.Net.V_CLASS_SHAPE.set(0, 7));
    """)
    np.testing.assert_allclose(json.loads(said[0]), wanted[HOSTILE_OUTPUT][0], rtol=1e-5)
    assert said[1] == str(wanted["class"][0])
    assert said[2:4] == ["true", "8 0 20"] and said[4:12] == ["true"] * 8
    assert said[12:] == ["class[1]1", HOSTILE, "[1, 12] 48", "UnsupportedOperationException: null"]


MISUSE = {
    "new float[11], s, n": "IllegalArgumentException: in: expected 12 elements, got 11",
    "x, new float[6], n": "IllegalArgumentException: out: expected 5 elements, got 6",
    "null, s, n": "NullPointerException: in is null",
    "x, s, null": "NullPointerException: class is null",
    "null, null, (ByteBuffer) null": "NullPointerException: in is null",
    "bx, null, bn": "NullPointerException: out is null",
    "ByteBuffer.allocate(48), bs, bn":
        "IllegalArgumentException: in: the buffer is not direct; newBuffer makes one that is",
    "bx, bs, ByteBuffer.wrap(new byte[8])":
        "IllegalArgumentException: class: the buffer is not direct; newBuffer makes one that is",
    "bx, nativeOrder(bs.asReadOnlyBuffer()), bn": "IllegalArgumentException: out: the buffer is read-only",
    "bx.duplicate(), bs, bn":
        "IllegalArgumentException: in: the byte order is BIG_ENDIAN; call order(ByteOrder.nativeOrder())",
    "part(bx, 0, 47), bs, bn": "IllegalArgumentException: in: expected 48 bytes from position to limit, got 47",
    "bx, bs, part(bx, 0, 0)": "IllegalArgumentException: class: expected 8 bytes from position to limit, got 0",
    "part(all, 1, 49), bs, bn": "IllegalArgumentException: in: the address is not a multiple of 4",
    "bx, bs, part(all, 4, 12)": "IllegalArgumentException: class: the address is not a multiple of 8",
    "bx, part(bx, 4, 24), bn": "IllegalArgumentException: out: the buffer overlaps that of another tensor",
    "bx, part(all, 0, 20), part(all, 16, 24)":
        "IllegalArgumentException: class: the buffer overlaps that of another tensor",
    "bx, part(all, 0, 20), part(all, 24, 32)": "nothing",
    "x, s, n": "nothing",
}  # fmt: skip


def test_misuse_throws(jar: Path, tmp_path: Path) -> None:
    calls = "\n".join(f"error(() -> m.run({arguments}));" for arguments in MISUSE)
    said = in_java(tmp_path, jar, f"""
        final ccml.net.Net m = new ccml.net.Net();
        final float[] x = new float[12], s = new float[5];
        final long[] n = new long[1];
        final ByteBuffer bx = ccml.net.Net.newBuffer(48), bs = ccml.net.Net.newBuffer(20);
        final ByteBuffer bn = ccml.net.Net.newBuffer(8), all = ccml.net.Net.newBuffer(64);
        {calls}
        m.close();
        m.close();
        error(() -> m.run(x, s, n));
        error(() -> m.run(bx, bs, bn));
    """)
    short = [line.replace(HOSTILE, "in").replace(HOSTILE_OUTPUT, "out") for line in said]
    closed = "IllegalStateException: the model net is closed"
    assert short == [*MISUSE.values(), closed, closed]


ODD: dict[str, tuple[str, list[str]]] = {
    "ranged": ("""
        float[] y = new float[24]; long[] nz = new long[48], count = new long[1];
        error(() -> m.run(new long[] {2}, new float[] {1, 0, 2, 0, 0, 3}, y, nz, count));
        error(() -> m.run(new long[] {9}, new float[24], y, nz, count));
        m.run(new long[] {2}, Arrays.copyOf(new float[] {1, 0, 2, 0, 0, 3}, 24), y, nz, count);
        say(count[0] + " " + y[5]);
        """, ["IllegalArgumentException: x: expected 24 elements, got 6",
              "IllegalArgumentException: ODD_ERROR_EXTENT: an extent is out of its range", "3 3.0"]),
    "texts": ("""
        byte[] a = new byte[24], c = new byte[48], same = new byte[3];
        a[0] = 'h'; a[1] = 'i';
        m.run(a, a, c, same);
        say(new String(c, 0, 4, "UTF-8") + same[0]);
        """, ["hihi1"]),
    "state": ("""
        float[] x = {0, 1, 2, 3}, y = new float[4];
        m.run(x, y); say(Arrays.toString(y));
        m.run(x, y); say(Arrays.toString(y));
        m.reset();
        m.run(x, y); say(Arrays.toString(y));
        m.close();
        error(() -> m.reset());
        """, ["[0.0, 1.0, 4.0, 9.0]", "[0.0, 4.0, 16.0, 36.0]", "[0.0, 1.0, 4.0, 9.0]",
              "IllegalStateException: the model odd is closed"]),
    "types": ("""
        short[] h = new short[4], b = new short[4]; byte[] u = new byte[4], g = new byte[4]; double[] d = new double[4];
        m.run(new float[] {0, 1.5f, 2.25f, 200}, h, b, u, d, g);
        say(Integer.toHexString(h[1]) + " " + Integer.toHexString(b[1]) + " " + (u[3] & 255) + " " + d[2] + " " + g[0]);
        error(() -> m.run(new float[4], h, h, u, d, g));
        """, ["3e00 3fc0 200 2.25 0", "IllegalArgumentException: b: the array is that of another output"]),
    "empty": ("m.run(new float[0], new float[0]); m.run(ccml.odd.Odd.newBuffer(0), ccml.odd.Odd.newBuffer(0));"
              "error(() -> m.run(new float[1], new float[0]));",
              ["IllegalArgumentException: x: expected 0 elements, got 1"]),
    "no_inputs": ("long[] y = new long[3]; m.run(y); say(Arrays.toString(y));", ["[1, 2, 3]"]),
    "scalar": ("int[] y = new int[1]; m.run(new int[] {7}, y); say(y[0] + \" \" + ccml.odd.Odd.X_SHAPE);", ["-7 []"]),
}  # fmt: skip


@pytest.mark.parametrize("name", often_or_in_check(ODD_MODELS, "state", "types"))
def test_every_kind_of_interface(name: str, tmp_path: Path) -> None:
    proto, options = ODD_MODELS[name]
    body, wanted = ODD[name]
    save(proto, tmp_path / "odd.onnx")
    ccml.compile(tmp_path / "odd.onnx", "generic", tmp_path / "out", options=options, bindings=["java"])
    said = in_java(tmp_path, tmp_path / "out/java/odd/odd.jar", f"final ccml.odd.Odd m = new ccml.odd.Odd();\n{body}")
    assert said == wanted


def test_scale_and_zero_point_of_a_quantized_model(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["x"]), node("Relu", "x", "y"),
        helper.make_node("QuantizeLinear", ["y", "s", "z"], ["r"]),
    ]  # fmt: skip
    proto = model(nodes, [("q", T.INT8, [4])], [("r", T.INT8, [4])])
    proto.graph.initializer.extend([
        helper.make_tensor("s", T.FLOAT, [], [0.25]), helper.make_tensor("z", T.INT8, [], [-3]),
    ])  # fmt: skip
    save(proto, tmp_path / "q8.onnx")
    ccml.compile(tmp_path / "q8.onnx", "generic", tmp_path / "out", bindings=["java"])
    said = in_java(tmp_path, tmp_path / "out/java/q8/q8.jar", """
        byte[] r = new byte[4];
        new ccml.q8.Q8().run(new byte[] {-128, -3, 0, 5}, r);
        say(Arrays.toString(r) + " " + ccml.q8.Q8.Q_SCALE + " " + ccml.q8.Q8.R_ZERO_POINT);
    """)
    assert said == ["[-3, -3, 0, 5] 0.25 -3"]


# ---------------------------------------------------------------- weights in a file


def test_weights_in_a_file(folder: Path, tmp_path: Path) -> None:
    """From beside the class, from a stream, from a file that is mapped, or part of one; damaged ones and others are
    refused."""
    options = ccml.ArtifactOptions(external_weights=True)
    ccml.compile(folder / "net.onnx", "generic", tmp_path / "out", bindings=["java"], artifact=options)
    weights = tmp_path / "out" / "net.weights"
    content = weights.read_bytes()
    (tmp_path / "damaged").write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    (tmp_path / "cut").write_bytes(content[:-1])
    (tmp_path / "other").write_bytes(content[:8] + bytes(4) + content[12:])
    (tmp_path / "empty").write_bytes(b"")
    for start in (68, 69):
        (tmp_path / f"packed{start}").write_bytes(bytes(start) + content + bytes(5))
    features = ", ".join(f"{value!r}f" for value in FEATURES.reshape(-1).tolist())
    said = in_java(tmp_path, tmp_path / "out/java/net/net.jar", f"""
        class Case {{
            ByteBuffer map(String file) throws Exception {{
                try (java.io.RandomAccessFile stream = new java.io.RandomAccessFile(file, "r")) {{
                    long size = stream.length();
                    return stream.getChannel().map(java.nio.channels.FileChannel.MapMode.READ_ONLY, 0, size);
                }}
            }}
            ByteBuffer read(String file) throws Exception {{
                try (java.io.InputStream stream = new java.io.FileInputStream(file)) {{
                    return ccml.net.Net.readWeights(stream);
                }}
            }}
            ByteBuffer at(int start) throws Exception {{
                try (java.io.FileInputStream stream = new java.io.FileInputStream("{tmp_path}/packed" + start)) {{
                    return ccml.net.Net.mapWeights(stream.getFD(), start, {len(content)});
                }}
            }}
            void run(ccml.net.Net model) {{
                float[] scores = new float[5];
                model.run(new float[] {{{features}}}, scores, new long[1]);
                say(Arrays.toString(scores));
                model.close();
                error(() -> model.run(new float[12], scores, new long[1]));
            }}
        }}
        final Case c = new Case();
        final String file = "{weights}";
        c.run(new ccml.net.Net());
        c.run(new ccml.net.Net(c.map(file)));
        c.run(new ccml.net.Net(c.read(file)));
        c.run(new ccml.net.Net(c.at(68)));
        c.run(new ccml.net.Net(c.at(69)));
        say(c.at(68).isReadOnly() + " " + c.at(69).isReadOnly());
        for (String bad : new String[] {{"damaged", "cut", "other", "empty"}}) {{
            error(() -> new ccml.net.Net(c.map("{tmp_path}/" + bad)));
            error(() -> new ccml.net.Net(c.read("{tmp_path}/" + bad)));
        }}
        error(() -> new ccml.net.Net(null));
        error(() -> new ccml.net.Net(ByteBuffer.allocate({len(content)})));
        error(() -> new ccml.net.Net(part(c.map(file), 2, {len(content)})));
        final ByteBuffer own = c.read(file);
        final ccml.net.Net model = new ccml.net.Net(own);
        error(() -> model.run(ccml.net.Net.newBuffer(48), part(own, own.position(), own.position() + 20),
                ccml.net.Net.newBuffer(8)));
    """)
    wanted = ccml.load(folder / "net.onnx").run(FEATURES)[HOSTILE_OUTPUT][0]
    for result, closed in zip(said[0:10:2], said[1:10:2], strict=True):
        np.testing.assert_allclose(json.loads(result), wanted, rtol=1e-5)
        assert closed == "IllegalStateException: the model net is closed"
    assert said[10] == "true false", "mapped as an archive has it, or read where no load could begin"
    said = said[11:]
    damaged = "IllegalArgumentException: NET_ERROR_WEIGHTS: the weights are damaged, or no file of weights"
    other = "IllegalArgumentException: NET_ERROR_MODEL: header, library and weights are not of one model"
    assert said[:6] == [damaged] * 4 + [other] * 2
    assert set(said[6:8]) <= {damaged, "IllegalArgumentException: NET_ERROR_NULL: a pointer is NULL that must not be"}
    assert said[8:11] == [
        "NullPointerException: the weights are null",
        "IllegalArgumentException: the buffer of the weights is not direct; "
        "readWeights and mapWeights make one that is",
        "IllegalArgumentException: NET_ERROR_ALIGN: memory is not at a multiple of its alignment",
    ]
    overlap = said[11].replace(HOSTILE_OUTPUT, "out")
    assert overlap == "IllegalArgumentException: out: the buffer overlaps that of another tensor"


# ---------------------------------------------------------------- libraries and projects


def test_a_library_of_another_model_is_refused(jar: Path, tmp_path: Path) -> None:
    """One of the same name with another interface, and none at all."""
    proto = model([node("Relu", "x", "y")], [("x", T.FLOAT, [3])], [("y", T.FLOAT, [3])])
    save(proto, tmp_path / "net.onnx")
    ccml.compile(tmp_path / "net.onnx", "generic", tmp_path / "out", bindings=["java"])
    (library,) = (tmp_path / "out" / "java").rglob("libnet_jni.so")
    body = "error(() -> new ccml.net.Net());"
    said = in_java(tmp_path, jar, body, f"-Dccml.net.library={library}")
    assert said == ["IllegalStateException: libnet_jni.so is of another model, or of another compilation of this one"]
    (said_of_none,) = in_java(tmp_path, jar, body, "-Dccml.net.library=none.so")
    assert said_of_none.startswith("UnsatisfiedLinkError: Can't load library")


def test_the_jar_and_the_project(folder: Path, jar: Path, tmp_path: Path) -> None:
    """The class, the library, and a project for Maven with the source; the same bytes again."""
    content = zipfile.ZipFile(jar)
    assert content.namelist() == ["META-INF/MANIFEST.MF", "ccml/net/Net.class", "ccml/net/libnet_jni.so"]
    project = jar.parent
    source, library = project / "src/main/java/ccml/net/Net.java", project / "src/main/resources/ccml/net/libnet_jni.so"
    assert library.read_bytes() == content.read("ccml/net/libnet_jni.so") and "class Net" in source.read_text()
    pom = ElementTree.parse(project / "pom.xml").getroot()
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    found = [pom.findtext(f"m:{tag}", namespaces=space) for tag in ("groupId", "artifactId", "version")]
    assert found == ["ccml", "net", "1.0.0"]
    ccml.compile(folder / "net.onnx", "generic", tmp_path / "out", bindings=["java"])
    assert (tmp_path / "out/java/net/net.jar").read_bytes() == jar.read_bytes()


def test_what_is_not_null_is_said_for_kotlin(jar: Path) -> None:
    """By the annotation that is on the class path of every program in Kotlin, and is not in the jar itself."""
    image = zipfile.ZipFile(jar).read("ccml/net/Net.class")
    assert b"Lorg/jetbrains/annotations/NotNull;" in image and b"RuntimeInvisibleParameterAnnotations" in image


def test_without_a_compiler_there_is_the_project(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("cc", "gcc", "ld", "as"):
        (tools / tool).symlink_to(shutil.which(tool) or "/none")
    monkeypatch.setenv("PATH", str(tools))
    out = tmp_path / "out"
    done = command("compile", folder / "net.onnx", "-t", "generic", "--bindings", "java", "-o", out)
    assert done.exit_code == 0 and "net.jar is not written: no javac here" in done.stderr
    assert {path.name for path in out.rglob("java/net/*")} == {"pom.xml", "src"}


@pytest.mark.parametrize(
    "prefix, package, class_name, method",
    [
        ("kws", "ccml.kws", "Kws", "Java_ccml_kws_Kws_nativeRun"),
        ("kws_int8", "ccml.kws_int8", "KwsInt8", "Java_ccml_kws_1int8_KwsInt8_nativeRun"),
        ("package", "ccml.package_model", "PackageModel", "Java_ccml_package_1model_PackageModel_nativeRun"),
        ("string", "ccml.string", "StringModel", "Java_ccml_string_StringModel_nativeRun"),
    ],
)
def test_names_in_java(prefix: str, package: str, class_name: str, method: str) -> None:
    """By the JNI specification, Resolving Native Method Names; no keyword, no class that the source uses."""
    names = JavaNames.of(prefix)
    assert (names.package, names.class_name, names.function("nativeRun")) == (package, class_name, method)


def test_no_class_is_called_like_one_that_the_source_uses(folder: Path) -> None:
    contract = contract_of(ccml.compile_model(folder / "net.onnx", select("generic")).program)
    for android in (False, True):
        text = class_source([contract], 0, "libnet_jni.so", android=android)
        source = re.sub(r"/\*.*?\*/|\"(\\.|[^\"])*\"", "", text, flags=re.DOTALL)
        used = {word for word in re.findall(r"(?<![\w.])[A-Z]\w*[a-z]\w*", source) if word not in KEYWORDS}
        assert used - {"Net"} <= TYPES


def test_what_has_no_java(folder: Path, tmp_path: Path) -> None:
    out = ["-o", tmp_path / "out", "--bindings", "java"]
    done = command("compile", folder / "net.onnx", "-t", "android", *out)
    assert done.exit_code == 2 and "bindings for java do not go with the target android" in done.stderr
    assert "--package aar" in done.stderr
    many = [(f"x{number}", T.FLOAT, [1]) for number in range(130)]
    save(model([node("Sum", " ".join(name for name, _, _ in many), "y")], many, [("y", T.FLOAT, [1])]),
         tmp_path / "many.onnx")  # fmt: skip
    done = command("compile", tmp_path / "many.onnx", "-t", "generic", *out)
    assert done.exit_code == 2 and "131 inputs and outputs" in done.stderr
    assert all(len(line) <= 80 for line in done.stderr.splitlines()), done.stderr
