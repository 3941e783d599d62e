# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models: tuned, untuned, onnxruntime and IREE, in alternating rounds of one run.

./dev bench models
./dev bench models --models=resnet18,bert --threads=1,2 --budget=5m
./dev bench models --models=DIR/model.mlir      a program of your own, with x0.npy ... beside it

The set is made by bench/models/make.py (--list says what is in it). A time is the
median over the rounds of the fastest call in a round; the interval of the speed-up is
that of the median of the rounds' ratios (bootstrap, 95 %). What is done is kept in
build/bench/models: the same command goes on where it was interrupted; --again
measures anew with the specs that were found, --retune tunes anew, too.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import peers as processes  # noqa: E402
from peers import ROOT, VENV, PeerError, attune  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
WORK = ROOT / "build" / "bench" / "models"
OTHERS = ("onnxruntime", "iree")
VERSION = 1


def log(text):
    print(text, file=sys.stderr, flush=True)


# --- the set -------------------------------------------------------------------

def list_models():
    done = subprocess.run([VENV / "bin" / "python", HERE / "make.py", "--list"], capture_output=True, text=True)
    if done.returncode:
        raise PeerError(f"make.py --list: {done.stderr.strip()}")
    return [line.split()[0] for line in done.stdout.splitlines()]


def find(name):
    """The folder of a model, made if need be, or a program of the user's."""
    if name.endswith((".mlir", ".mlirbc")):
        path = pathlib.Path(name).resolve()
        if not path.is_file():
            raise PeerError(f"{name}: no such file")
        return path.stem, path, WORK / f"own-{path.stem}"
    folder = WORK / "set" / name
    if not (folder / "model.mlir").exists():
        python = ROOT / ".venv-models" / "bin" / "python"
        environment = os.environ | {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'build/dev/python'}"}
        for command in (["bash", ROOT / "tools/dev/setup.sh", "models"], [python, HERE / "make.py", WORK / "set", name]):
            done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True, env=environment)
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["failed"]
                raise PeerError(f"{name} cannot be made: {lines[-1].removeprefix('error: ')}")
    return name, folder / "model.mlir", WORK / name


def are_weights_left_out(model):
    """Constants are named in the program; their values follow it, or do not."""
    if model.suffix != ".mlir":
        return False
    body, _, values = model.read_text().partition("\n{-#")
    return any(f"{name}:" not in values for name in set(re.findall(r"dense_resource<([^>]+)>", body)))


# --- one model -----------------------------------------------------------------

def inputs_of(model):
    files = sorted(model.parent.glob("x[0-9]*.npy"), key=lambda f: int(f.stem[1:]))
    return [f"--input=@{file}" for file in files]


def tune(model, folder, threads, options):
    """The spec, of an earlier run if there is one with this budget."""
    result, stamp = folder / f"tuned-{threads}", folder / f"tuned-{threads}" / "bench.json"
    wanted = {"budget": options.budget, "model": hash_of(model)}
    known = json.loads(stamp.read_text()) if stamp.exists() else None
    if options.retune:
        shutil.rmtree(result, ignore_errors=True)
    elif known == wanted or (known and options.reuse):
        return result
    # A killed run goes on by itself.
    attune("tune", model, *inputs_of(model), f"--threads={threads}", f"--budget={options.budget}", "-o", result)
    stamp.write_text(json.dumps(wanted))
    return result


