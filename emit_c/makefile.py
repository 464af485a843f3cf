"""The Makefile of an artifact."""

from __future__ import annotations

from ..ir.program import Program
from ..targets import Machine
from .compiler_flags import MEANING, clang_flags, gcc_flags, machine_flags, optimization
from .symbols import LICENCE, Symbols

_WARNINGS = "-Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion -pedantic"
_WEIGHTS_RULE = "\n$(BUILD)/$(NAME)_weights.o: $(FOLDER)$(NAME)_weights.bin\n"


def makefile(program: Program, machine: Machine, symbols: Symbols, weights_file: bool) -> str:
    """Builds ``lib<name>.a``, and ``lib<name>.so`` for targets with an operating system."""
    target, abi = machine.target, machine.abi
    name = symbols.prefix
    flags = " ".join((*MEANING, *machine_flags(machine)))
    libraries = f"lib{name}.a" + (f" lib{name}.so" if target.hosted else "")
    return f"""# {name} for {machine.name} ({abi.name}, {machine.cpu.name}).
# {LICENCE}
#
#   make                                       {libraries}
#   make CROSS_COMPILE={abi.cross_compile or "prefix-":<24}with the GCC of that prefix
#   make CC=clang                              with clang
#   make ANDROID_NDK=/path/of/the/ndk          with the clang of an Android NDK
#   make CFLAGS=...                            with more flags, after these
#   make clean
NAME := {name}
FOLDER := $(dir $(lastword $(MAKEFILE_LIST)))
BUILD := $(FOLDER)build
{f"CROSS_COMPILE ?= {abi.cross_compile}".rstrip()}
CLANG_TARGET := {abi.clang_triple}

ifeq ($(origin CC),default)
{_default_compiler(machine)}endif
ifeq ($(origin AR),default)
ifneq ($(ANDROID_NDK),)
AR := $(dir $(firstword $(CC)))llvm-ar
else
AR := $(CROSS_COMPILE)ar
endif
endif

# Clang is one compiler for all machines: for another than this, it has to be told which.
IS_CLANG := $(findstring clang,$(notdir $(CC)))
ifneq ($(and $(IS_CLANG),$(CLANG_TARGET),{_is_cross(machine)}),)
TARGET_FLAGS := --target=$(CLANG_TARGET)
LINK_FLAGS := -fuse-ld=lld
endif

WARNINGS := {_WARNINGS}
ALL_CFLAGS := $(TARGET_FLAGS) -std=c99 {optimization(program)}{" -fPIC" if target.hosted else ""} \\
  -fvisibility=hidden $(WARNINGS) {flags}
# Neither compiler may turn loops into calls of memcpy and memset: the model needs no C library. GCC would also keep
# more in registers than there are.
ifeq ($(IS_CLANG),)
ALL_CFLAGS += {" ".join(gcc_flags(machine))}
else
ALL_CFLAGS += {" ".join(clang_flags(machine))}
endif
ALL_CFLAGS += $(CFLAGS) -I$(FOLDER).

OBJECTS := $(BUILD)/$(NAME).o $(BUILD)/$(NAME)_weights.o
HEADERS := $(addprefix $(FOLDER),$(NAME).h $(NAME)_internal.h $(NAME)_runtime.h Makefile)

.PHONY: all clean
all: {" ".join(f"$(FOLDER){library}" for library in libraries.split())}

$(FOLDER)lib$(NAME).a: $(OBJECTS)
	rm -f $@
	$(AR) rcs $@ $(OBJECTS)
{_shared(machine) if target.hosted else ""}
$(BUILD)/%.o: $(FOLDER)%.c $(HEADERS)
	@mkdir -p $(BUILD)
	$(CC) $(ALL_CFLAGS) -c $< -o $@
{_WEIGHTS_RULE if weights_file else ""}
clean:
	rm -rf $(BUILD) {" ".join(f"$(FOLDER){library}" for library in libraries.split())}
"""


def _default_compiler(machine: Machine) -> str:
    gcc = "CC := $(CROSS_COMPILE)gcc" if machine.target.name != "android" else "CC := clang"
    ndk = "$(firstword $(wildcard $(ANDROID_NDK)/toolchains/llvm/prebuilt/*/bin/clang))"
    return f"ifneq ($(ANDROID_NDK),)\nCC := {ndk}\nelse\n{gcc}\nendif\n"


def _is_cross(machine: Machine) -> str:
    """A make expression that is empty when the compiler's own machine is the target."""
    return "always" if machine.target.name == "android" else "$(CROSS_COMPILE)"


def _shared(machine: Machine) -> str:
    flags = " ".join(machine.target.shared_flags)
    return f"""
$(FOLDER)lib$(NAME).so: $(OBJECTS)
	$(CC) $(TARGET_FLAGS) $(LINK_FLAGS) $(CFLAGS) {flags} -Wl,-soname,lib$(NAME).so \\
		-Wl,-z,max-page-size={machine.target.page_align} $(OBJECTS) $(LDFLAGS) -o $@
"""
