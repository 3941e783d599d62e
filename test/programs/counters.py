# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attune profile --counters, on a processor whose counters are known (counters_shim.c).

counters.py --attune=PATH --folder=DIR
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples" / "two_entries.mlir"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    shim = options.folder / "counters.so"
    subprocess.run(["clang-22", "-O1", "-shared", "-fPIC", ROOT / "test/programs/counters_shim.c", "-ldl", "-o", shim],
                   check=True)

    def profile(*arguments, fake="", succeeds=True):
        environment = os.environ | {"LD_PRELOAD": str(shim), "FAKE_COUNTERS": fake}
        done = subprocess.run([options.attune, "profile", *map(str, arguments)], capture_output=True, text=True,
                              env=environment if fake else None, stdin=subprocess.DEVNULL)
        if succeeds and done.returncode:
            sys.exit(f"attune profile {arguments}: {done.stderr.strip()}")
        return done

    flags = [MODEL, "--threads=1", "--seconds=0.01", "--counters"]
    rows = [json.loads(line) for line in profile(*flags, "--format=jsonl", fake="yes").stdout.splitlines()]
    rows = [row for row in rows if row["kind"] == "dispatch"]
    assert len(rows) >= 2, rows
    for row in rows:
        # One step between the two reads of a call.
        per_call = [row[name] / row["calls"] for name in ("cycles", "instructions", "cacheMisses", "branchMisses")]
        assert all(abs(a - b) < 1e-6 * b for a, b in zip(per_call, (3000, 6000, 6, 12))), row

    # The same through pprof and in the table: instructions a cycle, misses of a thousand instructions.
    file = options.folder / "counted.pb.gz"
    profile(*flags, "-o", file, fake="yes")
    table = profile(file).stdout.splitlines()
    assert table[0].split()[5:8] == ["IPC", "cache/ki", "branch/ki"], table[0]
    counted = [line.split() for line in table[1:] if "contraction_1" in line]
    assert counted and all(words[6:9] == ["2.00", "1.00", "2.00"] for words in counted), table

    # No counters asked for, none shown; none there, one line that says so.
    assert "IPC" not in profile(*flags[:-1]).stdout
    refused = profile(*flags, fake="none", succeeds=False)
    errors = [line for line in refused.stderr.splitlines() if line.startswith("error:")]
    assert refused.returncode == 1 and len(errors) == 1 and "counters" in errors[0], refused.stderr
    print(errors[0])
    print("counters are counted, kept and shown")


if __name__ == "__main__":
    main()
