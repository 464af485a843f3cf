"""Formats of objects: how their files are called, and what of a model is put where in them."""

from __future__ import annotations

from ..record import record


@record
class ObjectFormat:
    """``suffix`` is that of an object's file, ``library`` the file name of a static library of the model ``{name}``.

    ``code`` is the section of the function ``{symbol}``, ``constants`` that of the constants of the model ``{name}``;
    both are empty where the format has no sections of its own for them. ``attributes`` are those of every function in
    LLVM IR. ``comdat``: linkers drop unused functions that are groups by themselves, as LLVM's comdats.
    ``bsd_archives``: linkers want archives as BSD writes them, instead of GNU's. ``position_independent`` are the flags
    of C compilers for code that is loaded to any address.
    """

    suffix: str
    library: str
    code: str = ""
    constants: str = ""
    attributes: str = ""
    comdat: bool = False
    bsd_archives: bool = False
    position_independent: tuple[str, ...] = ()

    def object_file(self, name: str) -> str:
        """The file name of an object that is ``NAME.o`` elsewhere."""
        return name.removesuffix(".o") + self.suffix


ELF_OBJECTS = ObjectFormat(
    suffix=".o", library="lib{name}.a", code=".text.{symbol}", constants=".rodata.{name}",
    position_independent=("-fPIC",),
)  # fmt: skip
"""ELF, and modules of WebAssembly."""

# What stands behind a dollar orders parts of one section (PE Format, Grouped Sections). Whoever walks the stack needs
# a table of each function that has a frame (x64 exception handling), so there is one.
COFF_OBJECTS = ObjectFormat(
    suffix=".obj", library="{name}.lib", code=".text${symbol}", constants=".rdata${name}", attributes="uwtable",
    comdat=True,
)  # fmt: skip

# The linker takes sections apart by symbols. Frames are chained, as debuggers and crash reports there expect.
MACHO_OBJECTS = ObjectFormat(
    suffix=".o", library="lib{name}.a", attributes='uwtable "frame-pointer"="non-leaf"', bsd_archives=True,
    position_independent=("-fPIC",),
)  # fmt: skip
