# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long it takes to build constrained spaces.

./dev bench spaces
./dev bench spaces --rounds=30 --json

Each space of test/data/spaces is counted by `attune space`, whose start (the same
with a space of one knob) is measured in the same rounds and taken off, and by
python-constraint2 and pyATF, which list it, where they can be installed.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from optional import install
from peers import ROOT, PeerError, environment

GOAL_SECONDS = 0.02
# Seconds on the machine of whoever published them, for the order of size alone.
PUBLISHED = {"dedispersion": {"python-constraint2": 0.057, "pyATF": 0.003},
             "microhh": {"python-constraint2": 1.22, "pyATF": 0.002},
             "hotspot": {"python-constraint2": 2.0, "pyATF": 2.4},
             "gemm": {"python-constraint2": 0.62, "pyATF": 0.040}}
# Spaces that take longer than this are left out of python-constraint2's column.
PATIENCE_SECONDS = 120
ATTUNE = ROOT / "build" / "dev" / "tools" / "attune" / "attune"

SOLVER = """
import json, sys, time
from constraint import Problem
space = json.load(open(sys.argv[1]))
start = time.perf_counter()
problem = Problem()
for knob in space["knobs"]:
    problem.addVariable(knob["name"], knob["values"])
for constraint in space["constraints"]:
    problem.addConstraint(constraint)
count = len(problem.getSolutions())
print(json.dumps([count, time.perf_counter() - start]))
"""


# pyATF takes a constraint at the last of its knobs, in their order.
TREES = """
import json, re, sys, time
from pyatf import TP
from pyatf.range import Set
from pyatf.search_space import SearchSpace
space = json.load(open(sys.argv[1]))
names = [knob["name"] for knob in space["knobs"]]
mine = {name: [] for name in names}
for text in space["constraints"]:
    used = [name for name in names if re.search(rf"\\b{name}\\b", text)]
    mine[used[-1]].append((used, text))
def constraint(name):
    if not mine[name]:
        return None
    used = [n for n in names if n == name or any(n in u for u, _ in mine[name])]
    return eval(f"lambda {', '.join(used)}: " + " and ".join(f"({text})" for _, text in mine[name]))
start = time.perf_counter()
trees = SearchSpace(*(TP(k["name"], Set(*k["values"]), constraint(k["name"])) for k in space["knobs"]), verbosity=0)
print(json.dumps([trees.constrained_size, time.perf_counter() - start]))
"""
SOLVERS = {"python-constraint2": ("constraint", "python-constraint2==2.9.*", SOLVER),
           "pyATF": ("pyatf", "pyatf==0.0.13", TREES)}


def count(file):
    """The number of configurations, and the seconds of the whole process."""
    start = time.perf_counter()
    done = subprocess.run([ATTUNE, "space", file, "--count"], capture_output=True, text=True, env=environment(1))
    seconds = time.perf_counter() - start
    if done.returncode:
        raise PeerError(done.stderr.strip() or f"attune space ended with {done.returncode}")
    return int(done.stdout), seconds


def measure(files, rounds):
    """{file: (count, seconds without the start of the process)}"""
    with tempfile.TemporaryDirectory() as folder:
        trivial = pathlib.Path(folder) / "trivial.json"
        trivial.write_text('{"version": 1, "knobs": [{"name": "k", "values": [1, 2]}]}')
        starts, times, counts = [], {file: [] for file in files}, {}
        for _ in range(rounds):
            starts.append(count(trivial)[1])
            for file in files:
                counts[file], seconds = count(file)
                times[file].append(seconds)
    start = statistics.median(starts)
    return {file: (counts[file], max(0.0, statistics.median(times[file]) - start)) for file in files}


def solve(file, program):
    """A solver's (count, seconds), or why there are none."""
    try:
        done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True,
                              timeout=PATIENCE_SECONDS, env=environment(1))
    except subprocess.TimeoutExpired:
        return f"over {PATIENCE_SECONDS} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
    return tuple(json.loads(done.stdout))


def row_of(file, measured, installed):
    expected = json.loads(file.read_text()).get("solutions")
    found, seconds = measured[file]
    row = {"name": file.stem, "count": found, "expectedCount": expected, "attuneSeconds": seconds,
           "peers": {}, "published": PUBLISHED.get(file.stem, {}), "missing": {}}
    for name, (_, _, program) in SOLVERS.items():
        solved = solve(file, program) if name in installed else "it is not installed"
        row["peers"][name] = solved[1] if isinstance(solved, tuple) else None
        if not isinstance(solved, tuple):
            row["missing"][name] = solved
        elif solved[0] != found:
            row["missing"][name] = f"it counts {solved[0]}"
    return row


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench spaces", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="default 15")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    files = sorted((ROOT / "test" / "data" / "spaces").glob("*.json"))
    installed = {name for name, (module, package, _) in SOLVERS.items() if install(module, package)}
    measured = measure(files, max(1, options.rounds))
    rows = [row_of(file, measured, installed) for file in files]
    if options.json:
        print(json.dumps({"version": 1, "family": "spaces", "goalSeconds": GOAL_SECONDS, "rows": rows}, indent=1))
    else:
        print(f"{'space':18}{'configurations':>16}{'attune':>10}" + "".join(f"{name:>20}" for name in SOLVERS)
              + "    published (same order)")
        for row in rows:
            cells = "".join(f"{f'{s:.3f}s' if s is not None else '-':>20}" for s in row["peers"].values())
            old = ", ".join(f"{row['published'][name]:.3f}" for name in SOLVERS if name in row["published"])
            print(f"{row['name']:18}{row['count']:16}{row['attuneSeconds']:9.4f}s{cells}    {old or '-'}")
    wrong = [row for row in rows if row["expectedCount"] not in (None, row["count"])]
    for row in rows:
        for name, reason in row["missing"].items():
            print(f"{name} is missing for {row['name']}: {reason}", file=sys.stderr)
    for row in wrong:
        print(f"error: {row['name']}: {row['count']} configurations, not {row['expectedCount']}", file=sys.stderr)
    return 1 if wrong else 0
