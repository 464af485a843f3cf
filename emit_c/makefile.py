"""The Makefile of an artifact."""

from __future__ import annotations

from collections.abc import Sequence

from ..custom_ops.unit import source_files
from ..ir.program import Program
from ..targets import Kit, Library, Machine
from .compiler_flags import MEANING, clang_flags, gcc_flags, machine_flags, optimization, thread_flags
from .symbols import LICENCE, Symbols, foreign_kernels

MAKEFILE = "Makefile"
_WARNINGS = "-Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion -pedantic"
_WEIGHTS_RULE = "\n$(BUILD)/$(NAME)_weights.o: $(FOLDER)$(NAME)_weights.bin\n"


def makefile(
    program: Program,
    machine: Machine,
    symbols: Symbols,
    weights_file: bool,
    models: Sequence[Symbols] = (),
) -> str:
    """Builds ``lib<name>.a``, and what is loaded where the target has such libraries. With ``models`` it is the library
    of all of them."""
    target, abi = machine.target, machine.abi
    name = symbols.prefix
    flags = " ".join((*MEANING, *machine_flags(machine)))
    loaded = [] if target.library is None else [target.library.file.format(name=name)]
    static = abi.objects.library
    libraries = [static.format(name=name), *loaded]
    files = " ".join(f"$(FOLDER){library}" for library in libraries)
    foreign = foreign_kernels(program, symbols)
    units = ["$(NAME)", *(["$(NAME)_weights"] if program.weights is None else []), *foreign]
    if models:
        constants = ["$(NAME)_weights"] if program.weights is None else []
        units = ["$(NAME)_kernels", *constants, *(model.prefix for model in models), *foreign]
    if program.threads:
        units += [f"{model.prefix}_threads" for model in models] or ["$(NAME)_threads"]
    headers = [*(f"{model.prefix}.h" for model in models), "$(NAME).h", "$(NAME)_internal.h", "$(NAME)_runtime.h"]
    headers += [file for file in source_files(foreign, name) if file.endswith(".inc")]
    exported = [function for model in models or [symbols] for function in model.functions]
    return f"""# {name} for {machine.name} ({abi.name}, {machine.cpu.name}).
# {LICENCE}
#
#   make                                       {" ".join(libraries)}
#   make CROSS_COMPILE={abi.cross_compile or "prefix-":<24}with the GCC of that prefix
#   make CC=clang                              with clang
{_kit_line(target.kit)}#   make CFLAGS=...                            with more flags, after these
#   make clean
NAME := {name}
SELF := $(lastword $(MAKEFILE_LIST))
FOLDER := $(dir $(SELF))
BUILD := $(FOLDER)build
{f"CROSS_COMPILE ?= {abi.cross_compile}".rstrip()}
CLANG_TARGET := {abi.clang_triple}

ifeq ($(origin CC),default)
{_choice(target.kit, "CC", "clang", _compiler(machine))}endif
ifeq ($(origin AR),default)
{_choice(target.kit, "AR", "llvm-ar", abi.archiver or "$(CROSS_COMPILE)ar")}endif

# Clang is one compiler for all machines: for another than this, it has to be told which.
IS_CLANG := $(findstring clang,$(notdir $(CC)))
ifneq ($(and $(IS_CLANG),$(CLANG_TARGET),{_is_cross(machine)}),)
TARGET_FLAGS := --target=$(CLANG_TARGET)
LINK_FLAGS := -fuse-ld=lld
endif

WARNINGS := {_WARNINGS}
ALL_CFLAGS := $(TARGET_FLAGS) -std=c99 {optimization(program)}{_position_independent(machine)} \\
  -fvisibility=hidden $(WARNINGS) {flags}
# Neither compiler may turn loops into calls of memcpy and memset: the model needs no C library. GCC would also keep
# more in registers than there are.
ifeq ($(IS_CLANG),)
ALL_CFLAGS += {" ".join(gcc_flags(machine))}
else
ALL_CFLAGS += {" ".join(clang_flags(machine))}
endif
ALL_CFLAGS += $(CFLAGS) -I$(FOLDER).

OBJECTS := {" ".join(f"$(BUILD)/{unit}.o" for unit in units)}
HEADERS := $(addprefix $(FOLDER),{" ".join(headers)}) $(SELF)

.PHONY: all clean
all: {files}

$(FOLDER){static.format(name="$(NAME)")}: $(OBJECTS)
	rm -f $@
	$(AR) rcs $@ $(OBJECTS)
{_loaded(target.library, exported, thread_flags(program, machine)) if target.library else ""}
$(BUILD)/%.o: $(FOLDER)%.c $(HEADERS)
	@mkdir -p $(BUILD)
	$(CC) $(ALL_CFLAGS) -c $< -o $@
{_WEIGHTS_RULE if weights_file else ""}
clean:
	rm -f $(OBJECTS) {files}
	rmdir $(BUILD) 2>/dev/null || true
"""


