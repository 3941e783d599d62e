# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package, end to end."""

import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import attune

ROOT = pathlib.Path(__file__).resolve().parents[2]

ADD = """
func.func @add(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.add ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
"""

DYNAMIC = """
func.func @twice(%x: tensor<?x8xi64>) -> (tensor<?x8xi64>, tensor<8xf64>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xi64>
  %e = tensor.empty(%n) : tensor<?x8xi64>
  %r = linalg.add ins(%x, %x : tensor<?x8xi64>, tensor<?x8xi64>) outs(%e : tensor<?x8xi64>) -> tensor<?x8xi64>
  %one = arith.constant dense<1.0> : tensor<8xf64>
  return %r, %one : tensor<?x8xi64>, tensor<8xf64>
}
"""

SPACE = json.dumps({"knobs": [{"name": "tile", "pow2": [1, 64]}, {"name": "pack", "values": [False, True]},
                              {"name": "order", "permutation": 2}, {"name": "where", "values": ["l1", "l2"]}],
                    "constraints": ["tile > 1 or pack"]})

COMMANDS = {"knobs": [{"name": "size", "values": [8, 2, 1]}],
            "run": ["sh", "-c", "test {size} != 2 || exit 1; echo time 0.00{size}"],
            "metric": {"regex": "time (?<seconds>.*)"}}


class CompileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.add = attune.compile(ADD, threads=1)
        cls.x = np.arange(32, dtype=np.float32).reshape(4, 8)

    def test_results_are_those_of_numpy(self):
        y = np.ones((4, 8), np.float32)
        result = self.add(self.x, y)
        np.testing.assert_array_equal(result, self.x + y)
        self.assertEqual((self.add.name, self.add.inputs, self.add.outputs),
                         ("add", ["4x8xf32", "4x8xf32"], ["4x8xf32"]))

    def test_results_are_not_shared(self):
        first = self.add(self.x, self.x)
        self.add(self.x * 0, self.x * 0)
        np.testing.assert_array_equal(first, 2 * self.x)

    def test_strided_and_read_only_inputs(self):
        wide = np.arange(128, dtype=np.float32).reshape(8, 16)
        transposed = np.asfortranarray(self.x)
        transposed.flags.writeable = False
        np.testing.assert_array_equal(self.add(wide[::2, ::-2], transposed), wide[::2, ::-2] + self.x)

    def test_open_sizes_and_several_results(self):
        twice = attune.compile(DYNAMIC, threads=1)
        for n in (1, 5):
            x = np.arange(n * 8).reshape(n, 8)
            result, ones = twice(x)
            np.testing.assert_array_equal(result, 2 * x)
            np.testing.assert_array_equal(ones, np.ones(8))
            self.assertEqual(ones.dtype, np.float64)

    def test_wrong_arguments_say_what_and_where(self):
        for kind, message, arguments in (
                (TypeError, "add: takes 2 arrays, not 1", [self.x]),
                (TypeError, "add: input 1 is 4x8xf32, that is float32; the array is float64", [self.x, self.x * 1.0e0 + np.float64(0) * np.ones((4, 8))]),
                (ValueError, r"add: input 0 is 4x8xf32; the array has the shape \(8, 4\)", [self.x.T, self.x]),
                (TypeError, "add: input 1 is a list, not an array in this machine's memory", [self.x, [1.0]]),
                (TypeError, "the array is >f4", [self.x.astype(">f4"), self.x])):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                self.add(*arguments)

    def test_results_into_arrays_of_the_caller(self):
        out = np.zeros((4, 8), np.float32)
        self.assertIs(self.add(self.x, self.x, out=out), out)
        np.testing.assert_array_equal(out, 2 * self.x)
        frozen, wide = out.copy(), np.zeros((4, 16), np.float32)
        frozen.flags.writeable = False
        shared = np.zeros((8, 8), np.float32)
        for kind, message, given, first in (
                (ValueError, "add: out 0 is read-only", frozen, self.x),
                (ValueError, r"add: out 0 is not contiguous \(row-major\)", wide[:, ::2], self.x),
                (ValueError, r"add: out 0 is 4x8xf32; the array has the shape \(8, 4\)", out.T.copy(), self.x),
                (TypeError, "add: out 0 is 4x8xf32, that is float32; the array is float64", out.astype(float), self.x),
                (ValueError, "add: out 0 shares memory with input 0", shared[2:6], shared[:4]),
                (TypeError, "add: out takes 1 arrays, one a result", (out, out), self.x)):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                self.add(first, self.x, out=given)

    def test_arrays_of_dlpack(self):
        class Exchanged:
            """Memory that only DLPack shows, as that of other libraries."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

            shape = property(lambda self: self.array.shape)
            dtype = property(lambda self: self.array.dtype)

        np.testing.assert_array_equal(self.add(Exchanged(self.x[::-1]), Exchanged(self.x)), self.x[::-1] + self.x)
        out = np.zeros((4, 8), np.float32)
        self.add(self.x, self.x, out=Exchanged(out))
        np.testing.assert_array_equal(out, 2 * self.x)
        with self.assertRaisesRegex(TypeError, "input 1 is 4x8xf32, that is float32; the array is float64"):
            self.add(self.x, Exchanged(self.x.astype(float)))

    def test_threads_may_share_a_function(self):
        wrong = []

        def work(value):
            for _ in range(200):
                if not (self.add(self.x * 0, self.x * 0 + value) == value).all():
                    wrong.append(value)

        threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_errors_have_the_text_of_the_command_line(self):
        for program, message in ((ADD.replace("linalg.add", "linalg.ad"), "program:4"),
                                 (ADD.replace("linalg.add", "nodialect.add"), "nodialect"),
                                 ("missing.mlir", "missing.mlir: "), ("", "empty|No such file")):
            with self.subTest(message), self.assertRaisesRegex(attune.Error, message):
                attune.compile(program)
        with self.assertRaisesRegex(attune.Error, "no entry function 'mul'; there are: add"):
            attune.compile(ADD, entry="mul")

    def test_dispatches(self):
        rows = attune.Program(ROOT / "examples" / "mlp.mlir").dispatches()
        self.assertEqual([row.root_op for row in rows], ["contraction"] * 3)
        self.assertEqual(rows[0].inputs, ("64x256xf32", "256x256xf32", "256xf32"))

    def test_one_dispatch_and_its_loops(self):
        program = attune.Program(ROOT / "examples" / "mlp.mlir")
        first = program.dispatches()[0]
        self.assertEqual(program.dimensions(first), {"batch": [], "m": [64], "n": [256], "k": [256], "window": []})
        part = program.extract(first.name)
        self.assertEqual([row.fingerprint for row in part.dispatches()], [first.fingerprint])
        spaces = part.spaces(threads=1)
        self.assertEqual(list(spaces)[0], "contraction_packed")
        packed = spaces["contraction_packed"]
        self.assertGreater(packed.count(), 1000)
        self.assertTrue(all(c in packed for c in packed.sample(20)))
        with self.assertRaisesRegex(attune.Error, "there is no dispatch 'none'; there are: contraction_1"):
            program.extract("none")

    def test_modules_of_other_packages(self):
        class Module:
            def __str__(self):
                return "module {" + ADD + "}"
        np.testing.assert_array_equal(attune.compile(Module(), threads=1)(self.x, self.x), 2 * self.x)

    def test_importing_is_cheap(self):
        """What takes the time is not there until it is asked for."""
        script = ("import sys, attune; heavy = {'numpy', 'subprocess', 'dataclasses', '_attune', '_attune_harness'}; "
                  "assert not heavy & set(sys.modules), heavy & set(sys.modules); attune.Space; "
                  "assert not any('libMLIR' in line for line in open('/proc/self/maps')), 'libMLIR'; "
                  "assert 'harness' in dir(attune)")
        subprocess.run([sys.executable, "-c", script], check=True)
        with self.assertRaisesRegex(AttributeError, "module 'attune' has no attribute 'tone'"):
            attune.tone


class SpaceTest(unittest.TestCase):
    def setUp(self):
        self.space = attune.Space.parse(SPACE)

    def test_members(self):
        space = self.space
        self.assertEqual((space.count(), len(space)), (52, 52))
        for index in (0, 17, 51):
            self.assertEqual(space.index_of(space[index]), index)
        self.assertEqual(space[-1], space[51])
        self.assertIn({"order": [1, 0], "where": "l1", "tile": 4, "pack": False}, space)
        self.assertNotIn({"order": [1, 0], "where": "l1", "tile": 1, "pack": False}, space)
        self.assertEqual(space.nearest({"tile": 5, "pack": False, "order": [0, 1], "where": "l2"})["tile"], 4)
        self.assertTrue(all(c in space for c in space.sample(20, seed=3)))
        with self.assertRaises(IndexError):
            space[52]

    def test_knobs(self):
        tile, pack, order, where = self.space.knobs
        self.assertEqual([knob.type for knob in self.space.knobs], ["integer", "boolean", "permutation", "choice"])
        self.assertEqual((tile.values, tile.is_power_of_two, tile[-1], tile.index(8), tile.index(5)),
                         ([1, 2, 4, 8, 16, 32, 64], True, 64, 3, None))
        self.assertEqual((pack.values, where.values, order.length, len(order), order[1]),
                         ([False, True], ["l1", "l2"], 2, 2, [1, 0]))
        with self.assertRaisesRegex(IndexError, "knob 'tile' has 7 values"):
            tile[7]
        ten = attune.Space({"knobs": [{"name": "p", "permutation": 10}]}).knobs[0]
        with self.assertRaisesRegex(attune.Error, "3628800 values: too many"):
            ten.values

    def test_numbers_of_numpy(self):
        self.assertIn({"tile": np.int64(4), "pack": np.bool_(True), "order": np.array([1, 0]), "where": "l1"},
                      self.space)

    def test_pickled_and_as_json(self):
        for again in (pickle.loads(pickle.dumps(self.space)), attune.Space(self.space.to_json())):
            self.assertEqual([again[i] for i in range(52)], [self.space[i] for i in range(52)])
            self.assertEqual(again.constraints, self.space.constraints)

    def test_errors(self):
        with self.assertRaisesRegex(attune.Error, "mine: not JSON"):
            attune.Space.parse("{", "mine")
        with self.assertRaisesRegex(attune.Error, "not in the space"):
            self.space.neighbours({"tile": 3})

    def test_ask_and_tell_finds_the_best(self):
        for name in ("auto", "random", "exhaustive"):
            with self.subTest(name):
                search = attune.Search(self.space, name, seed=1)
                asked = 0
                while configurations := search.ask(4):
                    for configuration in configurations:
                        asked += 1
                        if configuration["where"] == "l2":
                            search.tell(configuration, outcome="crash")
                        else:
                            search.tell(configuration, 1 + abs(configuration["tile"] - 16) + configuration["pack"])
                self.assertEqual(asked, 52)
                self.assertEqual((search.best["tile"], search.best["pack"]), (16, False))
                self.assertTrue(search.stop_reason)

    def test_threads_may_share_a_search(self):
        search = attune.Search(self.space, "random", seed=1)
        asked = []

        def work():
            while configurations := search.ask():
                search.tell(configurations[0], 1.0)
                asked.extend(configurations)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(self.space.index_of(c) for c in asked), list(range(52)))

    def test_what_cannot_be_told(self):
        search = attune.Search(self.space)
        with self.assertRaisesRegex(attune.Error, "not in the space"):
            search.tell({"tile": 1}, 1.0)
        (configuration,) = search.ask()
        with self.assertRaisesRegex(attune.Error, "finite and positive"):
            search.tell(configuration, float("nan"))
        with self.assertRaisesRegex(attune.Error, "'odd' is no outcome"):
            search.tell(configuration, outcome="odd")
        with self.assertRaisesRegex(attune.Error, "auto"):
            attune.Search(self.space, "nonsense")


class TuneTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, commands):
        path = self.folder / "commands.json"
        path.write_text(json.dumps(commands))
        return path

    def test_commands(self):
        events = []
        tuned = attune.tune(self.write(COMMANDS), budget=3, on_trial=events.append)
        self.assertAlmostEqual(tuned.speedup, 8)
        self.assertEqual(json.loads(tuned.spec.read_text())["values"], {"size": 1})
        searched = [event["outcome"] for event in events if event["phase"] == "search"]
        self.assertEqual(sorted(searched), ["crash", "ok", "ok"])

    def test_a_program(self):
        tuned = attune.tune(ADD, budget=2, threads=1)
        x = np.ones((4, 8), np.float32)
        np.testing.assert_array_equal(tuned.compile()(x, x), x + x)
        self.assertGreater(tuned.speedup, 0)

    def test_its_spec_and_its_database(self):
        tuned = attune.tune(ADD, budget=2, threads=1)
        spec = attune.Spec.read(tuned.spec)
        self.assertEqual(str(attune.Spec.parse(str(spec))), str(spec))
        with attune.Database(tuned.folder / "trials.db") as database:
            self.assertEqual(database.summary()["trials"], len(database.trials()))
            self.assertEqual([row["threads"] for row in database.sessions()], [1])
            frame = database.to_pandas()
            self.assertEqual(len(frame), len(database.trials()))
            self.assertLessEqual({"fingerprint", "outcome", "seconds", "speedup", "schedule"}, set(frame.columns))
        with self.assertRaisesRegex(attune.Error, "trials.db: the database is closed"):
            database.trials()
        with self.assertRaisesRegex(attune.Error, "missing.db"):
            attune.Database(self.folder / "missing.db")

    def test_specs_by_hand(self):
        (dispatch,) = attune.Program(ADD).dispatches()
        (schedule, space), *_ = attune.Program(ADD).spaces(threads=1).items()
        entry = attune.SpecEntry(dispatch.fingerprint, schedule, space[0], baseline_seconds=2e-6, tuned_seconds=1e-6)
        spec = attune.Spec([entry], threads=1)
        (check,) = spec.check(ADD, threads=1)
        self.assertEqual((check.applied, check.dispatches, check.reason), (True, (dispatch.name,), ""))
        np.testing.assert_array_equal(
            attune.compile(ADD, spec=self.written(spec), threads=1)(*np.ones((2, 4, 8), np.float32)), 2)
        other = attune.SpecEntry("0123456789abcdef", schedule, space[0])
        merged = attune.Spec.merge(spec, attune.Spec([other], threads=1))
        self.assertEqual({e.fingerprint for e in merged.entries}, {dispatch.fingerprint, "0123456789abcdef"})
        self.assertEqual([c.applied for c in merged.check(ADD, threads=1)],
                         [e.fingerprint == dispatch.fingerprint for e in merged.entries])
        with self.assertRaisesRegex(attune.Error, "not every entry of .*spec.mlir applied"):
            attune.compile(ADD, spec=self.written(merged), threads=1)
        with self.assertRaisesRegex(attune.Error, "threads"):
            attune.Spec.merge(spec, attune.Spec([other], threads=2))
        with self.assertRaisesRegex(attune.Error, "'x' is no fingerprint"):
            attune.SpecEntry("x", schedule, {})
        with self.assertRaisesRegex(attune.Error, "missing.mlir: No such file"):
            attune.Spec.read("missing.mlir")

    def written(self, spec):
        spec.write(self.folder / "spec.mlir")
        return self.folder / "spec.mlir"

    def test_what_a_callback_raises_ends_it(self):
        def stop(event):
            raise LookupError("enough")
        with self.assertRaisesRegex(LookupError, "enough"):
            attune.tune(self.write(COMMANDS), budget=3, on_trial=stop)

    def test_errors(self):
        with self.assertRaisesRegex(attune.Error, "there is no knob 'seize'"):
            attune.tune(self.write(COMMANDS | {"run": ["sh", "{seize}"]}))
        with self.assertRaisesRegex(attune.Error, "budget"):
            attune.tune(ADD, budget="soon")

    def test_ctrl_c_ends_it_early(self):
        slow = COMMANDS | {"run": ["sh", "-c", "sleep 0.2; echo time 0.00{size}"]}
        script = ("import attune, sys\n"
                  f"try: attune.tune({str(self.write(slow))!r}, budget='10m', output={str(self.folder / 'out')!r}, "
                  "on_trial=lambda e: print('trial', flush=True))\n"
                  "except KeyboardInterrupt: print('interrupted')\n")
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                                   env=os.environ, start_new_session=True)
        self.assertEqual(process.stdout.readline(), "trial\n")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        self.assertTrue(out.endswith("interrupted\n"), out)
        self.assertTrue((self.folder / "out" / "spec.json").exists())


if __name__ == "__main__":
    unittest.main()
