"""Options and parameter types that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar, TypeVar

import click
from click.shell_completion import CompletionItem

from ..ir.threads import MOST_THREADS
from .config import config_option, with_file_defaults
from .help import BudgetOption, GeneralOption, GoalOption, ModelOption, TargetOption

F = TypeVar("F", bound=Callable[..., Any])


# ---------------------------------------------------------------- parameter types


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
    """The value is an extent, a positive integer, or a range of extents, ``1..8`` or ``..8``."""

    name = "name=value"
    example = " with a positive integer, such as batch=1 or batch=1..8"

    def parse(self, text: str) -> Any:
        least, dots, most = text.rpartition("..")
        numbers = [least or "1", most] if dots else [most]
        if not all(part.isdecimal() and int(part) >= 1 for part in numbers):
            return None
        if not dots:
            return int(most)
        from ..driver import Range

        return Range(*map(int, numbers))


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


def _distinct(_: click.Context, __: click.Parameter, given: tuple[tuple[str, Any], ...]) -> Any:
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"'{name}' is there twice")
    return given


def _distinct_with_file(context: click.Context, parameter: click.Parameter, given: tuple[tuple[str, Any], ...]) -> Any:
    return with_file_defaults(context, parameter, _distinct(context, parameter, given))


def complete_target(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..targets import TARGETS

    known = [(name, target.description) for target in TARGETS for name in (target.name, *target.aliases)]
    return [CompletionItem(name, help=text) for name, text in known if name.startswith(incomplete)]


def complete_board(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..targets.development_boards import DEVELOPMENT_BOARDS

    names = [(board.name, board.title) for board in DEVELOPMENT_BOARDS]
    return [CompletionItem(name, help=title) for name, title in names if name.startswith(incomplete)]


def complete_abi(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ABIs of the target that was given."""
    from ..targets import find

    target = find(str(context.params.get("target")))
    names = [] if target is None else [*(abi.name for abi in target.abis), "all"]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_cpu(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The CPUs of the target that was given, or of its ABI."""
    from ..targets import find

    target, chosen = find(str(context.params.get("target"))), context.params.get("abi")
    abis = [] if target is None else [abi for abi in target.abis if chosen in (None, "all", abi.name)]
    every = ["all"] if target is not None and target.dispatch else []
    names = dict.fromkeys(["native", *every, *(cpu.name for abi in abis for cpu in abi.cpus)])
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


# ---------------------------------------------------------------- options


def model_options(function: F) -> F:
    """The model file and how it is read: ``model`` and ``options``, a :class:`ModelOptions`.

    There is also the file with the options of the project, and ``--name`` where a command writes files of that name.
    """

    @wraps(function)
    def command(
        *args: Any, dim: Any, shape: Any, fix: Any, length: Any, absent: Any, state: Any, bound: Any,
        custom_op: Any, custom_op_python: Any, exact: bool, precision: str, name: str | None = None, **values: Any,
    ) -> Any:  # fmt: skip
        from ..driver import ModelOptions
        from ..passes.precision import FloatFormat

        options = ModelOptions(
            dict(dim), dict(shape), name, fixed=dict(fix), lengths=dict(length), absent=tuple(absent),
            states=dict(state), bounds=dict(bound), custom_ops=dict(custom_op),
            custom_ops_python=dict(custom_op_python), exact=exact, precision=FloatFormat(precision),
        )  # fmt: skip
        return function(*args, options=options, **values)

    argument = click.argument("model", type=click.Path())
    dim = click.option(
        "--dim", cls=ModelOption, multiple=True, type=NameValue(), callback=_distinct_with_file,
        help="Bind a symbolic dimension of the model, or with N..M let each run have an extent; repeatable.",
    )  # fmt: skip
    shape = click.option(
        "--shape", cls=ModelOption, multiple=True, type=InputShape(), callback=_distinct_with_file,
        help="Fix the shape of an input; repeatable.",
    )  # fmt: skip
    fix = click.option(
        "--fix", cls=ModelOption, multiple=True, type=InputValue(), callback=_distinct_with_file,
        help="Fix the value of an input, which then is none any more; repeatable.",
    )  # fmt: skip
    state = click.option(
        "--state", cls=ModelOption, multiple=True, type=StatePair(), callback=_distinct_with_file,
        metavar="INPUT=OUTPUT",
        help="An input that the caller keeps between runs, and the output that is its next value; repeatable.",
    )  # fmt: skip
    bound = click.option(
        "--max", "bound", cls=ModelOption, multiple=True, type=StringBound(), callback=_distinct_with_file,
        help="The bytes that strings of an input have at most (64 without), the elements of a Range, or the rows of a "
        "Loop, whose number a run tells; repeatable.",
    )  # fmt: skip
    length = click.option(
        "--length", cls=ModelOption, multiple=True, type=InputLength(), callback=_distinct_with_file,
        help="How many tensors an input has that is a sequence; repeatable.",
    )  # fmt: skip
    absent = click.option(
        "--absent", cls=ModelOption, multiple=True, metavar="INPUT",
        help="An optional input that is not there; repeatable.",
    )  # fmt: skip
    custom = click.option(
        "--custom-op", cls=ModelOption, multiple=True, type=OperatorFile(), callback=_distinct_with_file,
        metavar="DOMAIN::NAME=FILE.c",
        help="The C of an operator that ccml does not have; repeatable.",
    )  # fmt: skip
    python = click.option(
        "--custom-op-python", cls=ModelOption, multiple=True, type=OperatorFile(), callback=_distinct_with_file,
        metavar="DOMAIN::NAME=MODULE:FUNCTION", help="What such an operator means in Python; repeatable.",
    )  # fmt: skip
    sums = click.option(
        "--exact", cls=ModelOption, is_flag=True,
        help="Float convolutions as the sums that ONNX defines, without Winograd's algorithm.",
    )  # fmt: skip
    numbers = click.option(
        "--precision", cls=ModelOption, type=click.Choice(["fp32", "fp16", "bf16"]), default="fp32", show_default=True,
        help="The numbers in which a model of float32 is computed; inputs and outputs keep their types.",
    )  # fmt: skip
    options = dim(shape(fix(length(absent(state(bound(custom(python(sums(numbers(config_option(command))))))))))))
    return argument(options)  # type: ignore[return-value]


def target_option(default: str = "", required: bool = False) -> Callable[[F], F]:
    """``--target`` alone; ``default`` ends its help."""
    return click.option(
        "-t", "--target", cls=TargetOption, required=required, shell_complete=complete_target, metavar="NAME",
        help=f"What to compile for; 'ccml targets' lists them.{default}",
    )  # fmt: skip


def target_options(required: bool = False, default: str = "generic", several: bool = False) -> Callable[[F], F]:
    """``--target``, ``--abi`` and ``--cpu``; ``default`` is what a command does without. ``several``: of the latter two
    it takes 'all'."""

    def decorate(function: F) -> F:
        target = target_option("" if required else f"  [default: {default}]", required)
        abi = click.option(
            "--abi", cls=TargetOption, shell_complete=complete_abi, metavar="NAME",
            help="The ABI of a target that has several" + (", or 'all'." if several else "."),
        )  # fmt: skip
        cpu = click.option(
            "--cpu", cls=TargetOption, shell_complete=complete_cpu, metavar="NAME",
            help="The CPU of a target that has several, or 'native' for this machine's."
            + (" By default, where an operating system loads the code, 'all': it chooses at the first call."
               if several else ""),
        )  # fmt: skip
        return target(abi(cpu(function)))

    return decorate


_ROWS = "rows"


def input_option(use: str) -> Callable[[F], F]:
    """``--input``, as ``file`` and in ``options``; ``use`` says what is done with the samples."""

    def decorate(function: F) -> F:
        @wraps(function)
        def command(*args: Any, inputs: tuple[str, ...], options: Any, **values: Any) -> Any:
            files = [text for text in inputs if not _is_rows(text)]
            if len(files) > 1:
                raise click.UsageError(f"--input {files[1]}: there is a file already, {files[0]}")
            rows = tuple(dict.fromkeys(text.removesuffix(_ROWS).removesuffix("=") for text in inputs if _is_rows(text)))
            file = files[0] if files else None
            return function(*args, file=file, options=replace(options, rows=rows), **values)

        return click.option(
            "-i", "--input", "inputs", type=click.Path(), multiple=True, metavar="FILE|[NAME=]rows",
            help=f"An .npz with an array for each input, or an .npy for the only one{use}.  [default: random data]  "
            "rows: a function brings the input row by row.",
        )(command)  # type: ignore[return-value]  # fmt: skip

    return decorate


def _is_rows(text: str) -> bool:
    """Whether ``text`` says that an input comes by rows; a file of that name is ``./rows``."""
    name, equals, last = text.rpartition("=")
    return last == _ROWS and bool(name) == bool(equals)


route_option = click.option(
    "--route", type=click.Choice(["llvm", "c"]), default="llvm", show_default=True,
    help="The machine code that is looked at: LLVM's objects, or the C sources by GCC.",
)  # fmt: skip


def goal_on_the_command_line() -> bool:
    """Whether one of :func:`goal_options` was given there, and not only in a file."""
    context = click.get_current_context()
    sources = {context.get_parameter_source(name) for name in ("optimize", "max_ram", "pool", "threads", "database")}
    return click.core.ParameterSource.COMMANDLINE in sources


def threads_option(use: str) -> Callable[[F], F]:
    """``--threads``; ``use`` says what is done for them."""
    return click.option(
        "--threads", cls=GoalOption, type=click.IntRange(1, MOST_THREADS), metavar="NUMBER",
        help=f"{use}  [default: none]",
    )  # fmt: skip


def database_option(use: str, default: str | None = None) -> Callable[[F], F]:
    """``--database``; ``use`` says what is done with the measurements."""
    return click.option(
        "--database", cls=GoalOption, type=click.Path(), metavar="FILE", default=default, show_default=True, help=use
    )


def goal_options(function: F) -> F:
    """``--optimize``, ``--max-ram``, ``--pool``, ``--threads`` and ``--database``, as one argument ``goal``: a
    :class:`Goal`."""

    @wraps(function)
    def command(
        *args: Any, optimize: str, max_ram: int | None, pool: Any, threads: int | None, database: str | None,
        **values: Any,
    ) -> Any:  # fmt: skip
        from ..driver import NOTHING_TUNED, Goal, Optimize
        from ..tuning.database import read_decisions

        tuned = NOTHING_TUNED if database is None else read_decisions(database)
        goal = Goal(Optimize(optimize), max_ram, dict(pool), threads or 0, tuned)
        return function(*args, goal=goal, **values)

    optimize = click.option(
        "--optimize", cls=GoalOption, type=click.Choice(["balanced", "size", "speed", "ram"]), default="balanced",
        show_default=True,
        help="size: the smallest code; speed: no instruction for the sake of size, and weights that take more flash "
        "where that saves time; ram: run layers row by row where that lowers the peak of memory.",
    )  # fmt: skip
    max_ram = click.option(
        "--max-ram", cls=GoalOption, type=ByteCount(), metavar="BYTES",
        help="The RAM that may be used, inputs and outputs included; what it takes is done, or the exit code is 5.",
    )  # fmt: skip
    pool = click.option(
        "--pool", cls=GoalOption, multiple=True, type=PoolSize(), callback=_distinct, metavar="NAME=BYTES",
        help="A part of RAM with a pointer of its own, fastest first; the last may go without '=BYTES'. Repeatable.",
    )  # fmt: skip
    threads = threads_option("Split large layers into chunks for so many threads, and add functions that start them.")
    database = database_option("Measurements by 'ccml tune', by which loops are chosen in place of the cost model.")
    return optimize(max_ram(pool(threads(database(command)))))  # type: ignore[return-value]


clock_option = click.option(
    "--clock", cls=BudgetOption, type=Frequency(), metavar="FREQUENCY",
    help="The clock of the core, such as 80MHz, by which cycles become milliseconds.",
)  # fmt: skip


def budget_options(function: F) -> F:
    """``--board``, as ``board``, and as one argument ``budget`` a :class:`Budget`: ``--max-flash``, ``--max-stack``,
    ``--max-time`` and ``--clock``."""

    @wraps(function)
    def command(
        *args: Any, max_flash: int | None, max_stack: int | None, max_time: float | None, clock: int | None,
        **values: Any,
    ) -> Any:  # fmt: skip
        from ..report.budget import Budget

        budget = Budget(max_flash=max_flash, max_stack=max_stack, max_time=max_time, clock=clock)
        return function(*args, budget=budget, **values)

    board = click.option(
        "--board", cls=TargetOption, metavar="NAME", shell_complete=complete_board,
        help="A board that the model has to fit, in place of --target; 'ccml boards' lists them.",
    )  # fmt: skip
    max_flash = click.option(
        "--max-flash", cls=BudgetOption, type=ByteCount(), metavar="BYTES", help="The flash that may be used."
    )
    max_stack = click.option(
        "--max-stack", cls=BudgetOption, type=ByteCount(), metavar="BYTES", help="The stack that may be used."
    )
    max_time = click.option(
        "--max-time", cls=BudgetOption, type=Duration(), metavar="TIME",
        help="How long a run may take, such as 20ms, by the most cycles predicted; needs --clock or --board.",
    )  # fmt: skip
    return board(max_flash(max_stack(max_time(clock_option(command)))))  # type: ignore[return-value]


JSON_FLAG = "--json"
json_option = click.option(JSON_FLAG, "as_json", cls=GeneralOption, is_flag=True, help="Print JSON instead of text.")