def folder_makefile(names: Sequence[str]) -> str:
    """The Makefile of a folder with several models, which have ``NAME.mk`` each. Variables given to it reach all."""
    return f"""# Several models.
# {LICENCE}
#
#   make                 all of them
#   make {names[0]:<16}one of them, or one library: make lib{names[0]}.a
#   make clean
#
# {names[0]}.mk says what else there is.
FOLDER := $(dir $(lastword $(MAKEFILE_LIST)))
# Without those that were removed by hand.
MODELS := $(basename $(notdir $(wildcard $(addprefix $(FOLDER),{" ".join(f"{name}.mk" for name in names)}))))
LIBRARIES := $(foreach model,$(MODELS),$(FOLDER)lib$(model).a $(FOLDER)lib$(model).so)
CLEANED := $(addprefix clean-,$(MODELS))

.PHONY: all clean $(MODELS) $(CLEANED) $(LIBRARIES)
all: $(MODELS)
clean: $(CLEANED)

$(MODELS):
	@$(MAKE) --no-print-directory -f $(FOLDER)$@.mk
$(CLEANED):
	@$(MAKE) --no-print-directory -f $(FOLDER)$(patsubst clean-%,%,$@).mk clean
$(LIBRARIES):
	@$(MAKE) --no-print-directory -f $(FOLDER)$(patsubst lib%,%,$(basename $(notdir $@))).mk $(FOLDER)$(notdir $@)
"""


def _kit_line(kit: Kit | None) -> str:
    return f"#   make {kit.variable + '=/path':<38}with the clang of {kit.name}\n" if kit else ""


def _choice(kit: Kit | None, variable: str, program: str, usual: str) -> str:
    """The assignment of a tool: ``program`` of the kit where one is given, else the ``usual`` one."""
    if kit is None:
        return f"{variable} := {usual}\n"
    found = f"$(firstword $(wildcard $({kit.variable})/{kit.programs}/{program}))"
    return f"ifneq ($({kit.variable}),)\n{variable} := {found}\nelse\n{variable} := {usual}\nendif\n"


def _compiler(machine: Machine) -> str:
    return "$(CROSS_COMPILE)gcc" if machine.target.compiler == "gcc" else machine.target.compiler


def _position_independent(machine: Machine) -> str:
    """The flags, if any, with a space in front."""
    flags = machine.abi.objects.position_independent if machine.target.hosted else ()
    return "".join(f" {flag}" for flag in flags)


def _is_cross(machine: Machine) -> str:
    """A make expression that is empty when the compiler's own machine is the target."""
    return "$(CROSS_COMPILE)" if machine.target.compiler == "gcc" else "always"


def _loaded(library: Library, exported: Sequence[str], threads: Sequence[str]) -> str:
    """The rule for the library that is loaded."""
    flags = [*library.compiler_options("$(NAME)", exported), *threads]
    return f"""
$(FOLDER){library.file.format(name="$(NAME)")}: $(OBJECTS)
	$(CC) $(TARGET_FLAGS) $(LINK_FLAGS) $(CFLAGS) {" ".join(flags)} \\
		$(OBJECTS) $(LDFLAGS) -o $@
"""
