# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples run, small; search engines get domains of the right kinds."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import attune
from attune import engines

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SMALL = ["--m=16", "--n=16", "--k=16"]

SPACE = attune.Space({"knobs": [{"name": "tile", "pow2": [2, 64]}, {"name": "steps", "range": [3, 9, 2]},
                                {"name": "count", "range": [1, 5]}, {"name": "list", "values": [1, 5, 7]},
                                {"name": "pack", "values": [False, True]}, {"name": "where", "values": ["l1", "l2"]},
                                {"name": "order", "permutation": 3}, {"name": "rate", "values": [0.5, 1.5]}],
                      "constraints": ["tile * count <= 64", "where == 'l1' or pack"]})


def run(name, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True,
                              cwd=folder, env=os.environ)
    if done.returncode:
        raise AssertionError(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class ExamplesTest(unittest.TestCase):
    def check(self, printed, evaluations):
        row = json.loads(printed)
        self.assertGreater(row["gflops"], 0)
        self.assertEqual(row["evaluations"], evaluations)
        self.assertTrue(row["configuration"])

    @needs("opentuner")
    def test_opentuner(self):
        for more in ([], ["--ask-tell"]):
            with self.subTest(more):
                self.check(run("opentuner_matmul.py", "--json", "--evaluations=3", "--iterations=2", *SMALL, *more), 3)

    @needs("optuna")
    def test_optuna(self):
        for more in ([], ["--ask-tell"]):
            with self.subTest(more):
                self.check(run("optuna_matmul.py", "--json", "--evaluations=3", *SMALL, *more), 3)

    @needs("nevergrad")
    def test_nevergrad(self):
        self.check(run("nevergrad_matmul.py", "--json", "--evaluations=3", *SMALL), 3)

    def test_without_an_engine(self):
        self.assertIn("GFLOP/s", run("random_matmul.py", "2"))
        self.assertIn("random:", run("search.py"))

    @needs("nbclient", "nbformat", "ipykernel")
    def test_the_notebook(self):
        import nbclient
        import nbformat
        notebook = nbformat.read(EXAMPLES / "attune.ipynb", as_version=4)
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                                resources={"metadata": {"path": str(EXAMPLES)}}).execute()
        self.assertTrue(any(cell.get("outputs") for cell in notebook.cells))


class EnginesTest(unittest.TestCase):
    """Every proposal of an engine becomes a valid configuration."""

    def test_what_is_valid_stays(self):
        for configuration in SPACE.sample(20, seed=1):
            self.assertEqual(engines.repair(SPACE, configuration), configuration)
        wish = {"tile": 64, "steps": 3, "count": 5, "list": 1, "pack": False, "where": "l2", "order": [0, 1, 2],
                "rate": 0.5}
        self.assertFalse(engines.is_valid(SPACE, wish))
        self.assertIn(engines.repair(SPACE, wish), SPACE)

    @needs("opentuner")
    def test_opentuner_has_the_same_types(self):
        manipulator = engines.opentuner_manipulator(SPACE)
        self.assertEqual({p.name: type(p).__name__ for p in manipulator.params},
                         {"tile": "PowerOfTwoParameter", "steps": "IntegerParameter", "count": "IntegerParameter",
                          "list": "IntegerParameter", "pack": "BooleanParameter", "where": "EnumParameter",
                          "order": "PermutationParameter", "rate": "IntegerParameter"})
        for _ in range(50):
            self.assertIn(engines.from_opentuner(SPACE, manipulator.random()), SPACE)
        for configuration in SPACE.sample(20, seed=2):
            data = engines.to_opentuner(SPACE, configuration)
            self.assertEqual(engines.from_opentuner(SPACE, data), configuration)

    @needs("optuna")
    def test_optuna_has_the_same_types(self):
        import optuna
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        for _ in range(20):
            trial = study.ask()
            self.assertIn(engines.from_optuna(SPACE, trial), SPACE)
            study.tell(trial, 1.0)
        kinds = {name: type(d).__name__ for name, d in trial.distributions.items()}
        self.assertEqual((kinds["tile"], kinds["pack"], kinds["where"], kinds["order[0]"]),
                         ("IntDistribution", "CategoricalDistribution", "CategoricalDistribution",
                          "FloatDistribution"))
        self.assertEqual(trial.distributions["steps"].step, 2)

    @needs("nevergrad")
    def test_nevergrad_has_the_same_types(self):
        parametrization = engines.nevergrad_parametrization(SPACE)
        parametrization.random_state.seed(1)
        self.assertEqual(type(parametrization["pack"]).__name__, "Choice")
        self.assertEqual(type(parametrization["tile"]).__name__, "TransitionChoice")
        for _ in range(20):
            self.assertIn(engines.from_nevergrad(SPACE, parametrization.sample().value), SPACE)


if __name__ == "__main__":
    unittest.main()
