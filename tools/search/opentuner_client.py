# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--search=opentuner: OpenTuner's bandit over its search techniques."""

import argparse
import logging
import os
import sys
import tempfile

import guest

try:
    import opentuner
    from opentuner.api import TuningRunManager
    from opentuner.measurement.interface import DefaultMeasurementInterface
    from opentuner.resultsdb.models import Result
    from opentuner.search import manipulator
except ImportError as error:
    sys.exit(f"opentuner is not installed for this Python ({error}): python3 -m pip install opentuner==0.8.8 "
             "(ATTUNE_PYTHON names another Python)")

# OpenTuner takes failures by their time.
FAILED = 1e9


def parameter(knob):
    if knob["type"] == "permutation":
        return manipulator.PermutationParameter(knob["name"], list(range(knob["length"])))
    if knob["type"] in ("integer", "float"):  # ordered: by its place in the domain
        return manipulator.IntegerParameter(knob["name"], 0, len(guest.values(knob)) - 1)
    return manipulator.EnumParameter(knob["name"], list(range(len(guest.values(knob)))))


class Engine:
    def __init__(self, space):
        logging.disable(logging.WARNING)
        self.knobs = space["knobs"]
        tunable = manipulator.ConfigurationManipulator()
        for knob in self.knobs:
            tunable.add_parameter(parameter(knob))
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)  # It writes opentuner.log where it runs.
        arguments = argparse.ArgumentParser(parents=opentuner.argparsers()).parse_args(
            [f"--database=sqlite:///{self.folder.name}/opentuner.db", "--no-dups"])
        self.manager = TuningRunManager(DefaultMeasurementInterface(
            args=arguments, manipulator=tunable, project_name="attune", program_name=space["schedule"] or "space"),
            arguments)

    def propose(self):
        desired = self.manager.get_next_desired_result()
        if desired is None:
            return None
        chosen = desired.configuration.data
        return desired, {knob["name"]: list(chosen[knob["name"]]) if knob["type"] == "permutation"
                         else guest.values(knob)[chosen[knob["name"]]] for knob in self.knobs}

    def reject(self, desired):
        self.tell(desired, None)

    def tell(self, desired, value):
        self.manager.report_result(desired, Result(time=FAILED if value is None else value,
                                                   state="ERROR" if value is None else "OK"))

    def learn(self, configuration, value):
        """OpenTuner's interface has no place for what it did not ask."""


guest.serve(Engine)
