# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenTuner chooses, Attune's harness measures: ./dev python examples/opentuner_matmul.py

Twice the same search: a MeasurementInterface whose `run` calls the harness, and
(--ask-tell) OpenTuner's TuningRunManager, where the loop is yours.
"""

import argparse
import json
import logging
import os
import tempfile
import warnings

warnings.filterwarnings("ignore", module="opentuner")  # It was written for an older SQLAlchemy.
import opentuner
from opentuner import MeasurementInterface, Result
from opentuner.api import TuningRunManager
from opentuner.measurement.interface import DefaultMeasurementInterface

import attune
from attune import engines


class Matmul:
    """One evaluation: a configuration in, GFLOP/s back. What is proposed twice, or
    becomes the same when it is repaired, is measured once."""

    def __init__(self, options):
        self.options = options
        self.case = attune.problem("matmul")(m=options.m, n=options.n, k=options.k)
        self.expert = attune.expert(options.expert)
        self.space, self.default = attune.space(self.case, self.expert, threads=options.threads)
        self.known = {}

    def evaluate(self, configuration):
        key = json.dumps(configuration, sort_keys=True)
        if key not in self.known and self.is_done:
            return None  # OpenTuner ends between its steps only.
        if key not in self.known:
            self.known[key] = attune.harness(self.case, self.expert(**configuration), threads=self.options.threads,
                                             n_iters=self.options.iterations, timeout=30)
        return self.known[key]

    @property
    def is_done(self):
        return len(self.known) >= min(self.options.evaluations, self.space.count())

    def best(self):
        return max((result for result in self.known.values() if result.ok), key=lambda result: result.gflops)


class MatmulInterface(MeasurementInterface):
    def __init__(self, args, matmul):
        super().__init__(args, manipulator=engines.opentuner_manipulator(matmul.space), program_name="matmul")
        self.matmul = matmul

    def seed_configurations(self):
        return [engines.to_opentuner(self.matmul.space, self.matmul.default)]

    def run(self, desired_result, input, limit):
        configuration = engines.from_opentuner(self.matmul.space, desired_result.configuration.data)
        return as_opentuner(self.matmul.evaluate(configuration))

    def extra_convergence_criteria(self, result):
        return self.matmul.is_done


def as_opentuner(result):
    return Result(time=result.seconds) if result and result.ok else Result(state="ERROR", time=float("inf"))


def search(matmul, arguments):
    MatmulInterface.main(arguments, matmul)


def search_by_ask_and_tell(matmul, arguments):
    interface = DefaultMeasurementInterface(args=arguments, program_name="matmul",
                                            manipulator=engines.opentuner_manipulator(matmul.space))
    manager = TuningRunManager(interface, arguments)
    while not matmul.is_done:
        desired = manager.get_next_desired_result()
        if desired is None:  # It has nothing more to propose.
            break
        configuration = engines.from_opentuner(matmul.space, desired.configuration.data)
        manager.report_result(desired, as_opentuner(matmul.evaluate(configuration)))
    if manager.get_best_configuration() is not None:
        manager.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in "mnk":
        parser.add_argument(f"--{name}", type=int, default=1024)
    parser.add_argument("--expert", default="packed")
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=20, help="timed runs of an evaluation")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ask-tell", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    matmul = Matmul(options)
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # It leaves an opentuner.log where it runs.
        arguments = argparse.ArgumentParser(parents=opentuner.argparsers()).parse_args(
            [f"--database=sqlite:///{folder}/opentuner.db", "--no-dups"])
        (search_by_ask_and_tell if options.ask_tell else search)(matmul, arguments)
        os.chdir("/")
    best = matmul.best()
    if options.json:
        print(json.dumps({"gflops": best.gflops, "configuration": best.configuration, "evaluations": len(matmul.known)}))
    else:
        print(f"{best.gflops:.1f} GFLOP/s after {len(matmul.known)} evaluations: {best.configuration}")


if __name__ == "__main__":
    main()
