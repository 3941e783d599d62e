# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attune tune --backend=iree with each version of IREE that can be installed: programs of
several kinds give trials that work. One that is too old is refused in one line.

iree_versions.py --attune=PATH --folder=DIR [VERSION...]    ends with 77 (skipped) where none can be installed
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import iree

DATA = pathlib.Path(__file__).parent.parent / "data" / "iree"
VERSIONS = ["3.11.0", "3.12.0", "3.13.0"]
TOO_OLD = "3.10.0"


def install(version, folder):
    """A virtual environment that has it; None where PyPI cannot be reached."""
    place = folder / version
    compiler = place / "bin" / "iree-compile"
    if not compiler.exists():
        iree.run([sys.executable, "-m", "venv", place])
        done = subprocess.run([place / "bin" / "pip", "install", "--quiet", f"iree-base-compiler=={version}",
                               f"iree-base-runtime=={version}"], capture_output=True, text=True)
        if done.returncode:
            print(f"{version}: skipped, it cannot be installed: {done.stderr.strip().splitlines()[-1]}")
            return None
    return place


def tune(attune, place, model, results):
    environment = dict(os.environ, PATH=f"{place}/bin:{os.environ['PATH']}")
    return subprocess.run([attune, "tune", model, "--backend=iree", "--budget=3", "-o", results],
                          capture_output=True, text=True, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    tested, failed = [], []
    for version in arguments.versions:
        place = install(version, arguments.folder)
        for name in ("clamps", "softmax", "torch_async") if place else ():
            results = arguments.folder / f"{version}-{name}"
            done = tune(arguments.attune, place, DATA / f"{name}.mlir", results)
            summary = json.loads((results / "summary.json").read_text()) if done.returncode == 0 else None
            works = summary and any(row["trials"]["ok"] for row in summary["dispatches"])
            print(f"{version} {name}: {'ok' if works else 'FAILED: ' + done.stderr[-500:]}", flush=True)
            tested.append(version)
            if not works:
                failed.append(f"{version} {name}")
    if place := install(TOO_OLD, arguments.folder):
        done = tune(arguments.attune, place, DATA / "softmax.mlir", arguments.folder / "old")
        if done.returncode == 0 or "too old" not in done.stderr:
            failed.append(f"{TOO_OLD} is not refused: {done.stderr[-300:]}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
    sys.exit(0 if tested else 77)


if __name__ == "__main__":
    main()
