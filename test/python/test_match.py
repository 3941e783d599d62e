# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Root ops and matchers from Python."""

import pathlib
import unittest

import attune

MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "matmul_bias_relu.mlir"
MATCH = "transform.attune.match.contraction %op {{m = [{0}]}} : (!transform.any_op) -> ()"


class MatchTest(unittest.TestCase):
    def test_root_ops_have_dimensions(self):
        root, = attune.find_root_ops(MODEL)
        self.assertEqual((root.op_class, root.function), ("contraction", "main"))
        self.assertEqual(root.dimensions["m"], (1024,))
        self.assertEqual(root.matchers, ())

    def test_a_matcher_takes_what_it_says(self):
        self.assertEqual(len(attune.match(MODEL, MATCH.format("#attune.range<512, 2048>"))), 1)
        self.assertEqual(attune.match(MODEL, MATCH.format("3")), [])

    def test_what_is_no_matcher_is_an_error(self):
        with self.assertRaisesRegex(attune.Error, "no match op"):
            attune.match(MODEL, 'transform.annotate %op "a" : !transform.any_op')

    def test_a_dispatch_has_a_fingerprint(self):
        dispatch, = attune.Program(MODEL).dispatches()
        self.assertRegex(dispatch.fingerprint, "^[0-9a-f]{16}$")


if __name__ == "__main__":
    unittest.main()
