# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX files, through torch-mlir's importer. torch itself is not needed."""

import os
import pathlib
import sys
import tempfile

from _attune import Error

from . import _tools

WHAT = "an ONNX file"
TO_LINALG = ("--pass-pipeline=builtin.module(torch-onnx-to-torch-backend-pipeline,"
             "torch-backend-to-linalg-on-tensors-backend-pipeline)")
# Older files are brought to this one: torch-mlir's lowerings know it throughout.
OPSET = 17


def from_onnx(path, sizes=None):
    """MLIR text of an ONNX file.

    `sizes` gives numbers to dimensions: by their name in the file
    (`{"batch": 1}`), or all of an input (`{"x": (1, 3, 224, 224)}`). Those that
    have none stay open.
    """
    path = os.fspath(path)
    onnx = _tools.load("onnx", WHAT)
    optimizer = _tools.find_program("torch-mlir-opt", WHAT)
    model = _read(onnx, path)
    _set_sizes(model.graph, dict(sizes or {}), path)
    with tempfile.TemporaryDirectory(prefix="attune-") as folder:
        folded = _fold_constants(onnx, model, path, folder)
        imported = pathlib.Path(folder) / "imported.mlir"
        _import(folded, _opset(model), imported, path)
        text = _tools.optimize(optimizer, TO_LINALG, imported.read_text(), path, folder)
        return _tools.lower_scans(text, path, folder)


def _read(onnx, path):
    try:
        model = onnx.load(path)
    except OSError as error:
        raise Error(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # protobuf's own, of which there are several
        raise Error(f"{path}: not an ONNX file: {_tools.first_line(str(error))}") from None
    if not model.graph.node:
        raise Error(f"{path}: not an ONNX file, or one without any op")
    return model


def _inputs(graph):
    constants = {initializer.name for initializer in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def _set_sizes(graph, sizes, path):
    used = set()
    for value in _inputs(graph):
        dimensions = value.type.tensor_type.shape.dim
        given = sizes.get(value.name)
        if given is not None and not isinstance(given, int):
            if len(given) != len(dimensions):
                raise Error(f"{path}: input {value.name} has {len(dimensions)} dimensions, {len(given)} were given")
            used.add(value.name)
            for dimension, size in zip(dimensions, given):
                if size is not None and size >= 0:
                    _set_size(dimension, size, value.name, path)
            continue
        for dimension in dimensions:
            name = dimension.dim_param
            if isinstance(sizes.get(name), int):
                dimension.dim_value = sizes[name]
                used.add(name)
    unknown = sorted(set(sizes) - used)
    if unknown:
        names = sorted({d.dim_param for v in _inputs(graph) for d in v.type.tensor_type.shape.dim if d.dim_param})
        raise Error(f"{path}: {unknown[0]} is no input and no open dimension; inputs: "
                    f"{', '.join(v.name for v in _inputs(graph))}; open dimensions: {', '.join(names) or 'none'}")


def _set_size(dimension, size, name, path):
    if dimension.HasField("dim_value") and dimension.dim_value > 0 and dimension.dim_value != size:
        raise Error(f"{path}: a dimension of input {name} is {dimension.dim_value} in the file, not {size}")
    dimension.dim_value = size


def _fold_constants(onnx, model, path, folder):
    """onnxruntime computes what does not depend on inputs (shapes, mostly), which
    the importer would take for open."""
    runtime = _tools.load("onnxruntime", WHAT)
    before, after = pathlib.Path(folder) / "before.onnx", pathlib.Path(folder) / "folded.onnx"
    try:
        # Values that were inferred for other sizes do not hold any more.
        del model.graph.value_info[:]
        model = _to_opset(onnx, model)
        onnx.save(model, before)
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(after)
        options.log_severity_level = 3
        runtime.InferenceSession(str(before), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Error(f"{path}: onnxruntime does not take it: {_tools.first_line(str(error))}") from None
    return after


def _to_opset(onnx, model):
    if _opset(model) >= OPSET:
        return model
    try:
        return onnx.version_converter.convert_version(model, OPSET)
    except Exception:
        return model  # The importer knows most older forms, too.


def _opset(model):
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), OPSET)


def _import(model, opset, result, path):
    _tools.load("torch_mlir.tools.import_onnx.__main__", WHAT)
    _tools.run([sys.executable, "-m", "torch_mlir.tools.import_onnx", model, "-o", result,
                "--opset-version", str(max(OPSET, opset))], path)
