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


def onnxruntime(model: Path, inputs: Arrays, threads: int, optimized: bool = True) -> Loaded:
    """ONNX Runtime, with inputs and outputs bound beforehand."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
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


def mnn(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """MNN in float32: "high" precision."""
    import MNN

    interpreter = MNN.Interpreter(str(model))
    session = interpreter.createSession({"numThread": threads, "backend": "CPU", "precision": "high"})
    types = {"float32": MNN.Halide_Type_Float, "int8": MNN.Halide_Type_Int, "int32": MNN.Halide_Type_Int}
    for name, array in inputs.items():
        given = MNN.Tensor(array.shape, types[str(array.dtype)], array, MNN.Tensor_DimensionType_Caffe)
        interpreter.getSessionInput(session, name).copyFrom(given)

    def result(tensor: MNN.Tensor) -> np.ndarray:
        shape = tensor.getShape()
        copy = MNN.Tensor(shape, MNN.Halide_Type_Float, np.zeros(shape, np.float32), MNN.Tensor_DimensionType_Caffe)
        tensor.copyToHostTensor(copy)
        return np.array(copy.getNumpyData()).reshape(shape)

    return (
        lambda: interpreter.runSession(session),
        lambda: {name: result(tensor) for name, tensor in interpreter.getSessionOutputAll(session).items()},
    )


def ncnn(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """ncnn in float32. Inputs and outputs are numbered in the order of the model; the first axis is the batch."""
    import ncnn as library

    net = library.Net()
    net.opt.num_threads = threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    if net.load_param(str(model)) or net.load_model(str(model.with_suffix(".bin"))):
        raise RuntimeError("the model is not read")
    given = [library.Mat(array, batch_index=0).clone() for array in inputs.values()]
    found: list[object] = []

    def run() -> None:
        extractor = net.create_extractor()
        for name, mat in zip(net.input_names(), given, strict=True):
            extractor.input(name, mat)
        found[:] = [extractor.extract(name)[1] for name in net.output_names()]

    return run, lambda: {f"out{n}": np.array(mat.numpy(batch_index=0)) for n, mat in enumerate(found)}  # type: ignore[attr-defined]


def executorch(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """ExecuTorch with XNNPACK, on its program. A run returns new outputs."""
    import torch
    from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
    from executorch.runtime import Runtime

    _unsafe_reset_threadpool(threads)
    method = Runtime.get().load_program(model).load_method("forward")
    given = [torch.from_numpy(array) for array in inputs.values()]
    found: list[object] = []

    def run() -> None:
        found[:] = method.execute(given)

    return run, lambda: {f"out{n}": tensor.numpy() for n, tensor in enumerate(found)}  # type: ignore[attr-defined]


def litert(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """LiteRT with its default delegate, XNNPACK, on a TensorFlow Lite model."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(model), num_threads=threads)
    interpreter.allocate_tensors()
    for side, array in zip(interpreter.get_input_details(), inputs.values(), strict=True):
        interpreter.set_tensor(side["index"], array)
    sides = interpreter.get_output_details()
    return interpreter.invoke, lambda: {side["name"]: interpreter.get_tensor(side["index"]) for side in sides}


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


def unoptimized(model: Path, inputs: Arrays, threads: int) -> Loaded:
    """ONNX Runtime node by node, as ONNX defines them: its integer kernels let sums of two products saturate where the
    processor has no dot products."""
    return onnxruntime(model, inputs, threads, optimized=False)


SYSTEMS = {
    "ccml": ccml, "onnxruntime": onnxruntime, "openvino": openvino, "mnn": mnn, "ncnn": ncnn, "executorch": executorch,
    "litert": litert, "unoptimized": unoptimized,
}  # fmt: skip


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
