# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attune tune --backend=iree from end to end with IREE's own tools, on a small
matmul: killed in the search, it goes on with the trials that it had; results agree, and
what it wrote compiles with iree-compile to a program that gives what numpy gives. What
users get wrong is one clear line.

iree.py --attune=PATH --folder=DIR     ends with 77 (skipped) where IREE is not installed
"""

import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy

SIZE = 128
MATMUL = f"""func.func @mm(%a: tensor<{SIZE}x{SIZE}xf32>, %b: tensor<{SIZE}x{SIZE}xf32>) -> tensor<{SIZE}x{SIZE}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{SIZE}x{SIZE}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{SIZE}x{SIZE}xf32>) -> tensor<{SIZE}x{SIZE}xf32>
  %r = linalg.matmul ins(%a, %b : tensor<{SIZE}x{SIZE}xf32>, tensor<{SIZE}x{SIZE}xf32>)
    outs(%f : tensor<{SIZE}x{SIZE}xf32>) -> tensor<{SIZE}x{SIZE}xf32>
  return %r : tensor<{SIZE}x{SIZE}xf32>
}}
"""


def run(command, fails=False):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def find(tool):
    found = shutil.which(tool) or shutil.which(tool, path=str(pathlib.Path(sys.executable).parent))
    if not found:
        print(f"skipped: {tool} is not installed (./dev setup iree)")
        sys.exit(77)
    return found


def check_errors(attune, model, folder):
    """Each before anything is compiled twice."""
    for flags, told in ((["--iree-flag=--iree-codegen-tuning-spec-path=none.mlir"], "none.mlir"),
                        (["--entry=other"], "no public function 'other'"),
                        (["--capture"], "does not work with --backend=iree"),
                        (["--", "other.mlir"], "no flag of iree-compile"),
                        (["--", "--no-such-flag"], "no-such-flag")):
        said = run([attune, "tune", model, "--backend=iree", "-o", folder / "errors", *flags], fails=True)
        errors = [line for line in said.splitlines() if told in line]
        assert len(errors) == 1 and len(said.splitlines()) < 8, f"{flags}: {said}"


def trials_on_disk(attune, results):
    if not (results / "trials.db").exists():
        return 0
    shown = subprocess.run([attune, "db", "show", results / "trials.db", "--json"], capture_output=True, text=True)
    return json.loads(shown.stdout).get("trials", 0) if shown.returncode == 0 else 0


def kill_in_the_search(attune, command, results):
    """SIGKILL once two trials are on disk; gives how many there were."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and trials_on_disk(attune, results) < 2:
        time.sleep(0.1)
    assert process.poll() is None, "it ended before it had two trials"
    process.send_signal(signal.SIGKILL)
    process.wait()
    return trials_on_disk(attune, results)


def check_result(compiler, runner, model, folder, results):
    random = numpy.random.default_rng(1)
    a, b = (random.standard_normal((SIZE, SIZE), dtype=numpy.float32) for _ in range(2))
    numpy.save(folder / "a.npy", a)
    numpy.save(folder / "b.npy", b)
    library, output = folder / "mm.vmfb", folder / "output.npy"
    run([compiler, *(results / "flags.txt").read_text().split(), model, "-o", library])
    run([runner, f"--module={library}", "--function=mm", "--device=local-task", f"--input=@{folder}/a.npy",
         f"--input=@{folder}/b.npy", f"--output=@{output}"])
    numpy.testing.assert_allclose(numpy.load(output), a @ b, rtol=1e-3, atol=1e-3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--trials", type=int, default=8)
    arguments = parser.parse_args()
    compiler, runner = find("iree-compile"), find("iree-run-module")
    folder = arguments.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model, results = folder / "mm.mlir", folder / "results"
    model.write_text(MATMUL)
    check_errors(arguments.attune, model, folder)
    command = [arguments.attune, "tune", model, "--backend=iree", f"--budget={arguments.trials}", "-o", results,
               "--", "--iree-llvmcpu-target-cpu=host"]
    known = kill_in_the_search(arguments.attune, command, results)
    flags_then = (results / "iree-flags.json").read_text()
    run(command)
    assert (results / "iree-flags.json").read_text() == flags_then, "other flags were chosen the second time"

    summary = json.loads((results / "summary.json").read_text())
    assert summary["program"]["outputsAgree"], summary["program"]
    assert summary["program"]["speedupOverDefault"] > 0, summary["program"]
    row, = summary["dispatches"]
    made = sum(row["trials"].values())
    assert row["rootOp"] == "contraction" and row["trials"]["ok"] > 0, row
    assert known <= made <= arguments.trials, f"{known} before it was killed, {made} after: {row}"
    assert (row["configuration"] is not None) == (results / "spec.mlir").exists(), row
    flags = (results / "flags.txt").read_text().split()
    assert flags.count("--iree-llvmcpu-target-cpu=host") == 1, flags
    check_result(compiler, runner, model, folder, results)
    print(f"{made} trials, {known} of them before it was killed, speedup {summary['program']['speedup']:.2f}")


if __name__ == "__main__":
    main()
