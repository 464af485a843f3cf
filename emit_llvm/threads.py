"""Threads in LLVM IR: the function that hands out chunks, and those that start and stop threads of the system.

They are what ``runtime_c/ccml_workers.c`` is in C, which says how they work; the caller reserves memory for either. A
range of chunks is the word ``job << 32 | end << 16 | first``.
"""

from __future__ import annotations

from ..ir.program import Program
from ..ir.threads import MOST_THREADS
from ..targets import Machine
from .placement import function_attributes
from .status import NO_THREADS, NULL_POINTER
from .writer import Function


def system_functions(machine: Machine) -> tuple[str, ...]:
    """What a library with threads for ``machine`` calls of its system."""
    threads = machine.target.threads
    return () if threads is None else tuple(threads.declarations)


_LOOKS = 2000
"""At a word that another thread is to change, before a worker sleeps or the caller lets others run."""
_JOB, _DONE, _SLEEPING, _STOP, _WORKERS, _KNOWN, _TASK, _CONTEXT, _WAKE, _HANDLES, _RANGES = (
    64, 128, 192, 196, 200, 204, 256, 264, 320, 384, 896,
)  # fmt: skip
"""Offsets in ``ccml_workers``, behind ``parallel_for`` and ``pool``."""
_SYSTEM = {
    "create": "i1 @{verb}(ptr %place, ptr %team)", "join": "void @{verb}(ptr %place)", "yield": "void @{verb}()",
    "wake_create": "i1 @{verb}(ptr %wake)", "wake_post": "void @{verb}(ptr %wake)",
    "wake_wait": "void @{verb}(ptr %wake)", "wake_destroy": "void @{verb}(ptr %wake)",
}  # fmt: skip
"""The functions of ``targets/threading.py``."""


def workers_symbols(program: Program) -> list[str]:
    """The functions that start and stop threads, where there are any."""
    return [f"{program.name}_workers_{verb}" for verb in ("start", "stop")] if program.threads else []


def parallel_symbol(prefix: str) -> str:
    """The function ``void (ptr threads, ptr task, ptr context, i32 count)`` that hands out the chunks of a call."""
    return f"{prefix}_parallel"


def parallel_function(prefix: str, machine: Machine, attributes: str) -> Function:
    """By the threads of the caller, or one after the other where there are none."""
    symbol, word = parallel_symbol(prefix), f"i{machine.abi.pointer_bits}"
    header = f"define internal void @{symbol}(ptr %threads, ptr %task, ptr %context, i32 %count)"
    text = f"""{header} noinline nounwind {attributes} {{
entry:
  %none = icmp eq ptr %threads, null
  br i1 %none, label %alone, label %some
some:
  %function = load ptr, ptr %threads
  %nothing = icmp eq ptr %function, null
  br i1 %nothing, label %alone, label %together
together:
  %at = getelementptr inbounds i8, ptr %threads, {word} {machine.abi.pointer_bits // 8}
  %pool = load ptr, ptr %at
  call void %function(ptr %pool, ptr %task, ptr %context, i32 %count)
  ret void
alone:
  br label %chunks
chunks:
  %chunk = phi i32 [ 0, %alone ], [ %next, %chunks ]
  call void %task(ptr %context, i32 %chunk)
  %next = add i32 %chunk, 1
  %more = icmp slt i32 %next, %count
  br i1 %more, label %chunks, label %end
end:
  ret void
}}
"""
    return Function(symbol, text, frozenset())


def workers_functions(program: Program, machine: Machine, attributes: str) -> list[Function]:
    """``NAME_workers_start`` and ``NAME_workers_stop``, and what they need."""
    writer = _Workers(program.name, machine, attributes)
    return [
        *writer.of_system(), writer.range(), writer.chunks(), writer.publish(), writer.parallel_for(), writer.work(),
        writer.stop(), writer.start(),
    ]  # fmt: skip


