# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searchers against recorded measurements: ours, OpenTuner and Optuna's TPE.

./dev bench search
./dev bench search --recordings=FOLDER --seeds=100 --budget=400 --json

Ours run in `attune replay`. The others know no constraints: what they propose
outside the recording, or once more, is told as a failure and not counted.
"""

import argparse
import csv
import gzip
import json
import logging
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from optional import install
from peers import ROOT, PeerError, environment

POINTS = (25, 50, 100, 200, 400)
OURS = ("auto", "random")
ATTUNE = ROOT / "build" / "dev" / "tools" / "attune" / "attune"
# An engine that proposes so many times its budget has nothing new any more.
PATIENCE = 50
FAILED = 1e9


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


class Optuna:
    def __init__(self, domains, seed):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.failed = optuna.trial.TrialState.FAIL
        self.domains = domains
        self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    def propose(self):
        trial = self.study.ask()
        return trial, tuple(trial.suggest_int(str(k), 0, len(d) - 1) for k, d in enumerate(self.domains))

    def tell(self, trial, time):
        if time is None:
            self.study.tell(trial, state=self.failed)
        else:
            self.study.tell(trial, time)

    def close(self):
        pass


class OpenTuner:
    def __init__(self, domains, seed):
        import opentuner
        from opentuner.api import TuningRunManager
        from opentuner.measurement.interface import DefaultMeasurementInterface
        from opentuner.resultsdb.models import Result
        from opentuner.search import manipulator
        logging.disable(logging.WARNING)
        random.seed(seed)
        self.result = Result
        self.count = len(domains)
        tunable = manipulator.ConfigurationManipulator()
        for k, domain in enumerate(domains):
            tunable.add_parameter(manipulator.IntegerParameter(str(k), 0, len(domain) - 1))
        self.folder = tempfile.TemporaryDirectory()
        arguments = argparse.ArgumentParser(parents=opentuner.argparsers()).parse_args(
            [f"--database=sqlite:///{self.folder.name}/opentuner.db", "--no-dups"])
        self.manager = TuningRunManager(DefaultMeasurementInterface(
            args=arguments, manipulator=tunable, project_name="bench", program_name="replay"), arguments)

    def propose(self):
        desired = self.manager.get_next_desired_result()
        if desired is None:
            return None
        return desired, tuple(desired.configuration.data[str(k)] for k in range(self.count))

    def tell(self, desired, time):
        self.manager.report_result(desired, self.result(time=FAILED if time is None else time,
                                                        state="ERROR" if time is None else "OK"))

    def close(self):
        self.manager.finish()
        self.folder.cleanup()


PEERS = {"optuna": (Optuna, "optuna", "optuna==4.9.*"), "opentuner": (OpenTuner, "opentuner", "opentuner")}


def run_peer(create, domains, times, seed, budget):
    """The best time after each evaluation; None while there is none."""
    engine, best, curve, seen = create(domains, seed), None, [], set()
    for _ in range(PATIENCE * budget):
        proposal = engine.propose()
        if proposal is None or len(curve) == budget:
            break
        token, row = proposal
        time = times.get(row)
        engine.tell(token, time)
        if row not in times or row in seen:
            continue
        seen.add(row)
        if time is not None:
            best = time if best is None else min(best, time)
        curve.append(best)
    engine.close()
    return curve


def summarize(curves, optimum, points):
    result = {}
    for point in points:
        bests = [curve[min(point, len(curve)) - 1] if curve else None for curve in curves]
        fractions = sorted(optimum / best if best else 0.0 for best in bests)
        cut = statistics.quantiles(fractions, n=4, method="inclusive") if len(fractions) > 1 else fractions * 3
        result[str(point)] = {"medianFractionOfOptimum": cut[1], "p25": cut[0], "p75": cut[2]}
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
        curves = [run_peer(PEERS[name][0], domains, times, seed, options.budget) for seed in range(options.seeds)]
        yield {"recording": path.name, "search": name, "evaluations": summarize(curves, optimum, points)}


def means(rows, points):
    """{search: {point: mean over the recordings of the medians}}"""
    names = dict.fromkeys(row["search"] for row in rows)
    return {name: {str(p): statistics.mean(row["evaluations"][str(p)]["medianFractionOfOptimum"]
                                           for row in rows if row["search"] == name) for p in points}
            for name in names}


def print_table(rows, mean, points):
    print(f"{'optimum / best found':36}{'search':12}" + "".join(f"{p:>9}" for p in points))
    lines = [(row["recording"], row["search"], {p: e["medianFractionOfOptimum"] for p, e in row["evaluations"].items()})
             for row in rows] + [("mean", name, values) for name, values in mean.items()]
    for recording, name, values in lines:
        print(f"{recording:36}{name:12}" + "".join(f"{100 * values[str(p)]:7.1f} %" for p in points))


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench search", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=pathlib.Path, default=ROOT / "test" / "data" / "replay",
                        help="folder of .csv and .csv.gz files (default test/data/replay)")
    parser.add_argument("--seeds", type=int, default=11, help="runs of each (default 11)")
    parser.add_argument("--budget", type=int, default=200, help="evaluations of each run (default 200)")
    parser.add_argument("--peers", default=",".join(PEERS), help="which others, of optuna,opentuner; or none")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    files = sorted([*options.recordings.glob("*.csv"), *options.recordings.glob("*.csv.gz")])
    wanted = [] if options.peers == "none" else options.peers.split(",")
    if not files or set(wanted) - set(PEERS) or min(options.seeds, options.budget) < 1:
        parser.error(f"{options.recordings} has no .csv or .csv.gz files" if not files else
                     "--peers takes optuna, opentuner or none; seeds and budget start at 1")
    peers = [name for name in wanted if install(*PEERS[name][1:])]
    points = sorted({p for p in POINTS if p < options.budget} | {options.budget})
    rows = []
    for path in files:
        print(path.name, file=sys.stderr, flush=True)
        rows += rows_of(path, options, peers, points)
    mean = means(rows, points)
    if options.json:
        print(json.dumps({"version": 1, "family": "search", "seeds": options.seeds, "rows": rows, "means": mean},
                         indent=1))
    else:
        print_table(rows, mean, points)
    return 0
