# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m attune.import: a model of another tool becomes MLIR that Attune reads."""

import argparse
import importlib
import importlib.util
import os
import pathlib
import re
import sys

from _attune import Error

from attune import frontends
from attune.frontends import _stablehlo, _tools

DESCRIPTION = """\
Writes a model as MLIR that `attune tune`, `run` and the others read.

  python -m attune.import model.onnx -o model.mlir
  python -m attune.import model.onnx --size=batch=1 --size=x=1x3x224x224 -o model.mlir
  python -m attune.import model.pt2 -o model.mlir
  python -m attune.import torchvision.models:resnet18 --input=1x3x224x224xf32 -o resnet18.mlir
  python -m attune.import my_model.py:make --input=?x784xf32 -o my_model.mlir
  python -m attune.import stablehlo.mlir -o model.mlir
"""
EPILOGUE = """\
MODEL is an ONNX file, a .pt2 of torch.export.save, StableHLO (.mlir, .mlirbc), a
function of jax.export (.jax), or FILE.py:NAME or PACKAGE:NAME of Python: a
torch.nn.Module, a class or function that makes one, or a function of JAX arrays.
Python and .pt2 files run code: import only what you trust.

Needed packages: ONNX: onnx, onnxruntime, torch-mlir.
PyTorch: torch, torch-mlir. StableHLO, JAX: iree-base-compiler, jax.
"""


class Shape:
    """`?x784xf32`: sizes, of which None is open, and the element type."""

    def __init__(self, text):
        found = re.fullmatch(r"((?:(?:\d+|\?)x)*)([a-z]+\d*)", text)
        if not found:
            raise Error(f"--input={text}: sizes and a type, like 1x3x224x224xf32; ? for an open size")
        self.text = text
        self.sizes = [None if word == "?" else int(word) for word in found[1].split("x")[:-1]]
        self.element = found[2]

    def dtype(self, names):
        if self.element not in names:
            raise Error(f"--input={self.text}: the type {self.element} is none of {', '.join(names)}")
        return names[self.element]

    def some_sizes(self):
        # Exporters take a size of 1 for one that is never another.
        return [7 if size is None else size for size in self.sizes]


NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i1": "bool", "i8": "int8",
         "i16": "int16", "i32": "int32", "i64": "int64"}


def parse_sizes(texts):
    sizes = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        numbers = value.split("x")
        if not name or not all(n.isdigit() or n == "?" for n in numbers):
            raise Error(f"--size={text}: a dimension or an input and its size, like batch=1 or x=1x3x224x224")
        given = [None if n == "?" else int(n) for n in numbers]
        sizes[name] = given[0] if len(given) == 1 and given[0] is not None else tuple(given)
    return sizes


def find_object(model):
    """What FILE.py:NAME or PACKAGE:NAME names."""
    place, _, name = model.rpartition(":")
    try:
        if place.endswith(".py"):
            if not os.path.isfile(place):
                raise Error(f"{place}: no such file")
            sys.path.insert(0, str(pathlib.Path(place).resolve().parent))
            spec = importlib.util.spec_from_file_location(pathlib.Path(place).stem, place)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except Error:
        raise
    except ModuleNotFoundError as error:
        raise Error(f"{model}: there is no Python package {error.name}; pip install {error.name.split('.')[0]}, "
                    "or give FILE.py:NAME") from None
    except Exception as error:
        raise Error(f"{model}: {place} fails: {type(error).__name__}: {_tools.first_line(str(error))}") from error
    try:
        found = module
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except AttributeError:
        raise Error(f"{model}: {place} has no {name}") from None


def import_python(options):
    found = find_object(options.model)
    shapes = [Shape(text) for text in options.input]
    torch = sys.modules.get("torch")  # If the model is one of PyTorch, it is loaded.
    if torch:
        torch.manual_seed(options.seed)
        is_module = isinstance(found, torch.nn.Module)
        module = found if is_module else make_module(torch, found, options)
        if isinstance(module, torch.nn.Module):
            return import_torch(torch, module, shapes, options)
    if not callable(found):
        raise Error(f"{options.model}: neither a torch.nn.Module nor a function")
    return import_jax(found, shapes, options)


