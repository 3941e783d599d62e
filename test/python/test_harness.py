# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems, experts and the harness from Python."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import attune
import numpy as np
from attune import transformations as t

AXPY = dict(
    dimensions={"n": "parallel"}, inputs={"a": "", "x": "n", "y": "n"}, outputs={"z": "n"}, flops="2 * n", body="""
    %s = tensor.extract %a[] : $a
    %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]} ins(%x, %y : $x, $y) outs(%z.empty : $z) {
    ^bb0(%u: $type, %v: $type, %o: $type):
      %p = arith.mulf %s, %u : $type
      %r = arith.addf %p, %v : $type
      linalg.yield %r : $type
    } -> $z""")


class ProblemTest(unittest.TestCase):
    def test_the_shipped_ones_have_references_in_numpy(self):
        small = {"m": 5, "n": 4, "k": 3, "b": 2, "a": 2, "c": 3, "d": 2, "w": 7, "h": 6, "f": 4, "kh": 3, "kw": 3,
                 "kd": 2, "batch": 1, "heads": 2, "q_len": 3, "kv_len": 4, "head_dim": 5}
        for problem in attune.problems():
            with self.subTest(problem.name):
                needed = [d["name"] for d in json.loads(problem.to_json())["dimensions"]
                          if not d.get("expression") and "default" not in d]
                result = attune.harness(problem(**{name: small[name] for name in needed}), n_iters=1)
                self.assertEqual((result.outcome, result.reason), ("ok", ""))
                self.assertTrue(result.checked)

    def test_one_of_your_own(self):
        axpy = attune.Problem("axpy", **AXPY, reference=lambda a, x, y: a * x + y)
        case = axpy(n=100)
        self.assertEqual((case.inputs, case.outputs, case.flops, case.bytes),
                         (["f32", "100xf32", "100xf32"], ["100xf32"], 200, 1204))
        self.assertTrue(attune.harness(case, n_iters=2).ok)
        wrong = attune.Problem("axpy_wrong", **AXPY, reference=lambda a, x, y: a * x - y)
        self.assertEqual(attune.harness(wrong(n=100), n_iters=2).outcome, "wrongResult")

    def test_what_makes_no_sense_says_so(self):
        matmul = attune.problem("matmul")
        for call, message in ((lambda: attune.problem("matmuls"), "there is no problem 'matmuls'; there are matmul"),
                              (lambda: matmul(m=4, n=4), "k"), (lambda: matmul(m=4, n=4, k=4, q=4), "q"),
                              (lambda: matmul(m=4, n=-4, k=4), "n"), (lambda: matmul(m=4, n=4, k="4"), "k"),
                              (lambda: attune.expert("tiled"), "there is no expert 'tiled'"),
                              (lambda: matmul.with_type("f31"), "f31"),
                              (lambda: attune.read_cases("missing.csv"), "missing.csv")):
            with self.subTest(message), self.assertRaisesRegex(attune.Error, message):
                call()


class HarnessTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.case = attune.problem("matmul")(m=16, n=24, k=8)
        cls.expert = attune.expert("double_tiling")

    def test_a_result(self):
        result = attune.harness(self.case, self.expert, n_iters=10)
        self.assertEqual((result.outcome, result.expert, result.problem), ("ok", "double_tiling", "matmul"))
        self.assertEqual(result.sizes, {"m": 16, "n": 24, "k": 8})
        self.assertEqual(len(result.samples), 10)
        self.assertGreaterEqual(result.seconds_at(0), result.seconds)
        self.assertGreaterEqual(result.seconds, result.seconds_at(100))
        self.assertAlmostEqual(result.gflops, 2 * 16 * 24 * 8 / result.seconds * 1e-9)
        self.assertIn(result.configuration, attune.space(self.case, self.expert)[0])

    def test_what_the_compiler_made(self):
        dumps = attune.dump(self.case, self.expert)
        self.assertTrue(dumps["stages"])
        self.assertIn("<contraction_1>:", dumps["assembly"])
        self.assertLessEqual({"hot_loop", "mca", "object"}, set(dumps))

    def test_sizes_that_the_compiler_is_not_told(self):
        result = attune.harness(attune.problem("matmul"), self.expert, {"m": 16, "n": 24, "k": 8},
                                dynamic_at_compile_time=["m"], n_iters=2)
        self.assertEqual((result.outcome, result.dynamic), ("ok", ["m"]))

    def test_inputs_of_the_caller(self):
        a, b = np.ones((16, 8), np.float32), np.ones((8, 24), np.float32)
        self.assertTrue(attune.harness(self.case, n_iters=1, inputs=[a, b]).ok)
        with self.assertRaisesRegex(TypeError, "input 1 is 8x24xf32, that is float32; the array is float64"):
            attune.harness(self.case, n_iters=1, inputs=[a, b.astype(np.float64)])
        with self.assertRaisesRegex(ValueError, r"input 0 is 16x8xf32; the array has the shape \(8, 16\)"):
            attune.harness(self.case, n_iters=1, inputs=[a.T, b])

    def test_an_expert_that_does_not_fit_is_an_error(self):
        copy = attune.problem("copy1d")(n=64)
        with self.assertRaisesRegex(attune.Error, "packed.*does not fit"):
            attune.harness(copy, attune.expert("packed"))
        (row,) = attune.sweep([copy], [attune.expert("packed")], n_iters=1)
        self.assertEqual(row.outcome, "rejected")
        with self.assertRaisesRegex(attune.Error, "tiles"):
            attune.harness(self.case, self.expert(tiles=3))

    def test_a_sweep_goes_everywhere(self):
        told = []
        packed = attune.expert("packed")
        rows = attune.sweep([self.case, attune.problem("copy1d")(n=64)], [packed, None], n_iters=3,
                            baselines=["numpy"], on_result=told.append)
        self.assertEqual([(row.problem, row.expert, row.outcome) for row in rows],
                         [("matmul", "packed", "ok"), ("matmul", "untuned", "ok"), ("matmul", "numpy", "ok"),
                          ("copy1d", "packed", "rejected"), ("copy1d", "untuned", "ok"), ("copy1d", "numpy", "ok")])
        self.assertEqual(len(told), 6)
        frame = rows.to_pandas()
        self.assertEqual(list(frame[frame.problem == "matmul"].m), [16, 16, 16])
        self.assertEqual(json.loads(rows.to_json())["results"][0]["outcome"], "ok")
        self.assertEqual(len(rows.to_csv().strip().splitlines()), 7)
        self.assertIn("matmul", str(rows))
        self.assertEqual([row.problem for row in rows.best()], ["matmul", "copy1d"])
        with tempfile.TemporaryDirectory() as folder:
            rows.plot(pathlib.Path(folder) / "plot.png")
            self.assertTrue((pathlib.Path(folder) / "plot.png").read_bytes().startswith(b"\x89PNG"))
        with self.assertRaisesRegex(attune.Error, "there is no baseline 'blas'"):
            attune.sweep([self.case], [], baselines=["blas"])

    def test_what_a_callback_raises_ends_a_sweep(self):
        def stop(result):
            raise LookupError("enough")
        with self.assertRaisesRegex(LookupError, "enough"):
            attune.sweep([self.case], [None, None], n_iters=1, on_result=stop)
        with self.assertRaisesRegex(LookupError, "enough"):
            attune.search(self.case, self.expert, "random", evaluations=2, n_iters=1, on_result=stop)

    def test_ctrl_c_ends_a_search(self):
        script = ("import attune\n"
                  "case, expert = attune.problem('matmul')(m=16, n=16, k=16), attune.expert('double_tiling')\n"
                  "try: attune.search(case, expert, 'random', evaluations=10000, n_iters=1, "
                  "on_result=lambda row: print('row', flush=True))\n"
                  "except KeyboardInterrupt: print('interrupted', attune.harness(case, expert, n_iters=1).outcome)\n")
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.assertEqual(process.stdout.readline(), "row\n")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
        self.assertTrue(out.endswith("interrupted ok\n"), out)

    def test_a_crashing_candidate_is_an_outcome(self):
        crash = attune.Problem("crash", {"n": "parallel"}, inputs={"x": "n"}, outputs={"z": "n"}, body="""
    %never = arith.constant false
    cf.assert %never, "as it must be"
    %z = linalg.add ins(%x, %x : $x, $x) outs(%z.empty : $z) -> $z""", reference=lambda x: x + x)
        result = attune.harness(crash(n=8), n_iters=2)
        self.assertEqual(result.outcome, "crash")
        self.assertIn("as it must be", result.reason)


