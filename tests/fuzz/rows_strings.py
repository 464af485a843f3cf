"""Rows of operators on strings. Strings are made of integers and become integers again, which all that is behind them
can read."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.build import Builder, Tensor
from tests.fuzz.row import Row
from tests.fuzz.rows_ml import ML

WORDS = ("", "a", "Zoë", "one two", "a-b--c", "日本語", "MiXed")


def words(b: Builder, least: int = 0, most: int = 3, known: Sequence[str] = WORDS) -> Tensor:
    x = b.data("int64", b.shape(least, most), 0, len(known), exact=True)
    attrs = {"keys_int64s": list(range(len(known))), "values_strings": list(known), "default_string": "other"}
    return b.node("LabelEncoder", [x], domain=ML, **attrs)[0]


def numbers(b: Builder, x: Tensor) -> list[Tensor]:
    """Numbers of some strings that x has, and of others."""
    known = list(dict.fromkeys([*(str(word) for word in x.array.reshape(-1)[:5]), "a", "absent"]))
    attrs = {"keys_strings": known, "values_int64s": list(range(len(known))), "default_int64": -7}
    return b.node("LabelEncoder", [x], domain=ML, **attrs)


def full_match(b: Builder) -> list[Tensor]:
    patterns = ["[a-z]*", "(?i)mixed|a.*", ".{3}", r"\w+\b.\btwo", "[^-]*", "(one|two| )+"]
    return b.node("RegexFullMatch", [words(b)], pattern=b.pick(patterns))


def concat(b: Builder) -> list[Tensor]:
    x = words(b)
    return numbers(b, b.node("StringConcat", [x, x if b.flip() else words(b, 0, 0)])[0])


def split(b: Builder) -> list[Tensor]:
    """Every separator is in some word. ONNX Runtime finds no part in an empty string."""
    attrs = b.some(delimiter=b.pick(["", "-", "--", "o", "本"]), maxsplit=b.between(0, 3))
    parts, counts = b.node("StringSplit", [words(b, known=WORDS[1:])], 2, **attrs)
    return [*numbers(b, parts), counts]


def normalizer(b: Builder) -> list[Tensor]:
    """ONNX Runtime's locale C has no letters but those of ASCII."""
    attrs = b.some(is_case_sensitive=b.between(0, 1), stopwords=["a", "mixed", "one two"])
    x = words(b, 1, 1, [word for word in WORDS if word.isascii()])
    action = b.pick(["NONE", "LOWER", "UPPER"])
    return numbers(b, b.node("StringNormalizer", [x], locale="C", case_change_action=action, **attrs)[0])


def tokenizer(b: Builder) -> list[Tensor]:
    forms = [{"tokenexp": "[a-zA-Z0-9_]+"}, {"tokenexp": "."}, {"separators": [" ", "-"]}, {"separators": [""]}]
    attrs = {"mark": 0, "mincharnum": 1, "pad_value": b.pick(["#", "", "none here"]), **b.pick(forms)}
    return numbers(b, b.node("Tokenizer", [words(b, 1, 2)], domain="com.microsoft", **attrs)[0])


def murmur_hash(b: Builder) -> list[Tensor]:
    kinds = ("int32", "uint32", "int64", "uint64", "float32", "float64")
    x = words(b) if b.flip() else b.data(b.pick(kinds), b.shape(0, 3))
    attrs = b.some(seed=b.between(-9, 9), positive=b.between(0, 1))
    return b.node("MurmurHash3", [x], domain="com.microsoft", **attrs)


def category_mapper(b: Builder) -> list[Tensor]:
    both = {"cats_strings": list(WORDS[:4]), "cats_int64s": [3, -2, 0, 9]}
    return b.node("CategoryMapper", [words(b)], domain=ML, **both, default_int64=4, default_string="x")


ROWS = {
    "RegexFullMatch": Row(full_match), "StringConcat": Row(concat), "StringNormalizer": Row(normalizer),
    "StringSplit": Row(split), f"{ML}.CategoryMapper": Row(category_mapper),
    "com.microsoft.MurmurHash3": Row(murmur_hash), "com.microsoft.Tokenizer": Row(tokenizer),
}  # fmt: skip
