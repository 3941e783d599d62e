# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nevergrad chooses, Attune's harness measures: ./dev python examples/nevergrad_matmul.py"""

import argparse
import json

import nevergrad

import attune
from attune import engines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "mnk":
        parser.add_argument(f"--{name}", type=int, default=512)
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    case = attune.problem("matmul")(m=options.m, n=options.n, k=options.k)
    expert = attune.expert("double_tiling")
    space, _ = attune.space(case, expert)
    parametrization = engines.nevergrad_parametrization(space)
    parametrization.random_state.seed(0)
    optimizer = nevergrad.optimizers.DiscreteOnePlusOne(parametrization, budget=options.evaluations)
    results = []
    for _ in range(options.evaluations):
        candidate = optimizer.ask()
        configuration = engines.from_nevergrad(space, candidate.value)
        results.append(attune.harness(case, expert(**configuration), n_iters=20, timeout=30))
        optimizer.tell(candidate, results[-1].seconds if results[-1].ok else 1e3)
    best = max((result for result in results if result.ok), key=lambda result: result.gflops)
    if options.json:
        print(json.dumps({"gflops": best.gflops, "configuration": best.configuration, "evaluations": len(results)}))
    else:
        print(f"{best.gflops:.1f} GFLOP/s after {len(results)} evaluations: {best.configuration}")


if __name__ == "__main__":
    main()
