# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m attune.import: what it says when something is missing or wrong, and
StableHLO where IREE's compiler is installed. What needs PyTorch and the like is in
test/programs/frontends.py."""

import contextlib
import importlib
import importlib.metadata
import io
import os
import pathlib
import stat
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np

import attune
from attune.frontends import _tools

command = importlib.import_module("attune.import")

HLO = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4x3xf32>
  %r = stablehlo.maximum %y, %z : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}
"""


def absent(*names):
    """As if these modules were not installed."""
    return mock.patch.dict(sys.modules, dict.fromkeys(names))


@contextlib.contextmanager
def no_programs():
    """As if no package had brought a program."""
    gone = mock.Mock(side_effect=importlib.metadata.PackageNotFoundError)
    with tempfile.TemporaryDirectory() as empty, mock.patch.object(importlib.metadata, "files", gone), \
            mock.patch.object(sys, "executable", os.path.join(empty, "python")), \
            mock.patch.dict(os.environ, {"PATH": empty}):
        yield pathlib.Path(empty)


class ImportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def fails(self, *arguments):
        """The one line on standard error; nothing is written."""
        result = self.folder / "result.mlir"
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            self.assertEqual(command.main([*arguments, "-o", str(result)]), 1)
        self.assertFalse(result.exists())
        self.assertRegex(out.getvalue(), r"\Aerror: [^\n]+\n\Z")
        return out.getvalue()

    # What is not installed.

    def test_onnx_names_each_missing_package(self):
        model = self.file("m.onnx", b"")
        with absent("onnx"):
            self.assertIn("needs onnx, which is not installed; pip install onnx", self.fails(model))
        with mock.patch.dict(sys.modules, {"onnx": types.ModuleType("onnx")}), no_programs():
            self.assertIn("needs torch-mlir-opt, which is not installed; pip install torch-mlir",
                          self.fails(model))

    def test_onnxruntime_and_the_importer_are_named(self):
        for name in ("onnxruntime", "torch_mlir.tools.import_onnx.__main__"):
            with absent(name), self.assertRaisesRegex(attune.Error, f"needs {name.split('.')[0]}.*pip install"):
                _tools.load(name, "an ONNX file")

    def test_torch_is_named(self):
        with absent("torch"):
            self.assertIn("needs torch, which is not installed; pip install torch", self.fails(self.file("m.pt2", b"")))
            with self.assertRaisesRegex(attune.Error, "needs torch, which is not installed"):
                attune.frontends.from_torch(None)

    def test_a_package_that_does_not_load_is_told_apart(self):
        (self.folder / "torch_mlir").mkdir()
        self.file("torch_mlir/__init__.py", "raise ImportError('libcuda.so.1: no such file')")
        with mock.patch.object(sys, "path", [str(self.folder), *sys.path]), \
                self.assertRaisesRegex(attune.Error, "is installed and does not load: libcuda.so.1: no such file"):
            sys.modules.pop("torch_mlir", None)
            _tools.load("torch_mlir", "a PyTorch model")

    def test_a_package_that_misses_another_names_that(self):
        self.file("halfthere.py", "import nosuchpackage")
        with mock.patch.object(sys, "path", [str(self.folder), *sys.path]), \
                self.assertRaisesRegex(attune.Error, "needs halfthere, which needs nosuchpackage; pip install nosuchpackage"):
            _tools.load("halfthere", "it")

    def test_jax_is_named(self):
        model = self.file("m.py", "def f(x): return x")
        with absent("jax", "torch"):
            self.assertIn("needs jax, which is not installed; pip install jax",
                          self.fails(model + ":f", "--input=4xf32"))
            self.assertIn("pip install jax", self.fails(self.file("m.jax", b"")))

    def test_the_compiler_for_stablehlo_is_named(self):
        with no_programs():
            self.assertIn("needs iree-opt, which is not installed; pip install iree-base-compiler",
                          self.fails(self.file("m.mlir", HLO)))

    # What is wrong with what is given.

    def test_what_is_no_model_says_what_to_give(self):
        for name, said in (("m.pth", "weights alone are no model"), ("m.pt", "torch.export.save"),
                           ("m.tflite", "tf2onnx"), ("m.py", "FILE.py:NAME"), ("m", "neither .onnx")):
            self.assertIn(said, self.fails(self.file(name, b"x")))
        self.assertIn("linalg and TOSA are read by attune itself", self.fails(self.file("m.mlir", "module {}")))
        self.assertIn("No such file", self.fails(str(self.folder / "nothing.mlir")))

    def test_python_that_is_not_there_or_fails(self):
        self.assertIn("no such file", self.fails(str(self.folder / "gone.py") + ":f"))
        self.assertIn("there is no Python package nosuchpackage", self.fails("nosuchpackage:f"))
        self.assertIn("has no g", self.fails(self.file("m.py", "f = 1") + ":g"))
        self.assertIn("fails: ValueError: oh", self.fails(self.file("bad.py", "raise ValueError('oh')") + ":g"))
        with absent("torch"):
            self.assertIn("neither a torch.nn.Module nor a function", self.fails(self.file("n.py", "f = 1") + ":f"))

    def test_flags_that_do_not_fit(self):
        self.assertIn("--input is for models in Python", self.fails("m.onnx", "--input=4xf32"))
        self.assertIn("--size is for ONNX files", self.fails("m.pt2", "--size=batch=1"))
        model = self.file("m.py", "def f(x): return x") + ":f"
        self.assertIn("--input=4y8: sizes and a type", self.fails(model, "--input=4y8"))
        for text in ("batch", "batch=", "=3", "x=1xax3"):
            with self.assertRaisesRegex(attune.Error, "a dimension or an input and its size"):
                command.parse_sizes([text])
        self.assertEqual(command.parse_sizes(["batch=1", "x=1x?x4"]), {"batch": 1, "x": (1, None, 4)})

    def test_a_result_that_cannot_be_written(self):
        with mock.patch.object(command, "import_model", return_value="module {}"):
            out = io.StringIO()
            with contextlib.redirect_stderr(out):
                self.assertEqual(command.main(["m.onnx", "-o", str(self.folder / "no" / "x.mlir")]), 1)
            self.assertIn("No such file or directory", out.getvalue())
            (self.folder / "taken").mkdir()
            with contextlib.redirect_stderr(out):
                self.assertEqual(command.main(["m.onnx", "-o", str(self.folder / "taken")]), 1)
            self.assertEqual([p.name for p in self.folder.iterdir()], ["taken"])

    # Programs of others.

    def program(self, text):
        path = pathlib.Path(self.file("iree-opt", "#!/bin/sh\n" + text))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return mock.patch.object(_tools, "find_program", return_value=str(path))

    def test_a_program_that_fails_gives_its_first_error_line(self):
        model = self.file("m.mlir", HLO)
        with self.program("echo note: hm >&2; echo 'm.mlir:3:1: error: oh no' >&2; echo more >&2; exit 1"):
            self.assertIn("m.mlir: m.mlir:3:1: error: oh no\n", self.fails(model))
        with self.program("kill -11 $$"):
            self.assertIn("it died of signal 11", self.fails(model))
        with self.program("exit 3"):
            self.assertIn("it ended with 3 and said nothing", self.fails(model))

    def test_a_program_that_hangs_is_ended(self):
        with self.program("exec sleep 60"), mock.patch.object(_tools, "SECONDS", 0.2):
            self.assertIn("did not end in", self.fails(self.file("m.mlir", HLO)))

    def test_scans_get_their_restrict(self):
        with mock.patch.object(_tools, "find_program", return_value="x"), \
                mock.patch.object(_tools, "optimize", return_value="%1 = bufferization.to_tensor %a : memref<4xf32>"):
            self.assertIn("to_tensor %a restrict : memref", _tools.lower_scans("tm_tensor.scan", "m", "."))
        self.assertEqual(_tools.lower_scans("linalg.generic", "m", "."), "linalg.generic")

    # The whole way, where IREE's compiler is.

    def test_stablehlo_computes_what_it_says(self):
        try:
            _tools.find_program("iree-opt", "StableHLO")
        except attune.Error as error:
            self.skipTest(str(error))
        result = self.folder / "m.mlir"
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(command.main([self.file("hlo.mlir", HLO), "-o", str(result)]), 0)
        random = np.random.default_rng(1)
        x, w = random.standard_normal((4, 8)).astype(np.float32), random.standard_normal((8, 3)).astype(np.float32)
        np.testing.assert_allclose(attune.compile(result, threads=1)(x, w), np.maximum(x @ w, 0), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
