# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An installed tree works from another folder: installs a build folder, moves the
result, and tunes, compiles and runs an example with it from there.

install.py --build=DIR --folder=DIR
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

import numpy as np

from compare import difference


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    first, moved = options.folder / "first", options.folder / "moved"
    subprocess.run(["cmake", "--install", options.build, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
    first.rename(moved)

    attune, examples, spec = moved / "bin" / "attune", moved / "share/attune/examples", "out/spec.mlir"
    model, given = examples / "text_direction.mlir", examples / "text_direction.x0.npy"
    for command in (["tune", model, "--budget=3s", "-o", "out"],
                    ["compile", model, f"--spec={spec}", "-o", "tuned.so"],
                    ["run", "tuned.so", f"--input=@{given}", "--output=@y0.npy"]):
        # An empty environment, an empty folder: only the tree itself can help.
        done = subprocess.run([attune, *map(str, command)], cwd=options.folder, env={"PATH": "/usr/bin:/bin"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"attune {command[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    why = difference(np.load(options.folder / "y0.npy"), np.load(examples / "text_direction.y0.npy"), 1e-4)
    if why:
        sys.exit(f"the result is wrong: {why}")
    print("the installed tree works from another folder")


if __name__ == "__main__":
    main()
