"""Libraries with code for processors with tiles ask Linux for these registers, and do without them where it refuses."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
from ccml.targets import select
from onnx import TensorProto, helper, numpy_helper, save
from onnx.reference import ReferenceEvaluator

from tests.artifacts.commands import run
from tests.artifacts.machines import runs_here
from tests.tools import needs

CHANNELS, SIZE, FILTERS = 16, 12, 64
MAIN = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "net.h"
int main(int argc, char **argv)
{
    static unsigned char arena[NET_ARENA_SIZE + 64] __attribute__((aligned(64)));
    static unsigned char x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS];
    static char small[4096];
    unsigned long granted = 0;
    stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
    int i;
    (void)argv;
    if (argc > 1 && sigaltstack(&stack, NULL) != 0)
        return 1;
    for (i = 0; i < NET_X_ELEMENTS; i++)
        x[i] = (unsigned char)(i % 251);
    if (net_run(arena, x, y) != 0)
        return 2;
    syscall(SYS_arch_prctl, 0x1022, &granted); /* ARCH_GET_XCOMP_PERM */
    printf("%lu", granted >> 18 & 1);
    for (i = 0; i < NET_Y_ELEMENTS; i++)
        printf(" %d", y[i]);
    return 0;
}
"""


def network(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    constants = {
        "xs": np.float32(0.1), "xz": np.uint8(7), "w": rng.integers(-128, 128, (FILTERS, CHANNELS, 3, 3), np.int8),
        "ws": np.float32(0.02), "wz": np.int8(0), "ys": np.float32(5.0), "yz": np.uint8(100),
    }  # fmt: skip
    node = helper.make_node("QLinearConv", ["x", *constants], ["y"], pads=[1, 1, 1, 1])
    sides = [
        helper.make_tensor_value_info(name, TensorProto.UINT8, [1, channels, SIZE, SIZE])
        for name, channels in (("x", CHANNELS), ("y", FILTERS))
    ]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph([node], "g", sides[:1], sides[1:], tensors)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


@runs_here(select("x86", cpu="x86-64-v4-amx"))
@needs("gcc", "ld.lld")
def test_another_level_where_linux_refuses(tmp_path: Path) -> None:
    """As it does where a signal's frame with tiles would not fit the alternative stack of a thread."""
    folder = tmp_path / "out"
    result = ccml.compile(network(tmp_path), "x86", folder, cpu="all", emit=["lib"])
    assert result.artifacts[0].report.levels[0].cpu == "x86-64-v4-amx"
    (tmp_path / "main.c").write_text(MAIN)
    run("gcc", "-O1", f"-I{folder}", tmp_path / "main.c", folder / "libnet.a", "-o", tmp_path / "program")
    granted, refused = run(tmp_path / "program").split(), run(tmp_path / "program", "refuse").split()
    assert (granted[0], refused[0]) == ("1", "0")
    x = (np.arange(CHANNELS * SIZE * SIZE) % 251).astype(np.uint8).reshape(1, CHANNELS, SIZE, SIZE)
    (reference,) = ReferenceEvaluator(str(tmp_path / "net.onnx")).run(None, {"x": x})
    expected = reference.reshape(-1).tolist()
    assert len(set(expected)) > 20
    assert list(map(int, granted[1:])) == list(map(int, refused[1:])) == expected
