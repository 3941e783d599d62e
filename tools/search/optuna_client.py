# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--search=optuna: Optuna's TPE. ATTUNE_OPTUNA_SAMPLER=gp, cmaes, random: another sampler."""

import os
import sys

import guest

try:
    import optuna
except ImportError:
    sys.exit("optuna is not installed for this Python: python3 -m pip install 'optuna==4.9.*' "
             "(ATTUNE_PYTHON names another Python)")


def sampler(seed):
    name = os.environ.get("ATTUNE_OPTUNA_SAMPLER", "tpe")
    known = {"tpe": "TPESampler", "gp": "GPSampler", "cmaes": "CmaEsSampler", "random": "RandomSampler"}
    if name not in known:
        sys.exit(f"ATTUNE_OPTUNA_SAMPLER={name}: known are {', '.join(known)}")
    return getattr(optuna.samplers, known[name])(seed=seed)


class Engine:
    def __init__(self, space):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.knobs = space["knobs"]
        self.study = optuna.create_study(sampler=sampler(space["seed"]))

    def suggest(self, trial, knob):
        name, values = knob["name"], guest.values(knob)
        if knob["type"] == "permutation":
            return guest.order_of([trial.suggest_float(f"{name}[{i}]", 0, 1) for i in range(knob["length"])])
        if knob["type"] in ("integer", "float"):  # ordered: by its place in the domain
            return values[trial.suggest_int(name, 0, len(values) - 1)]
        return values[trial.suggest_categorical(name, list(range(len(values))))]

    def propose(self):
        trial = self.study.ask()
        return trial, {knob["name"]: self.suggest(trial, knob) for knob in self.knobs}

    def reject(self, trial):
        self.study.tell(trial, state=optuna.trial.TrialState.FAIL)

    def tell(self, trial, value):
        if value is None:
            self.reject(trial)
        else:
            self.study.tell(trial, value)

    def learn(self, configuration, value):
        """Of an earlier session: as if it had been proposed."""
        if value is None:
            return
        fixed = {}
        for knob in self.knobs:
            if knob["name"] not in configuration:
                return
            chosen = configuration[knob["name"]]
            if knob["type"] == "permutation":
                fixed |= {f"{knob['name']}[{e}]": i / len(chosen) for i, e in enumerate(chosen)}
            else:
                fixed[knob["name"]] = guest.values(knob).index(chosen)
        self.study.enqueue_trial(fixed)
        trial, _ = self.propose()
        self.study.tell(trial, value)


guest.serve(Engine)
