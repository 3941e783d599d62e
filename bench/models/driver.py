# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model in a process of its own, that runs when it is told to (bench/peers.py).

driver.py attune LIBRARY FOLDER THREADS
driver.py onnxruntime MODEL FOLDER THREADS
driver.py iree MODULE FOLDER THREADS

FOLDER has the inputs x0.npy, ... Commands come on standard input, a line each, and
each is answered by a line, `ok ...` or `error ...`:
  run SECONDS     calls for about so long, after one that does not count; the fastest
  output PREFIX   the results as PREFIX0.npy, ...
"""

import ctypes
import pathlib
import signal
import sys
import time

import numpy as np


def attune(path, inputs, threads):
    del threads  # The library has them.
    from _attune import Function
    return Function(path, ""), inputs


def onnxruntime(path, inputs, threads):
    import onnxruntime as runtime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {value.name: x for value, x in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feed), ()


def iree(path, inputs, threads):
    import iree.runtime as runtime
    runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    config = runtime.Config("local-task" if threads > 1 else "local-sync")
    context = runtime.SystemContext(config=config)
    module = runtime.VmModule.mmap(config.vm_instance, path)
    context.add_vm_module(module)
    entry = next(name for name in module.function_names if not name.startswith("_"))
    function = context.modules[module.name][entry]
    # As a program would: on the device once, not copied in each call.
    given = [runtime.asdevicearray(config.device, x) for x in inputs]
    return function, given


def as_list(results):
    results = results if isinstance(results, (tuple, list)) else (results,)
    return [np.asarray(result) for result in results]


def measure(call, seconds):
    call()
    times, start = [], time.perf_counter()
    last = start
    while last - start < seconds or len(times) < 3:
        call()
        end = time.perf_counter()
        times.append(end - last)
        last = end
    return min(times), len(times)


def answer(line, call):
    word, _, rest = line.partition(" ")
    if word == "run":
        best, count = measure(call, float(rest))
        return f"{best:.9g} {count}"
    if word == "output":
        for i, result in enumerate(as_list(call())):
            np.save(f"{rest}{i}.npy", result)
        return ""
    raise ValueError(f"unknown command {word}")


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: not without the one who measures.
    kind, path, folder, threads = sys.argv[1:]
    folder, call = pathlib.Path(folder), None
    for line in sys.stdin:
        try:
            if call is None:
                files = sorted(folder.glob("x[0-9]*.npy"), key=lambda f: int(f.stem[1:]))
                start = {"attune": attune, "onnxruntime": onnxruntime, "iree": iree}[kind]
                function, arguments = start(path, [np.load(file) for file in files], int(threads))
                call = lambda: function(*arguments)  # noqa: E731
            said = answer(line.strip(), call)
            print("ok", said, flush=True)
        except Exception as error:  # It goes to the one who measures.
            text = " ".join(str(error).split()) or type(error).__name__
            print("error", text[:400], flush=True)


if __name__ == "__main__":
    main()
