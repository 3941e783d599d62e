# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run_all.py FOLDER...: runs every program in the folders on random inputs, and compares
what it gives with plain loops."""

import pathlib
import subprocess
import sys

count = 0
for folder in sys.argv[1:]:
    for path in sorted(pathlib.Path(folder).glob("*.mlir")):
        common = ["attune", "run", path, "--input=random", "--seed=3"]
        subprocess.run([*common, "--reference", "--output=@reference.npy"], check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([*common, "--check=@reference.npy", "--tolerance=1e-4"], capture_output=True, text=True)
        print(f"{path}: {'ok' if done.returncode == 0 else done.stderr.strip()}")
        count += done.returncode == 0
print(f"all {count} run")
