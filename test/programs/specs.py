# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs of two programs, merged: every entry of both applies to its program, and is
in the code. An entry that does not get there is told, by check and by compile.

specs.py --attune=PATH --folder=DIR [--models [--tune=60s]]
    --models   of ResNet-18 and BERT
    --tune     the specs are those of tuning so long, not made up
"""

import argparse
import ctypes
import json
import pathlib
import re
import subprocess
import sys

from suites import ROOT

EXAMPLES = {name: ROOT / "examples" / f"{name}.mlir" for name in ("two_entries", "matmul_bias_relu")}
MODELS = {name: ROOT / "test/data/models" / f"{name}.elided.mlir" for name in ("resnet18", "bert_eager")}
# What was once padded so that its spec was for nothing; equal dispatches under two names, a hundred times, and two
# that differ in a constant.
TRICKY = {name: ROOT / "test/data/tricky" / f"{name}.mlir"
          for name in ("matmul_150000", "two_functions", "hundred", "clamps")}


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


def list_dispatches(tool, model):
    return json.loads(tool.run("dispatches", model, "--threads=1", "--json"))["dispatches"]


def make_specs(tool, models):
    """A spec for each program with an entry for every dispatch that has a schedule; {model: fingerprints}."""
    fingerprints = {}
    for name, model in models.items():
        tool.run("compile", model, "--threads=1", "-o", f"{name}.so")
        made = tool.lowered(f"{name}.so")
        entries, named = [], {}
        for dispatch in list_dispatches(tool, model):
            how, _ = made[dispatch["name"]]
            expect(how != "loops" or models is MODELS, f"{name}: {dispatch['name']} has no schedule")
            if how != "loops":
                entries.append(entry(dispatch["fingerprint"], *changed(how)))
                named[dispatch["fingerprint"]] = dispatch["name"]
        expect(len(entries) == len(named), f"{name}: two dispatches have one fingerprint")
        fingerprints[name] = set(named)
        write_spec(tool.folder / f"{name}.spec.mlir", entries)
    return fingerprints


def tune_models(tool, budget):
    """The specs that tuning gives; {model: fingerprints}."""
    fingerprints = {}
    for name, model in MODELS.items():
        tool.run("tune", model, "--threads=1", f"--budget={budget}", "-o", f"{name}.tuned")
        text = (tool.folder / f"{name}.tuned" / "spec.mlir").read_text()
        fingerprints[name] = set(re.findall(r'to "([0-9a-f]{16})"', text))
        (tool.folder / f"{name}.spec.mlir").write_text(text)
    return fingerprints


def check_merged(tool, models, fingerprints):
    """All entries of all specs are in the merged one, and each gets to its programs."""
    specs = [f"{name}.spec.mlir" for name in models]
    tool.run("spec", "merge", *specs, "-o", "merged.mlir")
    tool.run("spec", "merge", *reversed(specs), "-o", "again.mlir")
    expect((tool.folder / "merged.mlir").read_text() == (tool.folder / "again.mlir").read_text(),
           "the order of the files decides what a merged spec is")
    for name, model in models.items():
        result = json.loads(tool.run("compile", model, "--spec=merged.mlir", "--threads=1", "--json",
                                     "-o", f"{name}.tuned.so"))
        applied = {e["fingerprint"] for e in result["entries"] if e["dispatches"]}
        expect(fingerprints[name] <= applied,
               f"{name}: {len(applied)} applied, not {fingerprints[name] - applied}; {result['warnings']}")
        expect(result["verified"], f"{name}: {result}")


def check_code(tool):
    """Another configuration is other code; what does not apply is told."""
    for name, model in EXAMPLES.items():
        before, after = tool.lowered(f"{name}.so"), tool.lowered(f"{name}.tuned.so")
        for dispatch in before:
            expect(before[dispatch][1] != after[dispatch][1], f"{name}: the code of {dispatch} is what it was")
        said = tool.run("spec", "check", f"{name}.spec.mlir", model, "--threads=1")
        expect(", verified in the code" in said and " on contraction_1" in said, said)
        expect("not every entry" in tool.run("spec", "check", "merged.mlir", model, "--threads=1", fails=True),
               "an entry of another program applies")
        expect("not every entry" in tool.run("compile", model, "--spec=merged.mlir", "--require-spec", "--threads=1",
                                             "-o", "required.so", fails=True), "--require-spec lets it pass")
        expect(not (tool.folder / "required.so").exists(), "a library is there all the same")
    expect("2.00x" in tool.run("spec", "explain", "merged.mlir"), "explain says no gain")


MATCHER = """module attributes {attune.spec_version = 1 : i64, attune.dispatch_version = 1 : i64,
    transform.with_named_sequence} {
  transform.named_sequence @rows(%op: !transform.any_op {transform.readonly}) {
    transform.attune.match.contraction %op {m = [#attune.range<LOWER, 4096>], types = [f32, f32, f32]}
        : (!transform.any_op) -> ()
    transform.yield
  }
  attune.apply <"SCHEDULE", {KNOBS}> to @rows
}
"""


def check_matchers(tool):
    """An entry for whatever a matcher takes: sizes in a range, and no other."""
    name, model = "matmul_bias_relu", EXAMPLES["matmul_bias_relu"]
    how, _ = tool.lowered(f"{name}.so")[list_dispatches(tool, model)[0]["name"]]
    schedule, values = changed(how)
    knobs = ", ".join(f"{knob} = {as_mlir(value)}" for knob, value in sorted(values.items()))
    text = MATCHER.replace("SCHEDULE", schedule).replace("KNOBS", knobs)
    (tool.folder / "rows.mlir").write_text(text.replace("LOWER", "1"))
    (tool.folder / "many_rows.mlir").write_text(text.replace("LOWER", "4000"))
    said = tool.run("spec", "check", "rows.mlir", model, "--threads=1")
    expect("@rows: on contraction_1" in said and "verified in the code" in said, said)
    said = tool.run("spec", "check", "many_rows.mlir", model, "--threads=1", fails=True)
    expect("it takes no dispatch of this program" in said, said)
    # A fingerprint is more than a matcher, and two matchers of one name are two.
    tool.run("spec", "merge", "rows.mlir", "many_rows.mlir", f"{name}.spec.mlir", "-o", "matchers.mlir")
    merged = (tool.folder / "matchers.mlir").read_text()
    expect("to @rows_2" in merged and merged.count("named_sequence @") == 2, merged)
    result = json.loads(tool.run("compile", model, "--spec=matchers.mlir", "--threads=1", "--json", "-o", "m.so"))
    applied = [e["fingerprint"] for e in result["entries"] if e["dispatches"]]
    expect(len(applied) == 1 and "@" not in applied[0], f"{applied} applied")
    match = "transform.attune.match.contraction %op {m"
    harm = text.replace("LOWER", "1").replace(match, f'transform.annotate %op "a" : !transform.any_op\n{match}')
    (tool.folder / "harm.mlir").write_text(harm)
    expect("no match op" in tool.run("spec", "explain", "harm.mlir", fails=True), "a matcher may change a program")


def check_no_difference(tool):
    """The default as a spec: in the code, and no other than without."""
    name, model = next(iter(EXAMPLES.items()))
    made = tool.lowered(f"{name}.so")
    entries = []
    for dispatch in list_dispatches(tool, model):
        schedule, *knobs = made[dispatch["name"]][0].split(" ")
        entries.append(entry(dispatch["fingerprint"], schedule, dict(k.split("=") for k in knobs)))
    write_spec(tool.folder / "default.mlir", entries)
    said = tool.run("spec", "check", "default.mlir", model, "--threads=1")
    expect("makes the code of the untuned program" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--tune", default="")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    tool = Tool(options.attune.resolve(), options.folder.resolve())
    if options.models:
        check_merged(tool, MODELS, tune_models(tool, options.tune) if options.tune else make_specs(tool, MODELS))
    else:
        check_merged(tool, TRICKY, make_specs(tool, TRICKY))
        fingerprints = make_specs(tool, EXAMPLES)
        check_merged(tool, EXAMPLES, fingerprints)
        check_code(tool)
        check_matchers(tool)
        check_no_difference(tool)
    print("merged, applied, verified")


if __name__ == "__main__":
    main()
