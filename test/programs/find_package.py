# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""find_package(Attune) in an installed tree: the C++ example is configured, built and
run from a folder of its own, and tunes a small matmul with its own searcher.

find_package.py --build=DIR --folder=DIR
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode:
        sys.exit(f"{command[0]} {command[1]} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-1500:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    first, tree = options.folder / "first", options.folder / "moved"
    run("cmake", "--install", options.build, "--prefix", first)
    first.rename(tree)

    source = options.folder / "source"
    shutil.copytree(tree / "share/attune/examples/harness", source)
    build = options.folder / "build"
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={tree}",
        "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_C_COMPILER=clang-22")
    run("cmake", "--build", build)

    # Only the tree itself can help: nothing names the `attune` to use.
    environment = {name: value for name, value in os.environ.items() if name != "ATTUNE"}
    printed = run(build / "tune_matmul", 64, 4, cwd=options.folder, env=environment)
    rows = [line for line in printed.splitlines() if line.startswith("matmul ")]
    if len(rows) != 4:
        sys.exit(f"4 evaluations were asked for, {len(rows)} came: {printed}")
    if not any(row.rstrip().endswith("right") for row in rows):
        sys.exit(f"nothing ran and was right: {printed}")
    if not re.search(r"^double_tiling .*m_tile=\d+", printed, re.MULTILINE):
        sys.exit(f"no best configuration: {printed}")
    print("a program of one's own tunes with the installed tree")


if __name__ == "__main__":
    main()