class _Workers:
    def __init__(self, name: str, machine: Machine, attributes: str) -> None:
        self.name, self.machine, self.attributes = name, machine, attributes
        self.word = f"i{machine.abi.pointer_bits}"
        assert machine.target.threads is not None
        self.threads = machine.target.threads
        self.bytes = machine.abi.pointer_bits // 8
        self.relax = f"call {machine.abi.spin_hint}" if machine.abi.spin_hint else ""

    def _function(self, verb: str, header: str, body: str) -> Function:
        """``header`` and ``body`` with the name's prefix for ``NAME``."""
        symbol = f"{self.name}_{verb}"
        attributes = function_attributes(self.machine, symbol, self.attributes)
        text = f"{header} {attributes} {{\nentry:\n{body}}}\n".replace("NAME", self.name)
        types = {name: each.format(word=self.word) for name, each in self.threads.declarations.items()}
        found = [f"declare {declared}" for name, declared in types.items() if f"@{name}(" in text]
        if self.relax and self.relax in text:
            found.append(f"declare {self.relax.removeprefix('call ').replace('(i32 1)', '(i32)')}")
        return Function(symbol, text, frozenset(found))

    def _at(self, name: str, offset: int) -> str:
        return f"  %{name} = getelementptr inbounds i8, ptr %team, {self.word} {offset}\n"

    def of_system(self) -> list[Function]:
        """What the system has in its own way (``targets/threading.py``)."""
        headers = {verb: header.format(verb=f"NAME_{verb}") for verb, header in _SYSTEM.items()}
        return [
            self._function(verb, f"define internal {header} nounwind", self._of_system(verb))
            for verb, header in headers.items()
        ]

    def _of_system(self, verb: str) -> str:
        return self.threads.bodies[verb].format(name=self.name, word=self.word)

    def range(self) -> Function:
        """Runs the first chunk of a range, or the last, as long as there are some of that job; how many it ran."""
        body = f"""{self._at("task_at", _TASK)}{self._at("context_at", _CONTEXT)}  br label %look
look:
  %ran = phi i32 [ 0, %entry ], [ %more, %run ]
  %found = load atomic i64, ptr %range acquire, align 8
  br label %test
test:
  %word = phi i64 [ %found, %look ], [ %other, %claim ]
  %high = lshr i64 %word, 32
  %of = trunc i64 %high to i32
  %same = icmp eq i32 %of, %job
  %first = and i64 %word, 65535
  %shifted = lshr i64 %word, 16
  %end = and i64 %shifted, 65535
  %some = icmp ult i64 %first, %end
  %left = and i1 %same, %some
  br i1 %left, label %claim, label %over
claim:
  %task = load atomic ptr, ptr %task_at monotonic, align {self.bytes}
  %context = load atomic ptr, ptr %context_at monotonic, align {self.bytes}
  %before = sub i64 %end, 1
  %wide = select i1 %last, i64 %before, i64 %first
  %step = select i1 %last, i64 -65536, i64 1
  %rest = add i64 %word, %step
  %pair = cmpxchg ptr %range, i64 %word, i64 %rest acq_rel acquire, align 8
  %other = extractvalue {{ i64, i1 }} %pair, 0
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %run, label %test
run:
  %chunk = trunc i64 %wide to i32
  call void %task(ptr %context, i32 %chunk)
  %more = add i32 %ran, 1
  br label %look
over:
  ret i32 %ran
"""
        header = "define internal i32 @NAME_run_range(ptr %team, ptr %range, i32 %job, i1 %last) noinline nounwind"
        return self._function("run_range", header, body)

    def chunks(self) -> Function:
        """What a thread does for a job: its own range, then what is left of others."""
        body = f"""{self._at("done", _DONE)}{self._at("workers", _WORKERS)}{self._at("ranges", _RANGES)}\
  %others = load i32, ptr %workers
  %threads = add i32 %others, 1
  br label %next
next:
  %step = phi i32 [ 0, %entry ], [ %following, %range ]
  %ran = phi i32 [ 0, %entry ], [ %sum, %range ]
  %some = icmp ult i32 %step, %threads
  br i1 %some, label %range, label %tell
range:
  %at = add i32 %self, %step
  %whose = urem i32 %at, %threads
  %offset = shl i32 %whose, 6
  %place = getelementptr inbounds i8, ptr %ranges, i32 %offset
  %last = icmp ne i32 %step, 0
  %found = call i32 @NAME_run_range(ptr %team, ptr %place, i32 %job, i1 %last)
  %sum = add i32 %ran, %found
  %following = add i32 %step, 1
  br label %next
tell:
  %any = icmp ne i32 %ran, 0
  br i1 %any, label %add, label %over
add:
  %before = atomicrmw add ptr %done, i32 %ran release, align 4
  br label %over
over:
  ret void
"""
        header = "define internal void @NAME_run_chunks(ptr %team, i32 %self, i32 %job) noinline nounwind"
        return self._function("run_chunks", header, body)

    def publish(self) -> Function:
        """A job, of which the number is returned, and whoever sleeps is woken."""
        body = f"""{self._at("job_at", _JOB)}{self._at("done", _DONE)}{self._at("task_at", _TASK)}\
{self._at("context_at", _CONTEXT)}{self._at("sleeping", _SLEEPING)}{self._at("wake", _WAKE)}\
{self._at("workers", _WORKERS)}{self._at("ranges", _RANGES)}\
  %old = load atomic i32, ptr %job_at monotonic, align 4
  %job = add i32 %old, 1
  %others = load i32, ptr %workers
  %threads = add i32 %others, 1
  %wide_job = zext i32 %job to i64
  %high = shl i64 %wide_job, 32
  store atomic ptr %task, ptr %task_at monotonic, align {self.bytes}
  store atomic ptr %context, ptr %context_at monotonic, align {self.bytes}
  store atomic i32 0, ptr %done monotonic, align 4
  br label %range
range:
  %thread = phi i32 [ 0, %entry ], [ %next, %range ]
  %first = phi i32 [ 0, %entry ], [ %end, %range ]
  %next = add i32 %thread, 1
  %product = mul i32 %count, %next
  %end = udiv i32 %product, %threads
  %wide_end = zext i32 %end to i64
  %middle = shl i64 %wide_end, 16
  %wide_first = zext i32 %first to i64
  %low = or i64 %middle, %wide_first
  %word = or i64 %high, %low
  %offset = shl i32 %thread, 6
  %place = getelementptr inbounds i8, ptr %ranges, i32 %offset
  store atomic i64 %word, ptr %place release, align 8
  %others_left = icmp ult i32 %next, %threads
  br i1 %others_left, label %range, label %announce
announce:
  store atomic i32 %job, ptr %job_at seq_cst, align 4
  %some = load atomic i32, ptr %sleeping seq_cst, align 4
  %any = icmp ne i32 %some, 0
  br i1 %any, label %take, label %over
take:
  %number = atomicrmw xchg ptr %sleeping, i32 0 seq_cst, align 4
  br label %test
test:
  %left = phi i32 [ %number, %take ], [ %fewer, %post ]
  %more = icmp sgt i32 %left, 0
  br i1 %more, label %post, label %over
post:
  call void @NAME_wake_post(ptr %wake)
  %fewer = sub i32 %left, 1
  br label %test
over:
  ret i32 %job
"""
        header = "define internal i32 @NAME_publish(ptr %team, ptr %task, ptr %context, i32 %count) noinline nounwind"
        return self._function("publish", header, body)

    def parallel_for(self) -> Function:
        body = f"""{self._at("done", _DONE)}{self._at("workers", _WORKERS)}\
  %others = load i32, ptr %workers
  %alone = icmp eq i32 %others, 0
  %large = icmp sgt i32 %count, 65535
  %serial = or i1 %alone, %large
  br i1 %serial, label %one, label %together
one:
  %first = phi i32 [ 0, %entry ], [ %second, %call ]
  %left = icmp slt i32 %first, %count
  br i1 %left, label %call, label %end
call:
  call void %task(ptr %context, i32 %first)
  %second = add i32 %first, 1
  br label %one
together:
  %job = call i32 @NAME_publish(ptr %team, ptr %task, ptr %context, i32 %count)
  call void @NAME_run_chunks(ptr %team, i32 0, i32 %job)
  br label %wait
wait:
  %looks = phi i32 [ 0, %together ], [ %looked, %relax ], [ 0, %yield ]
  %found = load atomic i32, ptr %done acquire, align 4
  %busy = icmp slt i32 %found, %count
  br i1 %busy, label %again, label %end
again:
  %looked = add i32 %looks, 1
  %tired = icmp eq i32 %looked, {_LOOKS}
  br i1 %tired, label %yield, label %relax
relax:
  {self.relax}
  br label %wait
yield:
  call void @NAME_yield()
  br label %wait
end:
  ret void
"""
        header = "define internal void @NAME_parallel_for(ptr %team, ptr %task, ptr %context, i32 %count) nounwind"
        return self._function("parallel_for", header, body)

    def work(self) -> Function:
        """What a thread does until it is stopped."""
        body = f"""{self._at("job_at", _JOB)}{self._at("sleeping", _SLEEPING)}{self._at("stop", _STOP)}\
{self._at("known", _KNOWN)}{self._at("wake", _WAKE)}\
  %before_me = atomicrmw add ptr %known, i32 1 monotonic, align 4
  %self = add i32 %before_me, 1
  br label %wait
wait:
  %job = phi i32 [ 0, %entry ], [ %now, %chunks ]
  br label %look
look:
  %looks = phi i32 [ 0, %wait ], [ %looked, %relax ], [ 0, %doze ], [ 0, %sleep ]
  %now = load atomic i32, ptr %job_at acquire, align 4
  %same = icmp eq i32 %now, %job
  br i1 %same, label %idle, label %begin
idle:
  %looked = add i32 %looks, 1
  %awake = icmp sle i32 %looked, {_LOOKS}
  br i1 %awake, label %relax, label %doze
relax:
  {self.relax}
  br label %look
doze:
  %before = atomicrmw add ptr %sleeping, i32 1 seq_cst, align 4
  %last = load atomic i32, ptr %job_at seq_cst, align 4
  %still = icmp eq i32 %last, %job
  br i1 %still, label %sleep, label %look
sleep:
  call void @NAME_wake_wait(ptr %wake)
  br label %look
begin:
  %stopped = load atomic i32, ptr %stop monotonic, align 4
  %over = icmp ne i32 %stopped, 0
  br i1 %over, label %end, label %chunks
chunks:
  call void @NAME_run_chunks(ptr %team, i32 %self, i32 %now)
  br label %wait
end:
  ret {" ".join(self.threads.result)}
"""
        header = f"define internal {self.threads.result[0]} @NAME_work(ptr %team) nounwind"
        return self._function("work", header, body)

    def stop(self) -> Function:
        body = f"""  %none = icmp eq ptr %team, null
  br i1 %none, label %end, label %some
some:
  %function = load ptr, ptr %team
  %stopped = icmp eq ptr %function, null
  br i1 %stopped, label %end, label %stop_all
stop_all:
{self._at("stop", _STOP)}{self._at("workers", _WORKERS)}{self._at("wake", _WAKE)}{self._at("handles", _HANDLES)}\
  store atomic i32 1, ptr %stop monotonic, align 4
  %job = call i32 @NAME_publish(ptr %team, ptr null, ptr null, i32 0)
  %count = load i32, ptr %workers
  br label %test
test:
  %worker = phi i32 [ 0, %stop_all ], [ %next, %join ]
  %more = icmp slt i32 %worker, %count
  br i1 %more, label %join, label %over
join:
  call void @NAME_wake_post(ptr %wake)
  %place = getelementptr inbounds {self.word}, ptr %handles, i32 %worker
  call void @NAME_join(ptr %place)
  %next = add i32 %worker, 1
  br label %test
over:
  call void @NAME_wake_destroy(ptr %wake)
  store ptr null, ptr %team
  ret void
end:
  ret void
"""
        return self._function("workers_stop", "define void @NAME_workers_stop(ptr %team) nounwind", body)

    def start(self) -> Function:
        body = f"""  %none = icmp eq ptr %team, null
  br i1 %none, label %missing, label %some
missing:
  ret i32 {NULL_POINTER}
some:
{self._at("pool", self.bytes)}{self._at("job_at", _JOB)}{self._at("done", _DONE)}{self._at("sleeping", _SLEEPING)}\
{self._at("stop", _STOP)}{self._at("workers", _WORKERS)}{self._at("known", _KNOWN)}{self._at("wake", _WAKE)}\
{self._at("handles", _HANDLES)}\
  store ptr null, ptr %team
  %few = icmp slt i32 %threads, 1
  %many = icmp sgt i32 %threads, {MOST_THREADS}
  %wrong = or i1 %few, %many
  br i1 %wrong, label %refuse, label %prepare
refuse:
  ret i32 {NO_THREADS}
prepare:
  %failed = call i1 @NAME_wake_create(ptr %wake)
  br i1 %failed, label %refuse, label %ready
ready:
  store ptr @NAME_parallel_for, ptr %team
  store ptr %team, ptr %pool
  store i32 0, ptr %job_at
  store i32 0, ptr %done
  store i32 0, ptr %sleeping
  store i32 0, ptr %stop
  store i32 0, ptr %known
  %count = sub i32 %threads, 1
  store i32 %count, ptr %workers
  br label %test
test:
  %worker = phi i32 [ 0, %ready ], [ %next, %created ]
  %more = icmp slt i32 %worker, %count
  br i1 %more, label %create, label %end
create:
  %handle = getelementptr inbounds {self.word}, ptr %handles, i32 %worker
  %bad = call i1 @NAME_create(ptr %handle, ptr %team)
  br i1 %bad, label %undo, label %created
created:
  %next = add i32 %worker, 1
  br label %test
undo:
  store i32 %worker, ptr %workers
  call void @NAME_workers_stop(ptr %team)
  ret i32 {NO_THREADS}
end:
  ret i32 0
"""
        header = "define i32 @NAME_workers_start(ptr %team, i32 %threads) nounwind"
        return self._function("workers_start", header, body)
