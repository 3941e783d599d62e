# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages and programs of others: found, or named with how to install them."""

import contextlib
import importlib
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from _attune import Error

# What to tell people for each module and program that may be missing.
INSTALL = {
    "torch": "pip install torch",
    "torch_mlir": "pip install torch-mlir",
    "onnx": "pip install onnx",
    "onnxruntime": "pip install onnxruntime",
    "jax": "pip install jax",
    "numpy": "pip install numpy",
    "packaging": "pip install packaging",
    "torch-mlir-opt": "pip install torch-mlir",
    "iree-opt": "pip install iree-base-compiler",
}
# The package that a program comes with, and where in it the program may be.
PROGRAMS = {"torch-mlir-opt": "torch-mlir", "iree-opt": "iree-base-compiler"}

SECONDS = 1800  # What a program of others may take.


def missing(name, what_for, why=""):
    because = f" ({why})" if why else ""
    return Error(f"{what_for} needs {name}, which is not installed{because}; {INSTALL[name.split('.')[0]]}")


def load(name, what_for):
    """The module, or an error that says what to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Its own dependency may be what is missing.
        absent = (error.name or name).split(".")[0]
        if absent in INSTALL:
            raise missing(absent, what_for) from None
        raise Error(f"{what_for} needs {name}, which needs {absent}; pip install {absent}") from None
    except (ImportError, OSError) as error:
        raise Error(f"{what_for} needs {name}, which is installed and does not load: {first_line(str(error))}; "
                    f"{INSTALL[name.split('.')[0]]}") from None


def first_line(text):
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")


def find_program(name, what_for):
    """In the package it comes with, beside this Python, or in PATH."""
    try:
        for file in importlib.metadata.files(PROGRAMS[name]) or []:
            if pathlib.PurePath(file).name == name:
                path = pathlib.Path(file.locate()).resolve()
                if path.is_file():
                    return str(path)
    except importlib.metadata.PackageNotFoundError:
        pass
    beside = pathlib.Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        raise missing(name, what_for)
    return found


def run(command, what):
    """Runs a program of others; its first error line is ours."""
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=SECONDS)
    except OSError as error:
        raise Error(f"{what}: {command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Error(f"{what}: {pathlib.Path(command[0]).name} did not end in {SECONDS // 60} minutes") from None
    if done.returncode:
        raise Error(f"{what}: {error_line(done.stderr, done.returncode)}")
    return done.stdout


@contextlib.contextmanager
def printed():
    """What C++ in this process prints on standard error meanwhile: `.text`
    afterwards. Compilers say there what their exceptions leave out."""
    class Printed:
        text = ""

    result = Printed()
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield result
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            result.text = file.read().decode(errors="replace")


def error_line(stderr, status):
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = [line for line in lines if re.search(r"\berror\b", line, re.I)] or lines[-1:]
    if status < 0:
        return f"it died of signal {-status}" + (f": {said[0]}" if said else "")
    return said[0][:500] if said else f"it ended with {status} and said nothing"


def optimize(program, pipeline, text, what, folder):
    """MLIR through `PROGRAM --pass-pipeline=PIPELINE`; text in and out."""
    source, result = pathlib.Path(folder) / "before.mlir", pathlib.Path(folder) / "after.mlir"
    if isinstance(text, bytes):
        source.write_bytes(text)
    else:
        source.write_text(text)
    run([program, pipeline, source, "-o", result], what)
    return result.read_text()


LOOPS = "--pass-pipeline=builtin.module(func.func(tm-tensor-bufferize,tm-tensor-to-loops))"


def lower_scans(text, what, folder):
    """torch-mlir's own ops (cumsum, sort, scatter) become loops: upstream has none
    for them."""
    if not re.search(r"\btm_tensor\.", text):
        return text
    text = optimize(find_program("torch-mlir-opt", what), LOOPS, text, what, folder)
    return re.sub(r"(bufferization\.to_tensor %\S+) (?!restrict)", r"\1 restrict ", text)
