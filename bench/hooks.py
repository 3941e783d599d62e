# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it costs to time every dispatch.

./dev bench hooks
./dev bench hooks --rounds=300 --json

A chain of products of 96 by 96 matrices, one dispatch each, runs in alternating
rounds without hooks, with the recorder, and with the processor's counters, too.
"""

import argparse
import json
import statistics
import subprocess

from peers import BUILT, ROOT, SOURCES, PeerError, attune, environment

DISPATCHES = 20
SIZE = 96
FOLDER = BUILT.parent / "hooks"
# The promise of docs/bench.md is for dispatches of this length.
REFERENCE_SECONDS = 20e-6


def program():
    """y = a b b b ..., and no two products become one dispatch."""
    type_ = f"tensor<{SIZE}x{SIZE}xf32>"
    lines = [f"func.func @main(%v0: {type_}, %b: {type_}) -> {type_} {{", "  %zero = arith.constant 0.0 : f32",
             f"  %e = tensor.empty() : {type_}",
             f"  %z = linalg.fill ins(%zero : f32) outs(%e : {type_}) -> {type_}"]
    for i in range(DISPATCHES):
        lines.append(f"  %v{i + 1} = linalg.matmul ins(%v{i}, %b : {type_}, {type_}) outs(%z : {type_}) -> {type_}")
    return "\n".join([*lines, f"  return %v{DISPATCHES} : {type_}", "}", ""])


def compile_driver():
    FOLDER.mkdir(parents=True, exist_ok=True)
    model, library, driver = FOLDER / "chain.mlir", FOLDER / "chain.so", FOLDER / "hooks"
    model.write_text(program())
    attune("compile", model, "--threads=1", "-o", library)
    command = ["clang-22", "-O2", f"-I{ROOT / 'include'}", SOURCES / "hooks.c", library, "-o", driver]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise PeerError(done.stderr.splitlines()[0] if done.stderr else "clang-22 failed")
    return driver


def compare(rounds, column, calls):
    """Nanoseconds a dispatch that recording adds: the median over the rounds,
    and the interval of its middle half."""
    added = sorted(1e9 * (row[column] - row[0]) / calls for row in rounds)
    quarter = len(added) // 4
    return {"nanoseconds": statistics.median(added), "low": added[quarter], "high": added[-1 - quarter]}


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench hooks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="default 200")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    driver = compile_driver()
    done = subprocess.run([driver, str(options.rounds)], capture_output=True, text=True, env=environment(1))
    if done.returncode:
        raise PeerError(done.stderr.strip() or f"the driver ended with {done.returncode}")
    rounds = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    calls = int(rounds[0][3])
    alone = statistics.median(row[0] for row in rounds) / calls
    result = {"version": 1, "dispatches": calls, "dispatchSeconds": alone,
              "recorder": compare(rounds, 1, calls),
              "counters": compare(rounds, 2, calls) if rounds[0][2] > 0 else None}
    for kind in ("recorder", "counters"):
        if result[kind]:
            result[kind]["fractionOf20us"] = 1e-9 * result[kind]["nanoseconds"] / REFERENCE_SECONDS
    if options.json:
        print(json.dumps(result, indent=1))
        return 0
    print(f"{calls} dispatches of {1e6 * alone:.1f} us")
    for kind, name in (("recorder", "recorder"), ("counters", "with the processor's counters")):
        found = result[kind]
        print(f"{name}: " + (f"{found['nanoseconds']:.0f} ns a dispatch (middle half {found['low']:.0f} to "
                             f"{found['high']:.0f}), {100 * found['fractionOf20us']:.2f} % of 20 us" if found
                             else "not on this machine: " + done.stderr.strip().removeprefix("note: ")))
    return 0