class ExpertTest(unittest.TestCase):
    def setUp(self):
        self.expert = (attune.Expert("mine").fits(["contraction"])
                       .then(t.tile_and_fuse(["m", "n"], [t.range("m_tile", 4, 1, 8), t.power_of_two("n_tile", 8, 4, 32)]))
                       .then(t.tile(["k"], [t.one_of("k_tile", 2, [1, 2, 4])])).then(t.tile_rest()).then(t.vectorize())
                       .require("m_tile * n_tile <= 64", "too many accumulators"))
        self.case = attune.problem("matmul")(m=16, n=32, k=8)

    def test_it_prints_and_is_read_back(self):
        self.assertEqual(self.expert.steps, ["tile_and_fuse", "tile", "tile_rest", "vectorize"])
        self.assertEqual(list(self.expert.knobs), ["m_tile", "n_tile", "k_tile"])
        self.assertEqual(str(attune.Expert.parse("mine", str(self.expert))), str(self.expert))
        with tempfile.TemporaryDirectory() as folder:
            self.expert.write(folder)
            self.assertEqual(str(attune.Expert.read(f"{folder}/mine.mlir")), str(self.expert))
        with self.assertRaisesRegex(attune.Error, "missing.mlir"):
            attune.Expert.read("missing.mlir")

    def test_its_space_and_its_run(self):
        space, default = attune.space(self.case, self.expert)
        self.assertEqual(default, {"m_tile": 4, "n_tile": 8, "k_tile": 2})
        self.assertEqual(len(space), sum(m * n <= 64 for m in range(1, 9) for n in (4, 8, 16, 32)) * 3)
        self.assertTrue(attune.harness(self.case, self.expert(m_tile=2, n_tile=16), n_iters=2).ok)
        result = attune.sweep([self.case], [self.expert(m_tile=8, n_tile=32)], n_iters=2)[0]
        self.assertEqual(result.outcome, "rejected")
        self.assertIn("too many accumulators", result.reason)

    def test_a_search_of_ones_own(self):
        class Mine:
            told = []

            def ask(self, count):
                return [{"m_tile": 1 + len(self.told), "n_tile": 8, "k_tile": 1}][:count]

            def tell(self, configuration, seconds, outcome, reason):
                self.told.append((configuration["m_tile"], outcome, seconds is not None))

        results, best = attune.search(self.case, self.expert, Mine(), evaluations=3, n_iters=2)
        self.assertEqual(Mine.told, [(1, "ok", True), (2, "ok", True), (3, "ok", True)])
        self.assertEqual(best.seconds, min(result.seconds for result in results))

        class Wrong(Mine):
            def ask(self, count):
                return [{"m_tile": 8, "n_tile": 32, "k_tile": 1}]
        with self.assertRaisesRegex(attune.Error, "not in the space"):
            attune.search(self.case, self.expert, Wrong(), evaluations=1)

    def test_trials_are_in_the_database(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/trials.db"
            attune.search(self.case, self.expert, "random", evaluations=2, n_iters=2, database=path)
            frame = attune.Database(path).to_pandas()
            self.assertEqual(list(frame.schedule), ["mine", "mine"])
            self.assertLessEqual({"knob.m_tile", "outcome", "speedup", "rootOp"}, set(frame.columns))


if __name__ == "__main__":
    unittest.main()
