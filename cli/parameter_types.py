"""Parameter types that several commands share: numbers with units, lists of names, values by name."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import click
from click.shell_completion import CompletionItem


class Named(click.ParamType):
    """``name=...``; subclasses say what stands behind the last ``=``, and in ``example`` how it looks."""

    example: ClassVar[str]

    def parse(self, text: str) -> Any:
        """What ``text`` says, ``None`` where that is nothing."""
        raise NotImplementedError

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).rpartition("=")
        parsed = self.parse(text.strip()) if name and equals else None
        if parsed is None:
            self.fail(f"'{value}' is not {self.name}{self.example}", param, ctx)
        return name, parsed


class NameValue(Named):
    """The value is an extent, a positive integer, or a range of extents, ``1..8``, ``0..8``, ``..8`` or ``32*1..7``,
    the multiples of 32 from 32 to 224."""

    name = "name=value"
    example = " with a positive integer, such as batch=1 or batch=1..8"

    def parse(self, text: str) -> Any:
        factor, times, text = text.rpartition("*")
        least, dots, most = text.rpartition("..")
        numbers = [factor if times else "1", least or "1", most] if dots else [most]
        if not all(part.isdecimal() for part in numbers) or int(most) < 1:
            return None
        if times and (not dots or int(factor) < 1):
            return None
        if not dots:
            return int(most)
        from ..driver import Range

        step, low, high = map(int, numbers)
        return Range(step * low, step * high, step)


class InputLength(Named):
    """``input=3``: how many tensors a sequence has."""

    name = "input=n"
    example = " such as frames=3"

    def parse(self, text: str) -> int | None:
        return int(text) if text.isdecimal() else None


class InputShape(Named):
    """``input=1,576``: the whole shape of an input; nothing behind ``=`` is a scalar."""

    name = "input=d0,d1,..."
    example = " such as input=1,576"

    def parse(self, text: str) -> tuple[int, ...] | None:
        parts = [part.strip() for part in text.split(",")] if text else []
        return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else None


class InputValue(Named):
    """``input=16000`` or ``input=0.5,-1``: the elements of an input."""

    name = "input=v0,v1,..."
    example = " such as sr=16000"

    def parse(self, text: str) -> tuple[float, ...] | None:
        try:
            return tuple(float(part) for part in text.split(","))
        except ValueError:
            return None


class StringBound(Named):
    """``input=32``: bytes of a string of an input, or elements of a result."""

    name = "name=number"
    example = " such as text=32"

    def parse(self, text: str) -> int | None:
        return int(text) if text.isdecimal() and int(text) else None


class Number(click.FloatRange):
    """A finite number, at least ``min`` where that is given."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class NameList(click.ParamType):
    """A comma-separated list of known names, each once."""

    def names(self) -> tuple[str, ...]:
        """Those that there are."""
        raise NotImplementedError

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found = tuple(dict.fromkeys(part.strip() for part in str(value).split(",")))
        unknown = [name for name in found if name not in self.names()]
        if unknown:
            self.fail(f"'{', '.join(unknown)}' is none of {', '.join(self.names())}", param, ctx)
        return found

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        head, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{head}{comma}{name}") for name in self.names() if name.startswith(last)]


class EmitKinds(NameList):
    """What to write."""

    name = "kinds"

    def names(self) -> tuple[str, ...]:
        return ("c", "obj", "lib", "asm", "llvm")


class PackageNames(NameList):
    """Ecosystems that packages are for."""

    name = "packages"

    def names(self) -> tuple[str, ...]:
        from ..packages.ecosystem import NAMES

        return NAMES


class BindingNames(NameList):
    """Languages that bindings are for."""

    name = "languages"

    def names(self) -> tuple[str, ...]:
        from ..bindings.languages import NAMES

        return NAMES


class StatePair(Named):
    """``input=output``: both become one tensor of the caller's."""

    name = "input=output"
    example = ", such as h=hn"

    def parse(self, text: str) -> str | None:
        return text or None


class ByteCount(click.ParamType):
    """A number of bytes: ``34000``, ``34KB``, ``32KiB`` or, as in linker scripts, ``32K``."""

    name = "bytes"
    units: ClassVar[dict[str, int]] = {
        "": 1, "b": 1, "k": 1024, "kb": 1000, "kib": 1024, "m": 1024**2, "mb": 1000**2, "mib": 1024**2,
    }  # fmt: skip

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value).strip().lower()
        digits = text.rstrip("bikm")
        unit = self.units.get(text[len(digits) :])
        if not digits.strip().isdecimal() or unit is None:
            self.fail(f"'{value}' is not a number of bytes such as 34000, 34KB or 32KiB", param, ctx)
        return int(digits) * unit


class Count(click.ParamType):
    """A number of things: ``4000000``, ``4000k``, ``4M`` or ``1.5M``."""

    name = "number"
    units: ClassVar[dict[str, int]] = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value).strip().lower()
        digits = text.rstrip("kmg")
        unit = self.units.get(text[len(digits) :])
        number = float(digits) if digits.replace(".", "", 1).isdecimal() and len(digits) < 20 else 0.0
        if unit is None or number * unit < 1:
            self.fail(f"'{value}' is not a number such as 4000000, 4000k or 4M", param, ctx)
        return round(number * unit)


class Frequency(click.ParamType):
    """The clock of a core, in Hz: ``80MHz``, ``1.2GHz`` or ``32768``."""

    name = "frequency"
    units: ClassVar[dict[str, float]] = {"": 1, "hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value).strip().lower()
        digits = text.rstrip("ghkmz").rstrip()
        unit = self.units.get(text[len(digits) :].strip())
        number = float(digits) if digits.replace(".", "", 1).isdecimal() and len(digits) < 20 else 0.0
        if unit is None or not 1 <= number * unit <= 1e12:
            self.fail(f"'{value}' is no clock such as 80MHz", param, ctx)
        return round(number * unit)


class OperatorFile(click.ParamType):
    """``domain::Name=text``."""

    name = "domain::name=text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not equals or not text.strip() or "::" not in name:
            self.fail(f"'{value}' is not of the form com.acme::Swish=FILE", param, ctx)
        return name.strip(), text.strip()


class Duration(click.ParamType):
    """A time, in seconds: ``20ms``, ``1.5s`` or ``800us``."""

    name = "time"
    units: ClassVar[dict[str, float]] = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip().lower()
        digits = text.rstrip("mus").rstrip()
        unit = self.units.get(text[len(digits) :].strip())
        number = float(digits) if digits.replace(".", "", 1).isdecimal() and len(digits) < 20 else 0.0
        if unit is None or number <= 0:
            self.fail(f"'{value}' is no time such as 20ms", param, ctx)
        return number * unit


class PoolSize(click.ParamType):
    """``name=bytes``, or ``name`` for memory without a limit."""

    name = "name=bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int | None]:
        if isinstance(value, tuple):
            return value
        name, equals, size = str(value).partition("=")
        return name.strip(), ByteCount().convert(size, param, ctx) if equals else None
