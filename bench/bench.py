# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attune and its peers side by side, in alternating rounds of one run.

./dev bench matmul
./dev bench matmul --sizes=bench/data/matmul_harness.csv --threads=1,2 --budget=1m --json
./dev bench python   what importing the package and calling a function cost
./dev bench hooks    what it costs to time every dispatch
./dev bench spaces   how long constrained spaces take to build
./dev bench search   searchers against recorded measurements
./dev bench models   whole models, beside onnxruntime and IREE

For each problem: tune, compile untuned and tuned, check every result, measure.
A peer's time is the median over the rounds of the fastest call in a round.
"""

import argparse
import json
import pathlib
import statistics
import sys

import hooks
import peers as peer_processes
import python_calls
import search
import spaces
from families import FAMILIES
from models import compare as models
from peers import PeerError, attune

WORK = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench"
OURS = ("attune", "untuned")


def log(text):
    print(text, file=sys.stderr, flush=True)


def compile_ours(family, sizes, threads, options):
    """{name: library}, and {name: why it is missing}."""
    folder = WORK / options.family / f"{family.name(sizes)}_{threads}t"
    folder.mkdir(parents=True, exist_ok=True)
    model, spec = folder / "model.mlir", folder / "tuned" / "spec.mlir"
    model.write_text(family.program(sizes))
    flag = f"--threads={threads}"
    libraries, missing = {}, {}

    def untuned():
        attune("compile", model, flag, "-o", folder / "untuned.so")
        return folder / "untuned.so"

    def tuned():
        if not (options.reuse and spec.exists()):
            attune("tune", model, flag, f"--budget={options.budget}", "-o", spec.parent)
        attune("compile", model, flag, f"--spec={spec}", "-o", folder / "tuned.so")
        return folder / "tuned.so"

    for name, make in (("untuned", untuned), ("attune", tuned)):
        try:
            libraries[name] = make()
        except PeerError as error:
            missing[name] = str(error)
    return libraries, missing


def start(family, sizes, threads, options):
    """The peers that can run this problem and give the right result, and why
    the others cannot."""
    libraries, missing = compile_ours(family, sizes, threads, options)
    wanted = {name: lambda name=name: peer_processes.start_attune(name, threads) for name in libraries}
    wanted |= {name: lambda make=make: make(threads) for name, make in peer_processes.PEERS.items()}
    ready = []
    for name, make in wanted.items():
        peer = None
        try:
            peer = make()
            peer.set_up(sizes, libraries.get(name, ""))
            wrong = family.check(sizes, peer.output(WORK / "result.bin"))
            if wrong:
                raise PeerError(wrong)
            ready.append(peer)
        except PeerError as error:
            missing[name] = str(error)
            if peer:
                peer.close()
    return ready, missing


def measure(ready, missing, options):
    """{name: seconds}"""
    times = peer_processes.take_turns(ready, missing, options.rounds, options.round_seconds)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def row_of(family, sizes, threads, options):
    ready, missing = start(family, sizes, threads, options)
    try:
        seconds = measure(ready, missing, options)
    finally:
        for peer in ready:
            peer.close()
    others = {name: seconds.get(name) for name in peer_processes.PEERS}
    measured = [s for s in others.values() if s]
    ours = seconds.get("attune")
    return {"name": family.name(sizes), "threads": threads, "flops": family.flops(sizes),
            "attuneSeconds": ours, "untunedSeconds": seconds.get("untuned"), "peers": others,
            "ratioToBest": min(measured) / ours if ours and measured else None,
            "missing": missing, "about": {p.name: p.about for p in ready if p.name not in OURS}}


def geomean(rows):
    """Peer time over Attune's, for each peer and for the best of each row."""
    ratios = {"best": [r["ratioToBest"] for r in rows if r["ratioToBest"]]}
    for name in peer_processes.PEERS:
        ratios[name] = [r["peers"][name] / r["attuneSeconds"] for r in rows
                        if r["attuneSeconds"] and r["peers"][name]]
    return {name: statistics.geometric_mean(values) if values else None for name, values in ratios.items()}


def print_table(rows, means):
    """GFLOP/s, and how Attune stands to each peer (above 1: ahead)."""
    names = list(peer_processes.PEERS)

    def rate(row, seconds):
        return f"{row['flops'] / seconds / 1e9:.1f}" if seconds else "-"

    def ratio(value):
        return f"{value:.2f}" if value else "-"

    table = [["GFLOP/s", "threads", "attune", "untuned", *names, *(f"/{n}" for n in names), "/best"]]
    for row in rows:
        ours = row["attuneSeconds"]
        table.append([row["name"], str(row["threads"]), rate(row, ours), rate(row, row["untunedSeconds"]),
                      *(rate(row, row["peers"][n]) for n in names),
                      *(ratio(row["peers"][n] / ours if ours and row["peers"][n] else None) for n in names),
                      ratio(row["ratioToBest"])])
    table.append(["geomean", "", "", "", *("" for _ in names), *(ratio(means[n]) for n in names),
                  ratio(means["best"])])
    widths = [max(map(len, column)) for column in zip(*table)]
    for cells in table:
        print(cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:])), sep="  ")


def print_notes(rows):
    notes = {(name, about) for row in rows for name, about in row["about"].items()}
    for name, about in sorted(notes):
        log(f"{name}: {about}")
    for row in rows:
        for name, reason in row["missing"].items():
            log(f"{name} is missing for {row['name']}, threads {row['threads']}: {reason}")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("--sizes", metavar="FILE|SIZES", help="default: 1024x1024x1024")
    parser.add_argument("--threads", default="1", help="thread counts, e.g. 1,2 (default 1)")
    parser.add_argument("--budget", default="2m", help="tuning budget for each problem (default 2m)")
    parser.add_argument("--reuse", action="store_true", help="take the spec of an earlier run instead of tuning")
    parser.add_argument("--rounds", type=int, default=15, help="rounds for each problem (default 15)")
    parser.add_argument("--round-seconds", type=float, default=0.1, help="length of a round (default 0.1)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    try:
        options.threads = [int(word) for word in options.threads.split(",")]
        family = FAMILIES[options.family]
        problems = family.read_sizes(options.sizes or family.default_sizes)
    except ValueError as error:
        parser.error(str(error))
    if min(options.threads) < 1 or options.rounds < 1:
        parser.error("threads and rounds start at 1")
    return options, family, problems


def main():
    others = {"hooks": hooks.main, "models": models.main, "python": python_calls.main, "search": search.main, "spaces": spaces.main}
    if sys.argv[1:] and sys.argv[1] in others:
        return others[sys.argv[1]](sys.argv[2:])
    options, family, problems = parse_arguments()
    rows = []
    for threads in options.threads:
        for sizes in problems:
            log(f"{options.family} {family.name(sizes)}, threads {threads}")
            rows.append(row_of(family, sizes, threads, options))
    means = geomean(rows)
    if options.json:
        print(json.dumps({"version": 1, "family": options.family, "rows": rows, "geomean": means}, indent=1))
    else:
        print_table(rows, means)
    print_notes(rows)
    return 0 if all(row["attuneSeconds"] for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted")
