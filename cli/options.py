"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..ir.threads import MOST_THREADS
from .config import config_option, with_file_defaults, with_file_values
from .help import BudgetOption, GeneralOption, GoalOption, ModelOption, TargetOption
from .parameter_types import (
    ByteCount,
    Count,
    Duration,
    Frequency,
    InputLength,
    InputShape,
    InputValue,
    NameValue,
    OperatorFile,
    PoolSize,
    StatePair,
    StringBound,
)

F = TypeVar("F", bound=Callable[..., Any])


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
        help="Bind a symbolic dimension of the model, or with N..M let each run have an extent (with 32*N..M: a "
        "multiple of 32); repeatable.",
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
        help="The bytes that strings of an input have at most (64 without), the elements of a Range, the rows of a "
        "Loop, or what each dimension of a shape has that a run computes; repeatable.",
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
        help="Float layers as the sums that ONNX defines: no Winograd's algorithm, and no linear layers made one or "
        "moved before a Resize.",
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
            callback=with_file_values,
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
    ``--max-cycles``, ``--max-time`` and ``--clock``."""

    @wraps(function)
    def command(
        *args: Any, max_flash: int | None, max_stack: int | None, max_cycles: int | None, max_time: float | None,
        clock: int | None, **values: Any,
    ) -> Any:  # fmt: skip
        from ..report.budget import Budget

        budget = Budget(
            max_flash=max_flash, max_stack=max_stack, max_cycles=max_cycles, max_time=max_time, clock=clock
        )  # fmt: skip
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
    max_cycles = click.option(
        "--max-cycles", cls=BudgetOption, type=Count(), metavar="NUMBER",
        help="How many cycles a run may take, such as 4M, by the most predicted.",
    )  # fmt: skip
    max_time = click.option(
        "--max-time", cls=BudgetOption, type=Duration(), metavar="TIME",
        help="How long a run may take, such as 20ms, by the most cycles predicted; needs --clock or --board.",
    )  # fmt: skip
    return board(max_flash(max_stack(max_cycles(max_time(clock_option(command))))))  # type: ignore[return-value]


JSON_FLAG = "--json"
json_option = click.option(JSON_FLAG, "as_json", cls=GeneralOption, is_flag=True, help="Print JSON instead of text.")
