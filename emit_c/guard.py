"""The check that the C of a model makes before it runs code that not every processor has, as text.

It asks for what the compiler was told that it may use, as its feature macros say. The entry function is compiled for
any processor of the ABI, and what it guards is a function of its own, so that nothing of it runs too early.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..targets import CpuFeature, CpuidBit, HwcapBit, Machine, SharedByte, SystemValue
from ..targets.detection import ARCH_PRCTL, REQUEST_STATE
from .symbols import Symbols

_REGISTERS = ("eax", "ebx", "ecx", "edx")

_BY_CPUID = """
{any_cpu}
static void {found}_cpuid(unsigned int leaf, unsigned int subleaf, unsigned int registers[4])
{{
    __asm__ volatile("cpuid"
                     : "=a"(registers[0]), "=b"(registers[1]), "=c"(registers[2]), "=d"(registers[3])
                     : "a"(leaf), "c"(subleaf));
}}

{any_cpu}
static int {found}(void)
{{
    /* Leaf, subleaf, register, bit, what the operating system has to save, and what of it has to be asked for. */
    static const unsigned int needs[][6] = {{
{rows}
        {{0, 0, 0, 0, 0, 0}}
    }};
    unsigned int i, registers[4], low, high;
    for (i = 0; i < sizeof needs / sizeof needs[0]; i++) {{
        {found}_cpuid(needs[i][0] & 0x80000000u, 0, registers);
        if (registers[0] < needs[i][0])
            return 0;
        {found}_cpuid(needs[i][0], needs[i][1], registers);
        if ((registers[needs[i][2]] & needs[i][3]) != needs[i][3])
            return 0;
        if (needs[i][4] != 0) {{
            {found}_cpuid(1, 0, registers);
            if ((registers[2] & 0x8000000u) == 0) /* OSXSAVE */
                return 0;
            __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            (void)high;
            if ((low & needs[i][4]) != needs[i][4])
                return 0;
        }}
        if (needs[i][5] != 0) {{
#if defined(__linux__)
            long result = {ARCH_PRCTL};
            __asm__ volatile("syscall"
                             : "+a"(result)
                             : "D"({REQUEST_STATE:#x}l), "S"((long)needs[i][5])
                             : "rcx", "r11", "memory");
            if (result != 0)
#endif
                return 0;
        }}
    }}
    return 1;
}}
"""

_BY_AUXILIARY_VECTOR = """
unsigned long getauxval(unsigned long entry);

{any_cpu}
static int {found}(void)
{{
    /* Entry of the auxiliary vector, bit. */
    static const unsigned long needs[][2] = {{
{rows}
        {{0, 0}}
    }};
    unsigned int i;
    for (i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (needs[i][1] != 0 && (getauxval(needs[i][0]) & needs[i][1]) == 0)
            return 0;
    return 1;
}}
"""


_BY_SHARED_PAGE = """
{any_cpu}
static int {found}(void)
{{
    /* Bytes of a page that the system shows every process. */
    static const unsigned long long needs[] = {{
{rows}
        0
    }};
    unsigned int i;
    for (i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (needs[i] != 0 && *(const volatile unsigned char *)needs[i] == 0)
            return 0;
    return 1;
}}
"""

_BY_SYSTEM_VALUE = """
int sysctlbyname(const char *name, void *value, unsigned long *size, void *changed, unsigned long changed_size);

{any_cpu}
static int {found}(void)
{{
    static const char *const needs[] = {{
{rows}
        ""
    }};
    unsigned int i;
    for (i = 0; i < sizeof needs / sizeof needs[0] && needs[i][0] != 0; i++) {{
        int value = 0;
        unsigned long size = sizeof value;
        if (sysctlbyname(needs[i], &value, &size, 0, 0) != 0 || value == 0)
            return 0;
    }}
    return 1;
}}
"""

_WAYS = {
    CpuidBit: ("__x86_64__", _BY_CPUID),
    HwcapBit: ("__linux__", _BY_AUXILIARY_VECTOR),
    SharedByte: ("_WIN32", _BY_SHARED_PAGE),
    SystemValue: ("__APPLE__", _BY_SYSTEM_VALUE),
}
"""Where each kind of flag can be asked for, as a macro of compilers, and how."""


def any_cpu_macro(macro: str, machine: Machine) -> str:
    """The definition of ``macro`` as what makes a function run on any processor."""
    detection = machine.abi.detection
    attribute = detection.c_attribute if detection is not None and machine.asked_for else ""
    if not attribute:
        return f"#define {macro}\n"
    return f"#if defined(__GNUC__)\n#define {macro} __attribute__(({attribute}))\n#else\n#define {macro}\n#endif\n"


def guard_source(machine: Machine, symbols: Symbols) -> str:
    """``int <prefix>_cpu_fits(void)``, and the macros ``<MACRO>_ANY_CPU`` for a function that runs on any processor
    and ``<MACRO>_APART`` for one that must not become part of such."""
    detection = machine.abi.detection
    assert detection is not None
    features = list(detection.features.values())
    ((where, template),) = {_WAYS[type(feature.flag)] for feature in features}
    attributes = "noinline" + (f", {detection.c_attribute}" if detection.c_attribute else "")
    any_cpu, apart = f"{symbols.macro}_ANY_CPU", f"{symbols.macro}_APART"
    check = template.format(
        any_cpu=any_cpu, found=f"{symbols.cpu_fits}_now", rows="\n".join(_rows(features)), ARCH_PRCTL=ARCH_PRCTL,
        REQUEST_STATE=REQUEST_STATE,
    )  # fmt: skip
    return f"""/* Whether the CPU has what the compiler was told that it may use. */
#if defined(__GNUC__) && defined({where})
#define {any_cpu} __attribute__(({attributes}))
#define {apart} __attribute__((noinline))
{check}
{any_cpu}
static int {symbols.cpu_fits}(void)
{{
    static int answer; /* 0: nobody asked yet, 1: it has, 2: it has not */
    int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (known == 0) {{
        known = {symbols.cpu_fits}_now() ? 1 : 2;
        __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
    }}
    return known == 1;
}}
#else
#define {any_cpu}
#define {apart}
static int {symbols.cpu_fits}(void)
{{
    return 1;
}}
#endif
"""


def _rows(features: Iterable[CpuFeature]) -> Iterable[str]:
    """The lines of the table of what is needed."""
    for feature in features:
        flag = feature.flag
        if isinstance(flag, CpuidBit):
            register = _REGISTERS.index(flag.register)
            state = f"{flag.state:#x}u, {flag.granted}"
            row = f"{{{flag.leaf:#x}u, {flag.subleaf}, {register}, {1 << flag.bit:#x}u, {state}}}"
        elif isinstance(flag, HwcapBit):
            row = f"{{{flag.entry}, {1 << flag.bit:#x}ul}}"
        elif isinstance(flag, SharedByte):
            row = f"{flag.address:#x}ull"
        else:
            row = f'"{flag.name}"'
        condition = " || ".join(f"defined({macro})" for macro in feature.macros)
        yield f"#if {condition}\n        {row},\n#endif"
