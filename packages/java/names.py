"""What a model is called in Java and, by the Java Native Interface, in its library."""

from __future__ import annotations

from ...record import record

_WORDS = """
    abstract assert boolean break byte case catch char class const continue default do double else enum extends false
    final finally float for goto if implements import instanceof int interface long native new null package private
    protected public return short static strictfp super switch synchronized this throw throws transient true try void
    volatile while _
"""
KEYWORDS = frozenset(_WORDS.split())
_TYPES = """
    Arrays ByteBuffer ByteOrder Closeable Collections File Files IOException IdentityHashMap IllegalArgumentException
    IllegalStateException InputStream Integer List NotNull NullPointerException Object Override Path Set
    StandardCopyOption String System UnsatisfiedLinkError UnsupportedOperationException
"""
TYPES = frozenset(_TYPES.split())
"""What the generated class calls by its simple name, so that it cannot be called so itself."""


@record
class JavaNames:
    """The ``package`` and the ``class_name`` of the model ``prefix``."""

    package: str
    class_name: str

    @staticmethod
    def of(prefix: str) -> JavaNames:
        stem = f"{prefix}_model" if prefix in KEYWORDS else prefix
        camel = "".join(part[:1].upper() + part[1:] for part in stem.split("_")) or "Model"
        return JavaNames(f"ccml.{stem}", f"{camel}Model" if camel in TYPES else camel)

    @property
    def path(self) -> str:
        """The source file below its root."""
        return f"{self.package.replace('.', '/')}/{self.class_name}.java"

    def function(self, method: str) -> str:
        """The C function of a native method that is not overloaded (JNI specification, Resolving Native Method
        Names); all names here are ASCII."""
        parts = (*self.package.split("."), self.class_name, method)
        return "_".join(("Java", *(part.replace("_", "_1") for part in parts)))


def parameter_name(name: str) -> str:
    """A parameter of a method, for one of a C function."""
    return f"{name}_" if name in KEYWORDS else name


def string_literal(text: str) -> str:
    """A string of Java, in ASCII. Controls are octal: Unicode escapes mean the characters themselves, line ends too."""
    return f'"{"".join(map(_in_string, _utf16(text)))}"'


def _in_string(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return f"\\{character}"
    if code < 0x20 or code == 0x7F:
        return f"\\{code:03o}"
    return character if code < 0x7F else f"\\u{code:04x}"


def javadoc(text: str) -> str:
    """Text in a documentation comment, in ASCII: nothing of it is HTML, a tag, an escape or the end of the comment."""
    return "".join(c if c.isascii() and (c.isalnum() or c in " _-.,:;()[]+=/'") else f"&#{ord(c)};" for c in text)


def _utf16(text: str) -> str:
    """``text`` with pairs of surrogates for what is beyond 16 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
