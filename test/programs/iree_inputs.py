# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users of IREE bring, tuned with IREE's own tools: each works, or is left alone
with a note that says so.

iree_inputs.py --attune=PATH --folder=DIR [CASE...]     ends with 77 (skipped) where IREE is not installed
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import iree
import numpy

DATA = pathlib.Path(__file__).parent.parent / "data" / "iree"
SPEC_FLAG = "--iree-codegen-tuning-spec-path="


class Case:
    """One program, tuned with two trials a dispatch at most."""

    def __init__(self, attune, folder, name):
        self.attune, self.folder, self.name = attune, folder / name, name
        self.folder.mkdir()

    def tune(self, model, *flags, trials=3):
        results = self.folder / "results"
        self.said = iree.run([self.attune, "tune", model, "--backend=iree", f"--budget={trials}", "-o", results, *flags])
        self.summary = json.loads((results / "summary.json").read_text())
        self.flags = (results / "flags.txt").read_text().split()
        assert self.summary["program"]["outputsAgree"], self.said
        return {row["rootOp"] for row in self.summary["dispatches"]}

    def notes(self, text):
        return [note for note in self.summary["notes"] if text in note]

    def ok(self):
        return sum(row["trials"]["ok"] for row in self.summary["dispatches"])


def spec_by_hand(case):
    """It is kept, and comes first; what it configures is not tuned."""
    spec = case.folder / "mine.mlir"
    shutil.copy(DATA / "hand_written_spec.mlir", spec)
    case.tune(DATA / "clamps.mlir", f"--iree-flag={SPEC_FLAG}{spec}")
    assert not case.summary["dispatches"], case.said
    assert case.notes("2 of what your spec configures"), case.summary["notes"]
    assert SPEC_FLAG + str(spec) in case.flags, case.flags
    # Of others, candidates have both.
    roots = case.tune(DATA / "softmax.mlir", f"--iree-flag={SPEC_FLAG}{spec}")
    assert "reduction" in roots and case.ok() > 0, case.said


def clamps(case):
    """One matcher finds both; they get one configuration, which is said."""
    case.tune(DATA / "clamps.mlir")
    row, = case.summary["dispatches"]
    assert row["trials"]["ok"] > 0 and case.notes("one matcher finds 2 dispatches"), case.said


def many_dispatches(case):
    """Two hundred products of which 150 have the same sizes."""
    lines = ["func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {", "  %zero = arith.constant 0.0 : f32",
             "  %x0 = tensor.empty() : tensor<8x16xf32>", "  %i0 = linalg.fill ins(%zero : f32) outs(%x0 : "
             "tensor<8x16xf32>) -> tensor<8x16xf32>"]
    last = "%a"
    for number in range(100):
        width = 16 if number < 50 else 17 + number - 50
        for source, rows, columns in ((last, 16, width), (f"%m{number}", width, 16)):
            kind, result = ("m", f"%m{number}") if source == last else ("n", f"%n{number}")
            lines += [f"  %w{kind}{number} = arith.constant dense<{0.01 * (number + 1):.2f}> : tensor<{rows}x{columns}xf32>",
                      f"  %e{kind}{number} = tensor.empty() : tensor<8x{columns}xf32>",
                      f"  %f{kind}{number} = linalg.fill ins(%zero : f32) outs(%e{kind}{number} : "
                      f"tensor<8x{columns}xf32>) -> tensor<8x{columns}xf32>",
                      f"  {result} = linalg.matmul ins({source}, %w{kind}{number} : tensor<8x{rows}xf32>, "
                      f"tensor<{rows}x{columns}xf32>) outs(%f{kind}{number} : tensor<8x{columns}xf32>) -> "
                      f"tensor<8x{columns}xf32>"]
        last = f"%n{number}"
    lines += [f"  return {last} : tensor<8x16xf32>", "}"]
    model = case.folder / "many.mlir"
    model.write_text("\n".join(lines) + "\n")
    case.tune(model, trials=2)


