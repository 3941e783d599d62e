# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m attune.import with the packages it needs (./dev setup models): small models
of each kind are imported, run, and compared with what their package computes.

frontends.py --attune=PATH --folder=DIR [--filter=RE]
"""

import argparse
import pathlib
import re
import subprocess
import sys

import numpy as np

from compare import difference

TORCH = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(24)
        self.first, self.second = torch.nn.Linear(16, 24), torch.nn.Linear(24, 5)

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x)))).softmax(-1)

def scan(x):
    return torch.cumsum(x, 1)

class Scan(torch.nn.Module):
    def forward(self, x):
        return scan(x)

class Unknown(torch.nn.Module):
    def forward(self, a, b):
        return torch.cdist(a, b)
"""
JAX = """
import jax
def f(x, w):
    return jax.nn.softmax(x @ w, axis=-1)
"""


class Test:
    def __init__(self, options):
        self.attune, self.folder = options.attune, options.folder
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "net.py").write_text(TORCH)
        (self.folder / "fun.py").write_text(JAX)
        self.random = np.random.default_rng(3)

    def run_import(self, *arguments):
        model = self.folder / "model.mlir"
        model.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, "-m", "attune.import", *map(str, arguments), "-o", model],
                              capture_output=True, text=True, cwd=self.folder)
        return model, done

    def imported(self, *arguments):
        model, done = self.run_import(*arguments)
        if done.returncode:
            raise AssertionError(done.stderr.strip()[-500:])
        return model

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def compare(self, model, inputs, wanted, tolerance=1e-4):
        given = []
        for i, x in enumerate(inputs):
            np.save(self.folder / f"x{i}.npy", x)
            given.append(f"--input=@{self.folder / f'x{i}.npy'}")
        result = self.folder / "y0.npy"
        done = subprocess.run([self.attune, "run", "--checked", model, *given, f"--output=@{result}"],
                              capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr.strip()[-500:])
        why = difference(np.load(result), np.asarray(wanted), tolerance)
        if why:
            raise AssertionError(why)

    def net(self):
        """The network as attune.import makes it: with its seed."""
        import torch
        sys.path.insert(0, str(self.folder))
        import net
        torch.manual_seed(5)
        return torch, net.Net().eval()

    def test_torch_module_of_a_file(self):
        torch, net = self.net()
        model = self.imported("net.py:Net", "--input=3x16xf32", "--seed=5")
        x = self.floats(3, 16)
        self.compare(model, [x], net(torch.from_numpy(x)).detach())

    def test_open_sizes_stay_open(self):
        torch, net = self.net()
        model = self.imported("net.py:Net", "--input=?x16xf32", "--seed=5")
        for rows in (1, 9):
            x = self.floats(rows, 16)
            self.compare(model, [x], net(torch.from_numpy(x)).detach())

    def test_weights_can_be_left_out(self):
        model = self.imported("net.py:Net", "--input=3x16xf32", "--elide-weights")
        assert "torch_tensor_24_16" in model.read_text() and "torch_tensor_24_16_torch.float32:" not in model.read_text()
        self.compare(model, [self.floats(3, 16)], np.full((3, 5), 0.2, np.float32), tolerance=10)

    def test_exported_program(self):
        torch, net = self.net()
        x = self.floats(4, 16)
        torch.export.save(torch.export.export(net, (torch.from_numpy(x),)), self.folder / "net.pt2")
        self.compare(self.imported("net.pt2"), [x], net(torch.from_numpy(x)).detach())

    def test_scan_becomes_loops(self):
        model = self.imported("net.py:Scan", "--input=3x7xf32")
        x = self.floats(3, 7)
        self.compare(model, [x], np.cumsum(x, 1))

    def test_what_cannot_be_lowered_is_named(self):
        _, done = self.run_import("net.py:Unknown", "--input=3x4xf32", "--input=5x4xf32")
        assert done.returncode == 1 and "_cdist_forward" in done.stderr, done.stderr

    def test_onnx_with_open_sizes(self):
        import onnx
        from onnx import TensorProto, helper, numpy_helper
        w = self.floats(16, 5)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])], [numpy_helper.from_array(w, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  self.folder / "m.onnx")
        for flags, rows in ((["--size=batch=3"], 3), (["--size=x=2x16"], 2), ([], 6)):
            x = self.floats(rows, 16)
            self.compare(self.imported("m.onnx", *flags), [x], np.maximum(x @ w, 0))
        for flags, said in ((["--size=rows=3"], "open dimensions: batch"), (["--size=x=2x3x4"], "has 2 dimensions"),
                            (["--size=x=2x17"], "is 16 in the file, not 17")):
            _, done = self.run_import("m.onnx", *flags)
            assert done.returncode == 1 and said in done.stderr, done.stderr
        (self.folder / "bad.onnx").write_bytes(b"\x08\xff nothing")
        _, done = self.run_import("bad.onnx")
        assert done.returncode == 1 and re.match(r"error: bad\.onnx: not an ONNX file[^\n]*\n\Z", done.stderr), done.stderr

    def test_jax_function(self):
        model = self.imported("fun.py:f", "--input=4x8xf32", "--input=8x3xf32")
        x, w = self.floats(4, 8), self.floats(8, 3)
        y = np.exp(x @ w)
        self.compare(model, [x, w], y / y.sum(-1, keepdims=True))

    def test_jax_export(self):
        import jax
        from jax import export
        exported = export.export(jax.jit(lambda x: jax.numpy.tanh(x) * 2))(jax.ShapeDtypeStruct((4, 8), "float32"))
        (self.folder / "f.jax").write_bytes(exported.serialize())
        x = self.floats(4, 8)
        self.compare(self.imported("f.jax"), [x], np.tanh(x) * 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="")
    test, failures = Test(parser.parse_args()), 0
    for name in [name for name in dir(test) if name.startswith("test_") and re.search(parser.parse_args().filter, name)]:
        try:
            getattr(test, name)()
            print(f"ok   {name}", flush=True)
        except Exception as error:
            failures += 1
            print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
