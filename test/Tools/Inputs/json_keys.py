# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""json_keys.py PATH...: reads JSON from standard input, which must be one value and
nothing else, and prints what is at each path: `dispatches.0.name`, `entries.#` for a
length."""

import json
import sys

value = json.load(sys.stdin)
for path in sys.argv[1:]:
    at = value
    for step in path.split("."):
        at = len(at) if step == "#" else at[int(step)] if isinstance(at, list) else at[step]
    print(f"{path}: {json.dumps(at)}")
