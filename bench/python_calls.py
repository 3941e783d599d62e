# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python costs: importing the package, and calling a compiled function.

./dev bench python
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import timeit

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "dev"

ADD = """
func.func @add(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.add ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


def seconds_of_import(statement, processes=9):
    """Median over fresh processes of a statement's time, without Python's start."""
    script = f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
    return statistics.median(
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        for _ in range(processes))


def seconds_of_call(call, repeat=15, number=20000):
    return min(timeit.repeat(call, number=number, repeat=repeat)) / number


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench python", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    paths = [str(ROOT / "python"), str(BUILD / "python")]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ.setdefault("ATTUNE", str(BUILD / "tools" / "attune" / "attune"))
    import attune
    import numpy as np
    add, x, y, out = attune.compile(ADD, threads=1), *np.ones((3, 4), np.float32)
    rows = {"import attune": seconds_of_import("import attune"),
            "import attune, then attune.compile": seconds_of_import("import attune; attune.compile"),
            "import numpy": seconds_of_import("import numpy"),
            "call with two arrays": seconds_of_call(lambda: add(x, y)),
            "call with two arrays and out=": seconds_of_call(lambda: add(x, y, out=out)),
            "numpy.add of the same": seconds_of_call(lambda: np.add(x, y))}
    if options.json:
        print(json.dumps({"version": 1, "seconds": rows}, indent=1))
    else:
        for name, seconds in rows.items():
            print(f"{name:36}{seconds * 1e3:8.1f} ms" if seconds > 1e-3 else f"{name:36}{seconds * 1e6:8.2f} µs")
    return 0
