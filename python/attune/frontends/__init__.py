# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models from where they live, as MLIR that Attune reads.

    text = attune.frontends.from_torch(module, torch.zeros(1, 3, 224, 224))
    text = attune.frontends.from_onnx("model.onnx", sizes={"batch": 1})
    text = attune.frontends.from_jax(function, jax.numpy.zeros((8, 16)))
    text = attune.frontends.from_stablehlo("model.mlir")
    tuned = attune.tune(text, budget="5m")

Each needs other packages, which are imported when it is called; an `attune.Error`
names the one that is missing and how to install it. `python -m attune.import` is
the same on the command line. docs/inputs.md has examples.
"""

from ._onnx import from_onnx
from ._stablehlo import from_jax, from_stablehlo
from ._torch import from_exported, from_torch

__all__ = ["from_exported", "from_jax", "from_onnx", "from_stablehlo", "from_torch"]
