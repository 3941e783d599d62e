# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch modules and exported programs (.pt2), through torch-mlir's FX importer."""

import os
import tempfile

from _attune import Error

from . import _tools

WHAT = "a PyTorch model"


def from_torch(module, *arguments, dynamic_shapes=None, elide_weights=False, **named):
    """MLIR text of a module as it computes with `arguments`.

    Sizes are those of the arguments; `dynamic_shapes`, as torch.export takes it,
    leaves some open. With `elide_weights` the text has no weights: times are then
    right, results mean nothing.
    """
    torch = _load()
    if not isinstance(module, torch.nn.Module):
        module = _as_module(torch, module)
    module = module.eval()
    # Buffers that are no part of the state are constants all the same; the
    # importer looks for them there.
    for part in module.modules():
        part._non_persistent_buffers_set.clear()
    try:
        with torch.no_grad():
            exported = torch.export.export(module, arguments, named or None, dynamic_shapes=dynamic_shapes)
    except Exception as error:
        raise Error(f"torch.export does not take {type(module).__name__}: "
                    f"{_tools.first_line(str(error))}") from error
    return _to_text(exported, type(module).__name__, elide_weights)


def from_exported(program, elide_weights=False):
    """MLIR text of a .pt2 file (torch.export.save) or a torch.export.ExportedProgram.
    Loading such a file may run code that is in it."""
    torch = _load()
    if not isinstance(program, (str, os.PathLike)):
        return _to_text(program, "the exported program", elide_weights)
    path = os.fspath(program)
    try:
        loaded = torch.export.load(path)
    except OSError as error:
        raise Error(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        raise Error(f"{path}: not a program of torch.export.save: {_tools.first_line(str(error))}") from error
    return _to_text(loaded, path, elide_weights)


def _load():
    torch = _tools.load("torch", WHAT)
    _tools.load("torch.export", WHAT)
    return torch


def _as_module(torch, function):
    if not callable(function):
        raise Error(f"{type(function).__name__} is neither a torch.nn.Module nor a function")

    class Function(torch.nn.Module):
        def forward(self, *arguments, **named):
            return function(*arguments, **named)

    return Function()


def _to_text(exported, name, elide_weights):
    fx = _tools.load("torch_mlir.fx", WHAT)
    try:
        with _tools.printed() as said:
            module = fx.export_and_import(exported, output_type="linalg-on-tensors", func_name="main")
    except Exception as error:
        raise Error(f"{name}: torch-mlir does not lower it: {_reason(said.text + str(error))}") from error
    limits = {"large_elements_limit": 16, "large_resource_limit": 64} if elide_weights else {}
    text = module.operation.get_asm(**limits)
    with tempfile.TemporaryDirectory(prefix="attune-") as folder:
        return _tools.lower_scans(text, name, folder)


def _reason(text):
    """The line that names the op, in all that torch-mlir prints."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if "error:" in line] or lines[:1] or ["no message"]
    return said[0][:300]
