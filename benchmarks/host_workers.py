"""One system that runs a model, in a process of its own and under a Python of its own; ``hosts.py`` starts it.

    python host_workers.py SYSTEM MODEL THREADS INPUTS.npz OUTPUTS.npz

It loads MODEL, runs the inputs once and writes the outputs; each line of standard input is then a number of seconds
for which the model is run over and over. Answers are lines of JSON: first the seconds until it was loaded and until
the first result was there, then the least and the median of the seconds of a run, and how many there were.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]
Loaded = tuple[Callable[[], object], Callable[[], Arrays]]
"""What runs the model once, and what gives the outputs of the last run."""


def onnxruntime(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """ONNX Runtime, with inputs and outputs bound beforehand."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    names = [output.name for output in session.get_outputs()]
    for name in names:
        binding.bind_output(name)
    return (
        lambda: session.run_with_iobinding(binding),
        lambda: dict(zip(names, binding.copy_outputs_to_cpu())),
    )


def openvino(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """OpenVINO in float32, which is not its default where the processor has bfloat16."""
    import openvino as ov

    config = {
        "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
    }  # fmt: skip
    compiled = ov.Core().compile_model(str(model), "CPU", config)
    request = compiled.create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))
    return request.infer, lambda: {next(iter(port.names)): request.get_tensor(port).data for port in compiled.outputs}


def ccml(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """The library of the Python binding in the folder ``model``, by its C function: what is converted for Python, the
    inputs and outputs of the others are not, either."""
    sys.path.insert(0, str(model.parent))
    module = importlib.import_module(model.name)
    made = module.Model(threads=threads) if hasattr(module, "THREADS") else module.Model()
    given = [np.ascontiguousarray(inputs[tensor.name]) for tensor in module.INPUTS]
    results = [np.zeros(shape, dtype) for dtype, shape in module._TYPES[len(given) :]]
    blocks = {"memory": made._blocks, "argument": given, "result": results}
    values = [made._threads if kind == "threads" else blocks[kind][which] for kind, which in module._PARAMETERS]
    pointers = [value.ctypes.data for value in values]

    def run() -> None:
        if made._run(*pointers):
            raise RuntimeError("the library refuses")

    return run, lambda: {tensor.name: result for tensor, result in zip(module.OUTPUTS, results)}


SYSTEMS = {"ccml": ccml, "onnxruntime": onnxruntime, "openvino": openvino}


def main() -> None:
    system, model, threads, inputs, outputs = sys.argv[1:]
    arrays = dict(np.load(inputs))
    start = time.perf_counter()
    run, results = SYSTEMS[system](Path(model), arrays, int(threads))
    loaded = time.perf_counter() - start
    run()
    first = time.perf_counter() - start
    np.savez(outputs, **results())
    print(json.dumps({"loaded": loaded, "first": first}), flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        answer = {"least": min(times), "median": statistics.median(times), "runs": len(times)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