def torch_async(case):
    assert "contraction" in case.tune(DATA / "torch_async.mlir") and case.ok() > 0, case.said


def globals_(case):
    case.tune(DATA / "globals.mlir")
    assert case.ok() > 0, case.said


def parameters(case):
    """Runs get the archive; without it the error is IREE's own, in one line."""
    weights, archive = case.folder / "w.npy", case.folder / "weights.irpa"
    numpy.save(weights, numpy.full((96, 64), 0.5, dtype=numpy.float32))
    maker = iree.find("iree-create-parameters")
    iree.run([maker, "--splat=w=96x64xf32=0.5", f"--output={archive}"])
    case.tune(DATA / "parameters.mlir", f"--iree-run-flag=--parameters=model={archive}")
    assert case.ok() > 0, case.said
    said = iree.run([case.attune, "tune", DATA / "parameters.mlir", "--backend=iree", "-o", case.folder / "without"],
                    fails=True)
    assert "iree-run-module" in said.splitlines()[-1] and len(said) < 600, said


def no_workgroups(case):
    case.tune(DATA / "open_rows.mlir", "--input=0x96xf32", "--input=96x64xf32")


def open_rows(case):
    assert "contraction" in case.tune(DATA / "open_rows.mlir", "--input=40x96xf32", "--input=96x64xf32"), case.said
    assert case.ok() > 0, case.said


def two_results(case):
    assert "reduction" in case.tune(DATA / "two_results.mlir") and case.ok() > 0, case.said


def sort_scatter(case):
    """No space: left alone, said once."""
    numpy.save(case.folder / "i.npy", numpy.arange(16, dtype=numpy.int32).reshape(16, 1))
    case.tune(DATA / "sort_scatter.mlir", "--input=4096xf32", "--input=16xf32", f"--input=@{case.folder}/i.npy")
    assert not case.summary["dispatches"], case.said
    note, = case.notes("left as they are")
    assert "iree_linalg_ext.sort" in note and "iree_linalg_ext.scatter" in note, note


def softmax(case):
    assert "reduction" in case.tune(DATA / "softmax.mlir") and case.ok() > 0, case.said


def conv_f16(case):
    assert "convolution" in case.tune(DATA / "conv_f16.mlir"), case.said


def own_command(case):
    """The flags of a command, given or recorded."""
    compiler, model = iree.find("iree-compile"), DATA / "softmax.mlir"
    command = [compiler, "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
               "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O2", model, "-o", case.folder / "x.vmfb"]
    case.tune(model, "--", *command[1:-3])
    assert "--iree-opt-level=O2" in case.flags and "--iree-opt-level=O3" not in case.flags, case.flags
    recorded = case.folder / "flags.json"
    iree.run([case.attune, "record", "-o", recorded, "--", *command])
    said = iree.run([case.attune, "tune", "--backend=iree", f"--flags={recorded}", "--budget=1", "-o",
                     case.folder / "recorded"])
    flags = (case.folder / "recorded" / "flags.txt").read_text().split()
    assert "--iree-opt-level=O2" in flags and not any("x.vmfb" in flag for flag in flags), said


CASES = {"spec-by-hand": spec_by_hand, "clamps": clamps, "many-dispatches": many_dispatches,
         "torch-async": torch_async, "globals": globals_, "parameters": parameters, "no-workgroups": no_workgroups,
         "open-rows": open_rows, "two-results": two_results, "sort-scatter": sort_scatter, "softmax": softmax,
         "conv-f16": conv_f16, "own-command": own_command}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    arguments = parser.parse_args()
    iree.find("iree-compile")
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    failed = []
    for name in arguments.cases:
        try:
            CASES[name](Case(arguments.attune, arguments.folder, name))
            print(f"{name}: ok", flush=True)
        except (AssertionError, SystemExit, subprocess.SubprocessError) as error:
            failed.append(name)
            print(f"{name}: FAILED: {str(error)[-1500:]}", flush=True)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
