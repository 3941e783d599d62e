# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program computes, without Attune: upstream's tools alone.

TOSA to linalg, one-shot bufferization, linalg to loops, LLVM, clang -O1 without
contraction and without vectors, then called through ctypes.

    naive.py MODEL ENTRY FOLDER     reads FOLDER/x0.npy ..., writes FOLDER/r0.npy ...
"""

import ctypes
import pathlib
import subprocess
import sys

import numpy as np

from signature import read_entries

TOOLS = pathlib.Path("/usr/lib/llvm-22/bin")
RUNNER_UTILS = TOOLS.parent / "lib" / "libmlir_c_runner_utils.so"
HERE = pathlib.Path(__file__).resolve().parent

TOSA = ("func.func(tosa-infer-shapes,tosa-make-broadcastable,tosa-to-linalg-named,canonicalize,"
        "tosa-layerwise-constant-fold,tosa-make-broadcastable),func.func(tosa-to-linalg,tosa-to-arith{include-apply-rescale=true},tosa-to-tensor)")
PIPELINE = f"""builtin.module({TOSA},canonicalize,cse,
transform-preload-library{{transform-library-paths={HERE / 'decompose.mlir'}}},transform-interpreter,symbol-dce,
empty-tensor-to-alloc-tensor,
one-shot-bufferize{{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map}},
convert-linalg-to-loops,expand-strided-metadata,lower-affine,func.func(llvm-request-c-wrappers),
func.func(math-expand-ops{{ops=fpowi,rsqrt}}),convert-scf-to-cf,convert-math-to-libm,convert-to-llvm,
reconcile-unrealized-casts)""".replace("\n", "")


def compile_library(model, folder):
    """folder/naive.so; subprocess.CalledProcessError says what failed."""
    lowered, text, library = (folder / f"naive.{e}" for e in ("mlir", "ll", "so"))
    for command in (
            [TOOLS / "mlir-opt", model, f"--pass-pipeline={PIPELINE}", "-o", lowered],
            [TOOLS / "mlir-translate", "--mlir-to-llvmir", lowered, "-o", text],
            [TOOLS / "clang", "-w", "-O1", "-ffp-contract=off", "-fno-vectorize", "-fno-slp-vectorize", "-shared",
             "-fPIC", "-x", "ir", text, "-x", "none", "-o", library, "-lm", RUNNER_UTILS,
             f"-Wl,-rpath,{RUNNER_UTILS.parent}"]):
        subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    lowered.unlink()
    text.unlink()
    return library


def descriptor(rank):
    """memref<...> as upstream's C interface passes it."""

    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    *([("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)] if rank else [])]

    return MemRef


def c_scalar(t):
    return {"f32": ctypes.c_float, "f64": ctypes.c_double, "i1": ctypes.c_bool}.get(
        t.element) or {1: ctypes.c_int8, 2: ctypes.c_int16, 4: ctypes.c_int32, 8: ctypes.c_int64}[
            np.dtype(t.dtype).itemsize]


def describe(array):
    m = descriptor(array.ndim)()
    m.allocated = m.aligned = array.ctypes.data
    if array.ndim:
        m.sizes[:] = array.shape
        m.strides[:] = [s // array.itemsize for s in array.strides]
    return m


def read_result(value, t):
    if t.scalar:
        return np.asarray(value, t.dtype)
    shape = tuple(value.sizes) if t.shape else ()
    strides = tuple(s * np.dtype(t.dtype).itemsize for s in value.strides) if t.shape else ()
    if 0 in shape:
        return np.empty(shape, t.dtype)
    start = value.aligned + value.offset * np.dtype(t.dtype).itemsize
    size = sum((n - 1) * s for n, s in zip(shape, strides)) + np.dtype(t.dtype).itemsize
    raw = np.frombuffer((ctypes.c_char * size).from_address(start), np.uint8)
    return np.ndarray(shape, t.dtype, raw.data, 0, strides).copy()


def call(library, entry, inputs):
    function = getattr(ctypes.CDLL(str(library)), "_mlir_ciface_" + entry.name)
    arrays = [np.ascontiguousarray(x).reshape(x.shape) for x in inputs]
    passed = [c_scalar(t)(x.item()) if t.scalar else ctypes.byref(describe(x))
              for t, x in zip(entry.inputs, arrays)]
    fields = [(f"r{i}", c_scalar(t) if t.scalar else descriptor(len(t.shape))) for i, t in enumerate(entry.outputs)]
    if len(fields) == 1 and entry.outputs[0].scalar:
        function.restype = fields[0][1]
        return [read_result(function(*passed), entry.outputs[0])]
    results = type("Results", (ctypes.Structure,), {"_fields_": fields})()
    function.restype = None
    function(ctypes.byref(results), *passed)
    return [read_result(getattr(results, name), t) for (name, _), t in zip(fields, entry.outputs)]


def main():
    model, name, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    entry = next(e for e in read_entries(pathlib.Path(model).read_text()) if e.name == name)
    inputs = [np.load(folder / f"x{i}.npy").view(t.dtype) for i, t in enumerate(entry.inputs)]
    try:
        library = compile_library(model, folder)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{pathlib.Path(error.cmd[0]).name}: {error.stderr.splitlines()[0] if error.stderr else 'failed'}")
    for i, result in enumerate(call(library, entry, inputs)):
        np.save(folder / f"r{i}.npy", result)


if __name__ == "__main__":
    main()
