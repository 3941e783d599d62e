# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""manifest.py DIR: what manifest.json says, after a look whether it is so."""
import json
import pathlib
import sys

import numpy

folder = pathlib.Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
assert manifest["version"] == 1
print("flags", *manifest["flags"])
for d in manifest["dispatches"]:
    assert (folder / d["file"]).exists() and len(d["fingerprint"]) == 16, d
    for i in d["inputs"]:
        if i["file"]:
            sizes = [int(s) for s in i["type"].split("x")[:-1]]
            assert list(numpy.load(folder / i["file"]).shape) == sizes, i
    print(d["name"], d["calls"], "call,", *(f"{i['type']} {i['values']}" for i in d["inputs"]))
