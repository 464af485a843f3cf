"""Independent pieces of a compilation in processes of their own, as many at a time as the user allows."""

from __future__ import annotations

import copyreg
import multiprocessing
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeVar

from .errors import CcmlError, ErrorCode

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_JOBS = 256

_jobs: ContextVar[int] = ContextVar("jobs", default=1)
_function: Callable[[Any], Any] | None = None
"""Of a process that :func:`mapped` has begun: what it is for."""


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


@contextmanager
def allowed(jobs: int) -> Iterator[None]:
    """:func:`mapped` uses up to ``jobs`` processes within. Raises ``BAD_OPTION`` for less than one."""
    if not 1 <= jobs <= MOST_JOBS:
        raise CcmlError(ErrorCode.BAD_OPTION, f"{jobs} jobs", hint=f"1 to {MOST_JOBS}")
    before = _jobs.set(jobs)
    try:
        yield
    finally:
        _jobs.reset(before)


def mapped(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``function`` of each of ``items``, in their order. All of them, and the results, have to go through ``pickle``
    where processes are not forked."""
    count = min(_jobs.get(), len(items))
    if count < 2:
        return [function(item) for item in items]
    context = multiprocessing.get_context(_start_method())
    with ProcessPoolExecutor(count, context, initializer=_begin, initargs=(function,)) as pool:
        return list(pool.map(_call, items))


def _start_method() -> str:
    """A copy of a process with several threads may find a lock that nobody will open."""
    forks = "fork" in multiprocessing.get_all_start_methods() and multiprocessing.get_start_method() != "spawn"
    return "fork" if forks and threading.active_count() == 1 else "spawn"


def _begin(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    _jobs.set(1)


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
