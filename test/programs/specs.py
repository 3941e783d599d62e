# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs of two programs, merged: every entry of both applies to its program, and is
in the code. An entry that does not get there is told, by check and by compile.

specs.py --attune=PATH --folder=DIR
"""

import argparse
import ctypes
import json
import pathlib
import re
import subprocess
import sys

from suites import ROOT

MODELS = {name: ROOT / "examples" / f"{name}.mlir" for name in ("two_entries", "matmul_bias_relu")}


class Tool:
    def __init__(self, attune, folder):
        self.attune, self.folder = attune, folder

    def run(self, *arguments, fails=False):
        done = subprocess.run([self.attune, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)
        if (done.returncode != 0) != fails:
            sys.exit(f"attune {' '.join(map(str, arguments))}: status {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout + done.stderr if fails else done.stdout

    def lowered(self, library):
        """{dispatch: (configuration or `loops`, hash of its code)} of a library."""
        loaded = ctypes.CDLL(str(self.folder / library))
        loaded.attune_signature.restype = ctypes.c_char_p
        made = json.loads(loaded.attune_signature())["lowered"]
        return {d["name"]: (d["how"], d["code"]) for d in made}


def as_mlir(value):
    if value in ("true", "false"):
        return value
    if value.startswith("["):
        return f"array<i64: {value.strip('[]').replace(',', ', ')}>"
    return f"{value} : i64" if re.fullmatch(r"-?\d+", value) else f'"{value}"'


def changed(configuration):
    """The default of a schedule with one knob at another value."""
    schedule, *knobs = configuration.split(" ")
    values = dict(k.split("=") for k in knobs)
    for name, value in values.items():
        if value in ("true", "false"):
            values[name] = "false" if value == "true" else "true"
            break
    return schedule, values


def entry(fingerprint, schedule, values):
    knobs = ", ".join(f"{name} = {as_mlir(value)}" for name, value in sorted(values.items()))
    return (f'  attune.apply <"{schedule}", {{{knobs}}}> to "{fingerprint}" '
            '{baseline_seconds = 2.0e-05 : f64, tuned_seconds = 1.0e-05 : f64}\n')


def write_spec(path, entries):
    path.write_text("module attributes {attune.spec_version = 1 : i64, attune.dispatch_version = 1 : i64} {\n"
                    + "".join(entries) + "}\n")


def expect(condition, text):
    if not condition:
        sys.exit(text)


def make_specs(tool):
    """A spec for each program with an entry for every dispatch; {model: fingerprints}."""
    fingerprints = {}
    for name, model in MODELS.items():
        tool.run("compile", model, "--threads=1", "-o", f"{name}.so")
        made = tool.lowered(f"{name}.so")
        entries = []
        for dispatch in json.loads(tool.run("dispatches", model, "--json"))["dispatches"]:
            how, _ = made[dispatch["name"]]
            expect(how != "loops", f"{name}: {dispatch['name']} has no schedule")
            entries.append(entry(dispatch["fingerprint"], *changed(how)))
            fingerprints.setdefault(name, set()).add(dispatch["fingerprint"])
        write_spec(tool.folder / f"{name}.spec.mlir", entries)
    return fingerprints


def check_merged(tool, fingerprints):
    specs = [f"{name}.spec.mlir" for name in MODELS]
    tool.run("spec", "merge", *specs, "-o", "merged.mlir")
    tool.run("spec", "merge", *reversed(specs), "-o", "again.mlir")
    expect((tool.folder / "merged.mlir").read_text() == (tool.folder / "again.mlir").read_text(),
           "the order of the files decides what a merged spec is")
    for name, model in MODELS.items():
        result = json.loads(tool.run("compile", model, "--spec=merged.mlir", "--threads=1", "--json",
                                     "-o", f"{name}.tuned.so"))
        applied = {e["fingerprint"] for e in result["entries"] if e["dispatches"]}
        expect(applied == fingerprints[name], f"{name}: {applied} applied, not {fingerprints[name]}")
        expect(result["verified"] and not result["untouched"], f"{name}: {result}")
        before, after = tool.lowered(f"{name}.so"), tool.lowered(f"{name}.tuned.so")
        for dispatch in before:
            expect(before[dispatch][1] != after[dispatch][1], f"{name}: the code of {dispatch} is what it was")
        said = tool.run("spec", "check", f"{name}.spec.mlir", model, "--threads=1")
        expect(", verified in the code" in said and " on contraction_1" in said, said)
        expect("not every entry" in tool.run("spec", "check", "merged.mlir", model, "--threads=1", fails=True),
               "an entry of another program applies")
    expect("2.00x" in tool.run("spec", "explain", "merged.mlir"), "explain says no gain")


def check_no_difference(tool):
    """The default as a spec: in the code, and no other than without."""
    name, model = next(iter(MODELS.items()))
    made = tool.lowered(f"{name}.so")
    entries = []
    for dispatch in json.loads(tool.run("dispatches", model, "--json"))["dispatches"]:
        schedule, *knobs = made[dispatch["name"]][0].split(" ")
        entries.append(entry(dispatch["fingerprint"], schedule, dict(k.split("=") for k in knobs)))
    write_spec(tool.folder / "default.mlir", entries)
    said = tool.run("spec", "check", "default.mlir", model, "--threads=1")
    expect("makes the code of the untuned program" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    tool = Tool(options.attune.resolve(), options.folder.resolve())
    check_merged(tool, make_specs(tool))
    check_no_difference(tool)
    print("merged, applied, verified")


if __name__ == "__main__":
    main()
