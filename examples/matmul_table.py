# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The harness's table of matmul sizes, and what searching over the same experts gains.

./dev python examples/matmul_table.py                     every size, static and dynamic, with each expert and numpy
./dev python examples/matmul_table.py --search=40 --sizes=bench/data/matmul_mmperf.csv

With --search=N each size gets N evaluations over the experts' knobs, beginning with the
experts as they are; the best is measured again, next to the best fixed expert.
"""

import argparse
import json
import pathlib
import statistics
import sys

import attune

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXPERTS = ["single_tiling", "double_tiling", "triple_tiling", "packed"]


def name_of(case):
    return "x".join("?" if name in case.dynamic else str(size) for name, size in case.sizes.items())


def gain_of_searching(case, experts, fixed, options):
    """Best of a search over best fixed expert: both measured again in turns."""
    best = max((row for row in fixed if row.ok), key=lambda row: row.gflops)
    found = best
    for expert in experts:
        if not any(row.ok and row.expert == expert.name for row in fixed):
            continue
        _, candidate = attune.search(case, expert, evaluations=options.search // len(experts), n_iters=20,
                                     timeout=options.timeout, threads=options.threads)
        if candidate is not None and candidate.gflops > found.gflops:
            found = candidate
    rounds = []
    for _ in range(options.rounds):
        pair = [attune.harness(case, attune.expert(row.expert)(**row.configuration), n_iters=options.iterations,
                               timeout=options.timeout, threads=options.threads, check=False)
                for row in (best, found)]
        if all(row.ok for row in pair):
            rounds.append(pair[0].seconds / pair[1].seconds)
    if not rounds:
        sys.exit(f"error: {name_of(case)}: neither run ended in {options.timeout} s; is the machine busy?")
    # What is not certainly better is not taken: the fixed expert is among the candidates.
    ratio = statistics.median(rounds)
    return {"sizes": name_of(case), "fixed": best.expert, "fixedGflops": best.gflops,
            "found": found.expert if ratio > 1 else best.expert, "configuration": found.configuration,
            "ratio": max(ratio, 1.0), "measuredRatio": ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=str(ROOT / "bench" / "data" / "matmul_harness.csv"))
    parser.add_argument("--experts", default=",".join(EXPERTS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--timeout", type=float, default=20, help="seconds for all runs of a row")
    parser.add_argument("--search", type=int, default=0, metavar="N", help="evaluations for each size")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, help="only the first so many sizes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    experts = [attune.expert(name) for name in options.experts.split(",")]
    cases = attune.read_cases(options.sizes)[:options.limit]
    if options.search:
        return search(cases, experts, options)
    cases += [attune.Case(case.problem, case.sizes, ["m", "n", "k"], case.label) for case in cases]
    rows = attune.sweep(cases, experts, n_iters=options.iterations, timeout=options.timeout, threads=options.threads,
                        baselines=["numpy", "torch"], on_result=lambda row: print(row, file=sys.stderr))
    print(rows.to_json() if options.json else rows)
    return 0 if all(row.outcome in ("ok", "rejected") for row in rows) else 1


def search(cases, experts, options):
    rows = []
    for case in cases:
        fixed = attune.sweep([case], experts, n_iters=options.iterations, timeout=options.timeout,
                             threads=options.threads)
        rows.append(gain_of_searching(case, experts, fixed, options))
        print(f"{rows[-1]['sizes']:16} {rows[-1]['fixed']:14} {rows[-1]['fixedGflops']:7.1f} GFLOP/s, searched "
              f"{rows[-1]['ratio']:.2f}x", file=sys.stderr)
    ratios = [row["ratio"] for row in rows]
    summary = {"geomean": statistics.geometric_mean(ratios), "least": min(row["measuredRatio"] for row in rows)}
    print(json.dumps({"version": 1, "rows": rows, **summary}, indent=1) if options.json else
          f"{len(rows)} sizes, searched over fixed: geometric mean {summary['geomean']:.2f}x, least measured "
          f"{summary['least']:.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
