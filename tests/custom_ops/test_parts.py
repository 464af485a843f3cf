"""Expressions, signatures, sources and constants of custom operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.custom_ops.constants import constants
from ccml.custom_ops.expressions import evaluate
from ccml.custom_ops.signature import read_signature
from ccml.custom_ops.source import has_function, read_source
from ccml.errors import CcmlError
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.ir.types import DType, TensorType

NAMES = {"x.shape": [2, 3, 5], "x.rank": 3, "n": 7, "mode": "same", "gone.shape": None}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x.shape", [2, 3, 5]), ("x.shape[0] * n - 1", 13), ("x.shape[-1]", 5), ("x.shape[1:]", [3, 5]),
        ("x.shape[:1] + [4, n]", [2, 4, 7]), ("-n // 2", -4), ("n % 4", 3), ("ceildiv(n, 2)", 4),
        ("max(n, 9)", 9), ("min(x.shape)", 2), ("len(x.shape)", 3), ("1 if mode == 'same' else 2", 1),
    ],
)  # fmt: skip
def test_expressions(text: str, value: object) -> None:
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("y.shape", "'y.shape' is not known"), ("gone.shape", "is not there"), ("x.shape[3]", "no element 3"),
        ("__import__('os')", "no function '__import__'"), ("n ** 99", "cannot be used"), ("n // 0", "divides by zero"),
        ("[n for n in x.shape]", "cannot be used"), ("9999999999 * 9999999999", "too large"),
        ("(" * 200, "no expression"), ("1" * 301, "more than 300"), ("lambda: 1", "cannot be used"),
        ("x.__class__", "not known"), ("n[0]", "no parts"),
        ("x.shape + 1", "is no integer"), ("1.5 * n", "is no integer"), ("'a' < n", "not supported"),
    ],
)  # fmt: skip
def test_what_is_no_expression(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason.replace("[", r"\[").replace("(", r"\(")):
        evaluate(text, NAMES)


def signature(folder: Path, text: str) -> Path:
    (folder / "op.toml").write_text(text)
    return folder / "op.c"


def test_signature(tmp_path: Path) -> None:
    found = read_signature(signature(tmp_path, """
        function = "f"
        inputs = ["x", "w?"]
        workspace = "2 * x.size"
        [attributes]
        pads = [1, 2]
        [[outputs]]
        type = "w"
        shape = ["x.shape[0]", "pads[0] + pads[1]"]
        [[outputs]]
        type = "int8"
        shape = "x.shape"
        in_place = "x"
    """))  # fmt: skip
    types = [TensorType(DType.I8, (4, 6)), TensorType(DType.F64, (1,))]
    made = found.output_types(types, {"pads": [3, 4]}, "node")
    assert made == (TensorType(DType.F64, (4, 7)), TensorType(DType.I8, (4, 6)))
    assert found.number("workspace", types, {}, "node") == 48
    assert found.number("macs", types, {}, "node") is None
    assert (found.function, found.inputs, found.optional) == ("f", ("x", "w"), {"w"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("input = []", "unknown key 'input'"), ("inputs = ['a b']", "no name"), ("inputs = ['a', 'a']", "twice"),
        ("[[outputs]]", "needs a shape"), ("[[outputs]]\nshape = '1'\ntype = 'f33'", "no type 'f33'"),
        ("[[outputs]]\nshape = '1'\nin_place = 'y'", "names no input"), ("outputs = 3", "not a list"),
        ("function = 'a-b'", "no name"), ("[attributes]\na = [1, 'b']", "one kind"), ("a =", "not TOML"),
        ("workspace = [1]", "not an expression"),
    ],
)  # fmt: skip
def test_bad_signatures(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match=reason) as caught:
        read_signature(signature(tmp_path, text))
    assert "op.toml" in str(caught.value)


def test_includes(tmp_path: Path) -> None:
    """Files of the folder are part of the text; those of others, and headers of the system, are not."""
    (tmp_path / "secret.h").write_text("int secret;\n")
    folder = tmp_path / "op"
    (folder / "sub").mkdir(parents=True)
    (folder / "op.c").write_text('#include "sub/a.h"\n#include <math.h>\n#include "../secret.h"\nint last;\n')
    (folder / "sub" / "a.h").write_text('  # include "b.h"\nint a;\n')
    (folder / "sub" / "b.h").write_text("int b;")
    text = read_source(folder / "op.c")
    kept = [line for line in text.splitlines() if not line.startswith("#line")]
    assert kept == ["int b;", "int a;", "#include <math.h>", '#include "../secret.h"', "int last;"]
    assert str(tmp_path) not in text


def test_includes_end(tmp_path: Path) -> None:
    (tmp_path / "op.c").write_text('#include "op.c"\n')
    with pytest.raises(CcmlError, match="deep"):
        read_source(tmp_path / "op.c")


def test_functions() -> None:
    code = "/* void Gone(int x) {} */ void There(const float *x,\n  float *y)\n{ } void Called(void); Called();"
    assert has_function(code, "There")
    assert not any(has_function(code, name) for name in ("Gone", "Called", "The"))


def test_constants_are_exact() -> None:
    attributes = {"f": 0.1, "inf": float("-inf"), "d": np.array([0.1]), "i": -(2**63), "empty": [], "a.b": 1}
    lines = constants([], [], [], [], attributes, -1).splitlines()
    for line in (
        "#define CCML_ATTR_f 0.1f", "#define CCML_ATTR_inf (-INFINITY)", "#define CCML_ATTR_d {0.1}",
        "#define CCML_ATTR_i (-9223372036854775807LL - 1)", "#define CCML_ATTR_empty {0}", "#define CCML_ATTR_a_b 1",
        "#include <math.h>",
    ):  # fmt: skip
        assert line in lines
    with pytest.raises(ValueError, match="would both be CCML_ATTR_a_b"):
        constants([], [], [], [], {"a.b": 1, "a-b": 2}, -1)


def test_text_of_foreign_kernels() -> None:
    text = """kernel custom_0(in0: f32[4] const, out0: f32[4] out)
  foreign "com.acme::Swish" "Swish" "swish.c"
  arguments [0,-1,1]
  types "const float" "const float" "float"
  in_place [1,0]
  constants "#define A \\"1\\"\\n"
  code "void Swish(void)\\n{\\n}\\n"
"""
    assert print_kernel(parse_kernel(text)) == text
