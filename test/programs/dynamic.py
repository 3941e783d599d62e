# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One library for several sizes: a spec with sizes makes variants, the program picks by
the size when it runs, and every other size (none, one, many) takes the general way.

dynamic.py --attune=PATH --folder=DIR [--tune=60s]
"""

import argparse
import ctypes
import json
import pathlib

import numpy as np

from specs import Tool, changed, entry, expect
from suites import ROOT

MODEL = ROOT / "examples" / "dynamic_mlp.mlir"
SIZES = ["1", "8", "2..5"]
# Of a variant, of a range's ends and middle, and of none.
RUNS = [0, 1, 2, 3, 5, 7, 8, 130]


def as_ranges(sizes):
    low, _, high = sizes.partition("..")
    return f'  attune.sizes "main" [#attune.range<{low}, {high or low}>]\n'


def write_spec(path, entries, sizes):
    path.write_text("module attributes {attune.spec_version = 1 : i64, attune.dispatch_version = 1 : i64} {\n"
                    + "".join(entries) + "".join(map(as_ranges, sizes)) + "}\n")


def signature(library):
    loaded = ctypes.CDLL(str(library))
    loaded.attune_signature.restype = ctypes.c_char_p
    return json.loads(loaded.attune_signature())


def check_results(tool, library):
    """Results of the library are those of the reference, for sizes of every kind."""
    rng = np.random.default_rng(1)
    for size in RUNS:
        np.save(tool.folder / f"x{size}.npy", rng.standard_normal((size, 784)).astype(np.float32))
        tool.run("run", MODEL, "--reference", f"--input=@x{size}.npy", f"--output=@y{size}.npy")
        tool.run("run", library, f"--input=@x{size}.npy", f"--check=@y{size}.npy", "--tolerance=1e-3")


def list_dispatches(tool):
    given = f"--input=?x784xf32:{','.join(SIZES)}"
    return json.loads(tool.run("dispatches", MODEL, given, "--threads=1", "--json"))["dispatches"]


def check_variants(tool):
    """A spec with sizes, and an entry for each dispatch of a variant."""
    write_spec(tool.folder / "sizes.mlir", [], SIZES)
    tool.run("compile", MODEL, "--spec=sizes.mlir", "--require-spec", "--threads=1", "-o", "sizes.so")
    made = signature(tool.folder / "sizes.so")
    expect([v["sizes"] for v in made["variants"]] == ["1", "8", "2..5"], f"variants: {made['variants']}")
    expect(len(made["entries"]) == 1, f"entries: {made['entries']}")
    how = {d["name"]: d["how"] for d in made["lowered"]}
    rows = list_dispatches(tool)
    expect({"?", "8"} <= {row["shapes"].split("x")[0] for row in rows} and
           any(row["shapes"].endswith("[2..5]") for row in rows), f"shapes: {[row['shapes'] for row in rows]}")
    fingerprints = {row["fingerprint"] for row in rows}
    expect(len(fingerprints) == len(rows), "dispatches of two variants have one fingerprint")
    # The general way stays as it is.
    tuned = [row for row in rows if not row["shapes"].startswith("?") or "[" in row["shapes"]]
    tuned = [row for row in tuned if how[row["name"]] != "loops"]
    entries = [entry(row["fingerprint"], *changed(how[row["name"]])) for row in tuned]
    write_spec(tool.folder / "tuned.mlir", entries, SIZES)
    said = tool.run("spec", "check", "tuned.mlir", MODEL, "--threads=1")
    expect(f"{len(entries)} of {len(entries)} entries applied" in said and "verified in the code" in said, said)
    tool.run("compile", MODEL, "--spec=tuned.mlir", "--require-spec", "--threads=1", "-o", "tuned.so")
    check_results(tool, "tuned.so")


def check_merge(tool):
    """Sizes of several specs come together; those of no entry are told."""
    write_spec(tool.folder / "one.mlir", [], ["1", "16"])
    tool.run("spec", "merge", "one.mlir", "sizes.mlir", "-o", "merged.mlir")
    text = (tool.folder / "merged.mlir").read_text()
    expect(text.count("attune.sizes") == 4 and text.count("<1, 1>") == 1, text)
    expect("compiled for sizes 2..5" in tool.run("spec", "explain", "merged.mlir"), "explain says nothing of sizes")
    said = tool.run("spec", "check", "one.mlir", ROOT / "examples" / "matmul.mlir", "--threads=1")
    expect("not compiled for sizes 16 of 'main'" in said, said)


def check_tuned(tool, budget):
    """What tuning for sizes gives: a spec that applies, and right results."""
    tool.run("tune", MODEL, f"--input=?x784xf32:{','.join(SIZES)}", f"--budget={budget}", "-o", "found")
    tool.run("compile", MODEL, "--spec=found/spec.mlir", "--require-spec", "-o", "found.so")
    check_results(tool, "found.so")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--tune", default="")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    tool = Tool(options.attune.resolve(), options.folder.resolve())
    if options.tune:
        check_tuned(tool, options.tune)
    else:
        check_variants(tool)
        check_merge(tool)
    print("right for every size")


if __name__ == "__main__":
    main()
