# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search engines of others on recorded measurements.

Every engine gets each knob as the number of its value in sorted order, and takes
`run(seed, budget)`: the best time after each evaluation, None while there is none.
Only configurations of the recording count, each once."""

import argparse
import logging
import os
import random
import tempfile

# An engine that proposes so many times its budget has nothing new any more.
PATIENCE = 50
FAILED = 1e9


class Curve:
    """The best time so far, over the evaluations that count."""

    def __init__(self, times, budget):
        self.times, self.budget = times, budget
        self.best, self.bests, self.seen, self.asked = None, [], set(), 0

    def is_over(self):
        return len(self.bests) >= self.budget or self.asked >= PATIENCE * self.budget

    def take(self, row):
        """Its time; None where it failed or is not in the recording."""
        self.asked += 1
        time = self.times.get(row)
        if row in self.times and row not in self.seen and len(self.bests) < self.budget:
            self.seen.add(row)
            if time is not None:
                self.best = time if self.best is None else min(self.best, time)
            self.bests.append(self.best)
        return time


class AskAndTell:
    """Engines that know no constraints: what they propose outside of the
    recording, or once more, is told (as a failure, or again) and not counted."""

    def __init__(self, domains, times):
        self.domains, self.times = domains, times

    def run(self, seed, budget):
        curve, session = Curve(self.times, budget), self.session(self.domains, seed)
        while not curve.is_over() and (proposal := session.propose()) is not None:
            token, row = proposal
            session.tell(token, curve.take(row))
        session.close()
        return curve.bests


class OptunaSession:
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


class OpenTunerSession:
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
        self.before = os.getcwd()
        os.chdir(self.folder.name)  # It writes opentuner.log where it runs.
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
        os.chdir(self.before)
        self.folder.cleanup()


class Optuna(AskAndTell):
    session = OptunaSession


class OpenTuner(AskAndTell):
    session = OpenTunerSession


class KernelTuner:
    """A strategy of Kernel Tuner on its own search space, which it is given whole."""

    class Runner:
        """What its simulation runner does, without files."""

        def __init__(self, curve):
            self.curve = curve

        def add_strategy_time(self, seconds):
            pass

        def run(self, configurations, options):
            from kernel_tuner.util import RuntimeFailedConfig
            results = []
            for configuration in configurations:
                if options.budget.is_done() or self.curve.is_over():
                    results.append(None)
                    continue
                before = len(self.curve.bests)
                time = self.curve.take(tuple(configuration))
                options.budget.add_evaluations(len(self.curve.bests) - before)
                results.append({"time": time} if time is not None else {"__error__": RuntimeFailedConfig()})
            return results

    def __init__(self, domains, times):
        self.times = times
        names = [f"k{i}" for i in range(len(domains))]
        rows = {",".join(map(str, row)): dict(zip(names, row)) | {"time": 1.0} for row in times}
        self.cache = {"tune_params_keys": names,
                      "tune_params": {n: list(range(len(d))) for n, d in zip(names, domains)}, "cache": rows}

    def run(self, seed, budget):
        import importlib

        import numpy
        from kernel_tuner.interface import Options
        from kernel_tuner.searchspace import Searchspace
        from kernel_tuner.util import TuningBudget
        random.seed(seed)
        numpy.random.seed(seed)
        curve = Curve(self.times, budget)
        options = Options(strategy_options=Options(max_fevals=budget), objective=["time"],
                          objective_higher_is_better=[False], verbose=False, metrics=None, cache={},
                          budget=TuningBudget(None, budget))
        # A new one for each run: it keeps the neighbours that earlier runs found, those
        # near the optimum most of all, and draws from them.
        space = Searchspace(None, None, None, from_cache=self.cache)
        strategy = importlib.import_module(f"kernel_tuner.strategies.{self.strategy}")
        # A strategy ends when it thinks it is done; another start takes what is left.
        while not curve.is_over():
            before = curve.asked
            strategy.tune(space, self.Runner(curve), options)
            if curve.asked == before:
                break
        return curve.bests


class KernelTunerGenetic(KernelTuner):
    strategy = "genetic_algorithm"


class KernelTunerAnnealing(KernelTuner):
    strategy = "simulated_annealing"


class PyATF:
    """Its default technique, a bandit; the recording as constraints on prefixes."""

    def __init__(self, domains, times):
        from pyatf import TP
        from pyatf.range import Set
        from pyatf.search_space import SearchSpace
        self.times = times
        names = [f"k{i}" for i in range(len(domains))]

        def constraint(length):
            prefixes = {row[:length] for row in times}
            arguments = ", ".join(names[:length])
            return eval(f"lambda {arguments}: ({arguments},) in prefixes", {"prefixes": prefixes})
        self.names = names
        self.space = SearchSpace(*(TP(name, Set(*range(len(domain))), constraint(i + 1))
                                   for i, (name, domain) in enumerate(zip(names, domains))), verbosity=0)

    def run(self, seed, budget):
        from pyatf import Tuner
        from pyatf.tuning_data import CostFunctionError
        from pyatf.search_techniques import AUCBandit
        random.seed(seed)
        curve = Curve(self.times, budget)

        def cost(configuration):
            time = curve.take(tuple(configuration[name] for name in self.names))
            if time is None:
                raise CostFunctionError("it failed when it was recorded")
            return time
        tuner = Tuner().search_space(self.space).search_technique(AUCBandit()).verbosity(0)
        while not curve.is_over():
            tuner.make_step(cost)
        return curve.bests


# name: (class, module, package)
ENGINES = {"optuna": (Optuna, "optuna", "optuna==4.9.*"),
           "opentuner": (OpenTuner, "opentuner", "opentuner==0.8.8"),
           "kernel_tuner_ga": (KernelTunerGenetic, "kernel_tuner", "kernel_tuner==1.5.*"),
           "kernel_tuner_sa": (KernelTunerAnnealing, "kernel_tuner", "kernel_tuner==1.5.*"),
           "pyatf": (PyATF, "pyatf", "pyatf==0.0.13")}