def hash_of(path):
    import hashlib
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def compile_iree(model, folder):
    """With the flags that IREE's documentation recommends."""
    compiler = VENV / "bin" / "iree-compile"
    if not compiler.exists():
        raise PeerError("iree-compile is not installed: ./dev setup iree")
    if are_weights_left_out(model):
        raise PeerError("the weights were left out, and iree-compile does not make any up")
    module = folder / "model.vmfb"
    done = subprocess.run([compiler, model, "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                           "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "-o", module],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or ["iree-compile failed"]
        raise PeerError(lines[0][:300])
    return module


def artifacts(model, folder, threads, options):
    """{name: a function that makes what its process loads}."""
    onnx = model.with_name("model.onnx")

    def untuned():
        attune("compile", model, f"--threads={threads}", "-o", folder / f"untuned-{threads}.so")
        return folder / f"untuned-{threads}.so"

    def tuned():
        spec = tune(model, folder, threads, options) / "spec.mlir"
        attune("compile", model, f"--threads={threads}", f"--spec={spec}", "--require-spec",
               "-o", folder / f"tuned-{threads}.so")
        return folder / f"tuned-{threads}.so"

    def onnx_file():
        if not onnx.exists():
            raise PeerError("there is no model.onnx beside the program")
        return onnx

    return {"attune": tuned, "untuned": untuned, "onnxruntime": onnx_file, "iree": lambda: compile_iree(model, folder)}


def check(peer, model, folder, expected):
    """Its results are those of the package that the model comes from, or those of the first
    peer when it has none."""
    prefix = folder / f"{peer.name}-y"
    for old in folder.glob(f"{prefix.name}[0-9]*.npy"):
        old.unlink()
    peer.ask(f"output {prefix}")
    got = [np.load(file) for file in sorted(folder.glob(f"{prefix.name}[0-9]*.npy"))]
    if not expected:
        expected.extend(got)
        return
    if len(got) != len(expected):
        raise PeerError(f"{len(got)} results instead of {len(expected)}")
    for i, (a, b) in enumerate(zip(got, expected)):
        if a.shape != b.shape:
            raise PeerError(f"result {i} is {a.shape}, not {b.shape}")
        size = np.abs(b.astype(np.float64)).max(initial=1e-3)
        off = np.abs(a.astype(np.float64) - b).max(initial=0) / size
        if not off <= 2e-3:
            raise PeerError(f"wrong result {i}: off by {off:.2g} of its largest")


def start(model, folder, threads, options):
    ready, missing = [], {}
    expected = [np.load(f) for f in sorted(model.parent.glob("y[0-9]*.npy"))]
    makers = artifacts(model, folder, threads, options)
    has_no_weights = are_weights_left_out(model)
    for name, make in makers.items():
        if name in OTHERS and name not in options.peers:
            continue
        peer = None
        try:
            kind = "attune" if name == "untuned" else name
            peer = processes.Peer(name, [VENV / "bin" / "python", HERE / "driver.py", kind, make(), model.parent, threads],
                                  threads)
            # What Attune makes up for weights that were left out nobody else has.
            if name in OTHERS and has_no_weights:
                peer.ask("run 0")
            else:
                check(peer, model, folder, expected)
            ready.append(peer)
        except PeerError as error:
            missing[name] = str(error)
            if peer:
                peer.close()
    return ready, missing


def interval(over, under):
    """Median of the rounds' ratios, and where it would be found again."""
    ratios = np.asarray(over) / np.asarray(under)
    random = np.random.default_rng(1)
    medians = np.median(random.choice(ratios, (2000, len(ratios))), axis=1)
    return float(np.median(ratios)), float(np.quantile(medians, 0.025)), float(np.quantile(medians, 0.975))


def row_of(name, model, folder, threads, options):
    ready, missing = start(model, folder, threads, options)
    try:
        rounds = processes.take_turns(ready, missing, options.rounds, options.round_seconds)
    finally:
        for peer in ready:
            peer.close()
    seconds = {key: statistics.median(times) for key, times in rounds.items()}
    row = {"version": VERSION, "name": name, "threads": threads, "budget": options.budget,
           "attuneSeconds": seconds.get("attune"), "untunedSeconds": seconds.get("untuned"),
           "peers": {key: seconds.get(key) for key in OTHERS}, "missing": missing, "rounds": rounds}
    if {"attune", "untuned"} <= set(rounds):
        row["speedup"], row["speedupLow"], row["speedupHigh"] = interval(rounds["untuned"], rounds["attune"])
    others = [s for key, s in seconds.items() if key in OTHERS]
    row["ratioToBest"] = min(others) / seconds["attune"] if others and "attune" in seconds else None
    log_file = folder / f"tuned-{threads}" / "log.txt"
    row["logBytes"] = log_file.stat().st_size if log_file.exists() else None
    return row


# --- all of them ---------------------------------------------------------------

def geometric(values):
    values = [value for value in values if value]
    return statistics.geometric_mean(values) if values else None


def means(rows):
    result = {"speedup": geometric(row.get("speedup") for row in rows),
              "best": geometric(row["ratioToBest"] for row in rows)}
    for name in OTHERS:
        result[name] = geometric(row["peers"][name] / row["attuneSeconds"] for row in rows
                                 if row["attuneSeconds"] and row["peers"].get(name))
    return result


def print_table(rows, mean):
    """A table that docs/performance.md takes as it is: ms, and Attune's lead."""
    def ms(seconds):
        return f"{1e3 * seconds:.3g} ms" if seconds else "-"

    print("| model | threads | untuned | tuned | gain (interval) | onnxruntime | IREE | lead over the best |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        gain = f"{row['speedup']:.2f}x ({row['speedupLow']:.2f} to {row['speedupHigh']:.2f})" if "speedup" in row else "-"
        lead = f"{row['ratioToBest']:.2f}x" if row["ratioToBest"] else "-"
        print(f"| {row['name']} | {row['threads']} | {ms(row['untunedSeconds'])} | {ms(row['attuneSeconds'])} | {gain} | "
              f"{ms(row['peers']['onnxruntime'])} | {ms(row['peers']['iree'])} | {lead} |")

    def times(value):
        return f"{value:.2f}x" if value else "-"

    print(f"| geometric mean | | | | {times(mean['speedup'])} | {times(mean['onnxruntime'])} | {times(mean['iree'])} | "
          f"{times(mean['best'])} |")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench models", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", metavar="NAME,...", help="default: all")
    parser.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    parser.add_argument("--budget", default="1m", help="for tuning each model, for each thread count (default 1m)")
    parser.add_argument("--peers", default=",".join(OTHERS), help="onnxruntime,iree or nothing")
    parser.add_argument("--rounds", type=int, default=20, help="rounds for each model (default 20)")
    parser.add_argument("--round-seconds", type=float, default=0.3, help="length of a round (default 0.3)")
    parser.add_argument("--again", action="store_true", help="measure again what was measured")
    parser.add_argument("--reuse", action="store_true", help="take any spec that is there, whatever its budget was")
    parser.add_argument("--retune", action="store_true", help="tune again what was tuned")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    try:
        options.threads = [int(word) for word in options.threads.split(",")]
    except ValueError:
        parser.error("--threads: numbers, like 1,2")
    options.peers = [word for word in options.peers.split(",") if word]
    known = list_models()
    options.models = options.models.split(",") if options.models else known
    for name in options.models:
        if name not in known and not name.endswith((".mlir", ".mlirbc")):
            parser.error(f"there is no model {name}: {', '.join(known)}, or a .mlir file")
    if set(options.peers) - set(OTHERS):
        parser.error(f"--peers: {', '.join(OTHERS)}")
    if min(options.threads) < 1 or options.rounds < 1:
        parser.error("threads and rounds start at 1")
    return options


def known_row(path, options):
    if options.again or options.retune or not path.exists():
        return None
    row = json.loads(path.read_text())
    return row if row.get("version") == VERSION and (options.reuse or row["budget"] == options.budget) else None


def main(arguments):
    options = parse_arguments(arguments)
    # The drivers take the package that was just built.
    os.environ["PYTHONPATH"] = f"{ROOT / 'build' / 'dev' / 'python'}"
    rows, failed = [], False
    for name in options.models:
        for threads in options.threads:
            try:
                label, model, folder = find(name)
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"row-{threads}.json"
                row = known_row(path, options)
                if row is None:
                    log(f"{label}, threads {threads}")
                    row = row_of(label, model, folder, threads, options)
                    path.write_text(json.dumps(row))
                rows.append(row)
            except PeerError as error:
                log(f"error: {name}, threads {threads}: {error}")
                failed = True
    mean = means(rows)
    if options.json:
        print(json.dumps({"version": VERSION, "family": "models", "rows": rows, "geomean": mean}, indent=1))
    else:
        print_table(rows, mean)
    for row in rows:
        for peer, reason in row["missing"].items():
            log(f"{peer} is missing for {row['name']}, threads {row['threads']}: {reason}")
    return 1 if failed or not all(row["attuneSeconds"] for row in rows) else 0
