# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optuna chooses, Attune's harness measures: ./dev python examples/optuna_matmul.py

Twice: `study.optimize`, and (--ask-tell) ask and tell. What is slow after a few
runs is pruned before it is measured well.
"""

import argparse
import json

import optuna

import attune
from attune import engines


def create_study(seed):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=seed),
                               pruner=optuna.pruners.PercentilePruner(50, n_startup_trials=5))


def measure(trial, case, expert, space):
    """Seconds; raises TrialPruned for what is slow or does not work."""
    chosen = expert(**engines.from_optuna(space, trial))
    for step, n_iters in enumerate((3, 30)):  # a look, then a measurement
        result = attune.harness(case, chosen, n_iters=n_iters, timeout=30)
        if not result.ok:
            raise optuna.TrialPruned(result.reason)
        trial.report(result.seconds, step)
        if step == 0 and trial.should_prune():
            raise optuna.TrialPruned("slower than half of those before")
    return result.seconds


def search_by_ask_and_tell(study, case, expert, space, evaluations):
    for _ in range(evaluations):
        trial = study.ask()
        try:
            study.tell(trial, measure(trial, case, expert, space))
        except optuna.TrialPruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in "mnk":
        parser.add_argument(f"--{name}", type=int, default=512)
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--ask-tell", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    case = attune.problem("matmul")(m=options.m, n=options.n, k=options.k)
    expert = attune.expert("double_tiling")
    space, _ = attune.space(case, expert)
    study = create_study(seed=0)
    if options.ask_tell:
        search_by_ask_and_tell(study, case, expert, space, options.evaluations)
    else:
        study.optimize(lambda trial: measure(trial, case, expert, space), n_trials=options.evaluations)
    states = [trial.state.name for trial in study.trials]
    row = {"gflops": case.flops / study.best_value * 1e-9, "configuration": study.best_trial.user_attrs["configuration"],
           "evaluations": len(states), "pruned": states.count("PRUNED")}
    if options.json:
        print(json.dumps(row))
    else:
        print(f"{row['gflops']:.1f} GFLOP/s, {row['pruned']} of {row['evaluations']} pruned: {row['configuration']}")


if __name__ == "__main__":
    main()
