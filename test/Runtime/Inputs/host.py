# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""host.py LIBRARY SCRATCH: the mean that examples/host.c prints, by `attune run`."""

import subprocess
import sys

import numpy as np

library, scratch = sys.argv[1:]
values = np.sin(np.arange(128 * 64, dtype=np.float64)).astype(np.float32).reshape(128, 64)
for entry in ("encode", "decode"):
    np.save(scratch, values)
    subprocess.run(["attune", "run", library, f"--entry={entry}", f"--input=@{scratch}", f"--output=@{scratch}"],
                   check=True, stdout=subprocess.DEVNULL)
    values = np.load(scratch)
print(f"{values.astype(np.float64).sum() / values.size:.6f}")
