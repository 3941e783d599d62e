# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run_all.py FILE...: runs every program on random inputs, and compares what it gives with
plain loops."""

import subprocess
import sys

count = 0
for path in sys.argv[1:]:
    common = ["attune", "run", path, "--input=random", "--seed=3", "--threads=1"]
    subprocess.run([*common, "--reference", "--output=@reference.npy"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([*common, "--check=@reference.npy", "--tolerance=1e-4"], capture_output=True, text=True)
    print(f"{path}: {'ok' if done.returncode == 0 else done.stderr.strip()}")
    count += done.returncode == 0
print(f"all {count} run")