def make_module(torch, found, options):
    """A class or a function without arguments that gives a module; or a function
    that is the model itself."""
    import inspect
    try:
        required = [p for p in inspect.signature(found).parameters.values()
                    if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    except (TypeError, ValueError):
        required = []
    if required:
        return found
    try:
        return found()
    except Exception as error:
        raise Error(f"{options.model}: {type(error).__name__}: {_tools.first_line(str(error))}") from error


def import_torch(torch, module, shapes, options):
    arguments, dynamic = [], []
    for shape in shapes:
        kind = getattr(torch, shape.dtype(NAMES))
        sizes = shape.some_sizes()
        arguments.append(torch.rand(sizes).to(kind) if kind.is_floating_point else torch.zeros(sizes, dtype=kind))
        dynamic.append({i: torch.export.Dim.AUTO for i, size in enumerate(shape.sizes) if size is None} or None)
    if not arguments:
        raise Error(f"{options.model}: give its inputs, like --input=1x3x224x224xf32")
    shapes = {"dynamic_shapes": tuple(dynamic)} if any(dynamic) else {}
    return frontends.from_torch(module, *arguments, elide_weights=options.elide_weights, **shapes)


def import_jax(function, shapes, options):
    jax = _tools.load("jax", "a JAX function")
    if any(None in shape.sizes for shape in shapes):
        raise Error("--input: a JAX function has no open sizes; use jax.export with symbolic shapes and give its file")
    return frontends.from_jax(function, *(jax.ShapeDtypeStruct(shape.sizes, shape.dtype(NAMES)) for shape in shapes))


def import_mlir(path):
    """StableHLO, and what torch-mlir's tools have half done."""
    try:
        head = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    if re.search(rb"\btorch\.", head) and b"stablehlo" not in head:
        raise Error(f"{path}: MLIR in torch's dialect; export it with output_type=\"linalg-on-tensors\", "
                    "or give the model it was made of")
    if not re.search(rb"stablehlo|chlo\.|vhlo|mhlo", head):
        raise Error(f"{path}: nothing of StableHLO is in it; linalg and TOSA are read by attune itself")
    return frontends.from_stablehlo(path)


def import_model(options):
    model = options.model
    if re.search(r":[A-Za-z_][\w.]*$", model):
        return import_python(options)
    ending = pathlib.Path(model).suffix
    if options.input:
        raise Error("--input is for models in Python; an ONNX file has --size=NAME=SIZE")
    if options.size and ending != ".onnx":
        raise Error("--size is for ONNX files")
    if ending == ".onnx":
        return frontends.from_onnx(model, parse_sizes(options.size))
    if ending == ".pt2":
        return frontends.from_exported(model, options.elide_weights)
    if ending in (".mlir", ".mlirbc", ".stablehlo", ".bc"):
        return import_mlir(model)
    if ending in (".jax", ".jaxexport"):
        return _stablehlo.from_jax_export(model)
    ways = {".pt": "save it with torch.export.save, or give FILE.py:NAME", ".pth": "weights alone are no model: give "
            "FILE.py:NAME of a function that makes it and loads them", ".py": "add the name: FILE.py:NAME",
            ".tflite": "export the model as ONNX (tf2onnx)", ".pb": "export the model as ONNX (tf2onnx)",
            ".safetensors": "weights alone are no model: give FILE.py:NAME of a function that makes it"}
    raise Error(f"{model}: {ways.get(ending, 'neither .onnx, .pt2, .mlir, .mlirbc, .jax nor FILE.py:NAME')}")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="python -m attune.import", description=DESCRIPTION, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the MLIR file to write")
    parser.add_argument("--input", action="append", default=[], metavar="SHAPE",
                        help="of a model in Python: one for each input, like 1x3x224x224xf32; ? is an open size")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=SIZE",
                        help="of an ONNX file: the size of an open dimension, or all sizes of an input")
    parser.add_argument("--elide-weights", action="store_true",
                        help="leave PyTorch's weights out: a small file, times are right, results mean nothing")
    parser.add_argument("--seed", type=int, default=0, help="of random weights (default 0)")
    return parser.parse_args(arguments)


def write(path, text):
    temporary = f"{path}.tmp-{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        try:
            os.remove(temporary)
        except OSError:
            pass
        raise Error(f"{path}: {error.strerror}") from None


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        write(options.output, import_model(options))
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    print(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
