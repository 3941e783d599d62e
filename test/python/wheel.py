# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A wheel works in a fresh environment: builds one, of a build folder that is there
(--build) or of the sources, installs it, and compiles, calls, tunes and measures.

wheel.py --folder=DIR [--build=DIR]
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
import attune, numpy as np, pathlib, sys
assert pathlib.Path(attune.__file__).is_relative_to(sys.prefix), attune.__file__
text = pathlib.Path(sys.argv[1]).read_text()
function = attune.compile(text, threads=1)
a = np.ones((1024, 1024), np.float32)
assert (function(a, a) == 1024).all()
result = attune.harness(attune.problem("matmul")(m=16, n=16, k=16), attune.expert("double_tiling"), n_iters=2)
assert result.ok, result
tuned = attune.tune(sys.argv[2], budget=2)
assert tuned.summary["version"] == 1
print("works")
"""

COMMANDS = """{"knobs": [{"name": "size", "values": [2, 1]}], "run": ["sh", "-c", "echo time 0.00{size}"],
 "metric": {"regex": "time (?<seconds>.*)"}}"""

MISSING = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "_attune":
            raise ImportError("libLLVM.so.22.1: cannot open shared object file: No such file or directory")
sys.meta_path.insert(0, Finder())
import attune
try:
    attune.Space
except ImportError as error:
    assert "attune needs libLLVM.so.22.1" in str(error) and "apt-get install" in str(error), error
else:
    sys.exit("no error")
print("says so")
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:4]))} ... ended with {done.returncode}:\n{done.stdout[-2000:]}\n"
                 f"{done.stderr[-3000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    settings = [f"--config-settings=build-dir={options.folder / 'build'}"]
    if options.build:
        settings.append(f"--config-settings=cmake.define.ATTUNE_BUILT={options.build.resolve()}")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "--quiet",
        f"--wheel-dir={options.folder}", *settings)
    (wheel,) = options.folder.glob("attune-*.whl")

    venv = options.folder / "venv"
    run(sys.executable, "-m", "venv", venv)
    run(venv / "bin" / "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
    # numpy from here: the test needs no network.
    ours = pathlib.Path(numpy.__file__).resolve().parents[1]
    (site,) = venv.glob("lib/python*/site-packages")
    for name in ("numpy", "numpy.libs"):
        if (ours / name).exists():
            (site / name).symlink_to(ours / name)

    (options.folder / "commands.json").write_text(COMMANDS)
    # An empty environment, another folder: only the wheel itself can help.
    clean = {"cwd": options.folder, "env": {"PATH": "/usr/bin:/bin"}}
    python = venv / "bin" / "python"
    assert run(python, "-c", PROGRAM, ROOT / "examples" / "matmul.mlir", "commands.json", **clean).endswith("works\n")
    assert run(python, "-c", MISSING, **clean) == "says so\n"
    assert run(venv / "bin" / "attune", "--version", **clean).strip()
    for name in ("_attune.pyi", "_attune_harness.pyi", "attune/py.typed"):
        assert (site / name).exists(), f"the wheel has no {name}"
    print(f"{wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) works in a fresh environment")


if __name__ == "__main__":
    main()
