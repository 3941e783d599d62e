# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No engine at all: ./dev python examples/random_matmul.py [EVALUATIONS]"""

import sys

import attune

case, expert = attune.problem("matmul")(m=512, n=512, k=512), attune.expert("double_tiling")
space, _ = attune.space(case, expert)
tried = [attune.harness(case, expert(**chosen), n_iters=20, timeout=30)
         for chosen in space.sample(int(sys.argv[1]) if sys.argv[1:] else 40, seed=1)]
best = max(tried, key=lambda result: result.gflops)
print(f"{best.gflops:.1f} GFLOP/s: {best.configuration}")
