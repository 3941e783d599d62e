# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searchers against recorded measurements: ours, Optuna's TPE, OpenTuner, Kernel
Tuner's genetic algorithm and simulated annealing, and pyATF.

./dev bench search
./dev bench search --recordings=FOLDER --seeds=100 --budget=400 --plot=curves.svg

Ours run in `attune replay`, the others as engines.py says. Below the medians, for
each recording and number of evaluations: `auto` next to the best of the others,
and whether their difference is more than chance (paired bootstrap over seeds).
"""

import argparse
import csv
import gzip
import json
import pathlib
import random
import statistics
import subprocess
import sys

from engines import ENGINES
from optional import install
from peers import ROOT, PeerError, environment

POINTS = (25, 50, 100, 200, 400)
OURS = ("auto", "random")
ATTUNE = ROOT / "build" / "dev" / "tools" / "attune" / "attune"
RESAMPLES = 2000


def read(path):
    """(values of each knob in order, {row: time or None})"""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        rows = list(csv.reader(file))[1:]

    def order(text):
        try:
            return (0, float(text), "")
        except ValueError:
            return (1, 0.0, text)
    domains = [sorted(set(column), key=order) for column in list(zip(*rows))[:-1]]
    times = {}
    for row in rows:
        places = tuple(domain.index(value) for domain, value in zip(domains, row))
        times.setdefault(places, float(row[-1]) if row[-1] else None)
    return domains, times


def summarize(curves, optimum, points):
    """As `attune replay --json` has it; `fractions` one for each seed."""
    result = {}
    for point in points:
        bests = [curve[min(point, len(curve)) - 1] if curve else None for curve in curves]
        fractions = [optimum / best if best else 0.0 for best in bests]
        cut = statistics.quantiles(fractions, n=4, method="inclusive") if len(fractions) > 1 else fractions * 3
        result[str(point)] = {"medianFractionOfOptimum": cut[1], "p25": cut[0], "p75": cut[2], "fractions": fractions}
    return result


def replay(path, name, options):
    done = subprocess.run([ATTUNE, "replay", path, f"--search={name}", f"--seeds={options.seeds}",
                           f"--budget={options.budget}", "--json"], capture_output=True, text=True,
                          env=environment(1))
    if done.returncode:
        raise PeerError(done.stderr.strip() or f"attune replay ended with {done.returncode}")
    return json.loads(done.stdout)


def rows_of(path, options, peers, points):
    for name in OURS:
        result = replay(path, name, options)
        yield {"recording": path.name, "search": name, "secondsPerAsk": result["secondsPerAsk"],
               "evaluations": result["evaluations"]}
    domains, times = read(path)
    optimum = min(time for time in times.values() if time is not None)
    for name in peers:
        engine = ENGINES[name][0](domains, times)
        curves = [engine.run(seed, options.budget) for seed in range(options.seeds)]
        yield {"recording": path.name, "search": name, "evaluations": summarize(curves, optimum, points)}


def compare(rows, points):
    """`auto` and the best of the others, by medians, on each recording at each point.

    `low`, `high`: 95 % of the difference of medians over resampled seeds."""
    for recording in dict.fromkeys(row["recording"] for row in rows):
        evaluations = {row["search"]: row["evaluations"] for row in rows if row["recording"] == recording}
        for point in map(str, points):
            peers = {name: e[point] for name, e in evaluations.items() if name not in OURS}
            if not peers:
                continue
            best = max(peers, key=lambda name: peers[name]["medianFractionOfOptimum"])
            pairs = list(zip(evaluations["auto"][point]["fractions"], peers[best]["fractions"]))
            draw = random.Random(0)
            differences = []
            for _ in range(RESAMPLES):
                ours, theirs = zip(*draw.choices(pairs, k=len(pairs)))
                differences.append(statistics.median(ours) - statistics.median(theirs))
            differences.sort()
            yield {"recording": recording, "evaluations": int(point), "best": best,
                   "auto": evaluations["auto"][point]["medianFractionOfOptimum"],
                   "other": peers[best]["medianFractionOfOptimum"],
                   "low": differences[RESAMPLES // 40], "high": differences[-1 - RESAMPLES // 40]}


def means(rows, points):
    """{search: {point: mean over the recordings of the medians}}"""
    names = dict.fromkeys(row["search"] for row in rows)
    return {name: {str(p): statistics.mean(row["evaluations"][str(p)]["medianFractionOfOptimum"]
                                           for row in rows if row["search"] == name) for p in points}
            for name in names}


def print_table(rows, mean, points):
    print(f"{'optimum / best found':36}{'search':16}" + "".join(f"{p:>9}" for p in points))
    lines = [(row["recording"], row["search"], {p: e["medianFractionOfOptimum"] for p, e in row["evaluations"].items()})
             for row in rows] + [("mean", name, values) for name, values in mean.items()]
    for recording, name, values in lines:
        print(f"{recording:36}{name:16}" + "".join(f"{100 * values[str(p)]:7.1f} %" for p in points))


def print_comparison(comparison):
    print(f"\n{'auto - best of the others':36}{'evaluations':>12}  difference of medians, 95 %")
    for c in comparison:
        verdict = "better" if c["low"] > 0 else "worse" if c["high"] < 0 else "no difference"
        print(f"{c['recording']:36}{c['evaluations']:12}  {100 * (c['auto'] - c['other']):+5.1f} "
              f"({100 * c['low']:+.1f} .. {100 * c['high']:+.1f}) to {c['best']}: {verdict}")


def plot(mean, path):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, values in mean.items():
        axes.plot([int(p) for p in values], [100 * v for v in values.values()], marker="o", label=name,
                  linewidth=3 if name == "auto" else 1)
    axes.set(xscale="log", xlabel="evaluations", ylabel="optimum / best found, % (mean of medians)")
    axes.set_xticks([int(p) for p in values], labels=list(values))
    axes.legend()
    figure.savefig(path)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench search", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=pathlib.Path, default=ROOT / "test" / "data" / "replay",
                        help="folder of .csv and .csv.gz files (default test/data/replay)")
    parser.add_argument("--seeds", type=int, default=11, help="runs of each (default 11)")
    parser.add_argument("--budget", type=int, default=200, help="evaluations of each run (default 200)")
    parser.add_argument("--peers", default=",".join(ENGINES), help=f"which others, of {','.join(ENGINES)}; or none")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="draw the means as SVG (needs matplotlib)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    files = sorted([*options.recordings.glob("*.csv"), *options.recordings.glob("*.csv.gz")])
    wanted = [] if options.peers == "none" else options.peers.split(",")
    if not files or set(wanted) - set(ENGINES) or min(options.seeds, options.budget) < 1:
        parser.error(f"{options.recordings} has no .csv or .csv.gz files" if not files else
                     f"--peers takes {', '.join(ENGINES)} or none; seeds and budget start at 1")
    peers = [name for name in wanted if install(*ENGINES[name][1:])]
    points = sorted({p for p in POINTS if p < options.budget} | {options.budget})
    rows = []
    for path in files:
        print(path.name, file=sys.stderr, flush=True)
        rows += rows_of(path, options, peers, points)
    mean = means(rows, points)
    comparison = list(compare(rows, points))
    if options.plot:
        plot(mean, options.plot)
    if options.json:
        print(json.dumps({"version": 1, "family": "search", "seeds": options.seeds, "rows": rows, "means": mean,
                          "comparison": comparison}, indent=1))
    else:
        print_table(rows, mean, points)
        print_comparison(comparison)
    return 0
