# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of experts, and the variables that they take.

    from attune import transformations as t
    expert = attune.Expert("mine").then(t.tile(["m", "n"], [t.range("m_tile", 6, 1, 16), 16])).then(t.vectorize())

Loops are named by the part they play: batch, m, n, k, window. A size is a number, or
a variable: a name, the value that is selected by default, and an exact domain.
"""

from . import _native  # noqa: F401 (first: it says what is missing)

from _attune_harness import (Transformation, Variable, boolean, bufferize, decompose, divisor, generalize, hoist_padding,
                             interchange, lower_to_llvm, lower_vectors, one_of, pack, pad, peel, permutation,
                             power_of_two, range, tile, tile_and_fuse, tile_reduction, tile_rest, tile_to_threads, unroll,
                             vectorize)

__all__ = ["Transformation", "Variable", "boolean", "bufferize", "decompose", "divisor", "generalize", "hoist_padding",
           "interchange", "lower_to_llvm", "lower_vectors", "one_of", "pack", "pad", "peel", "permutation",
           "power_of_two", "range", "tile", "tile_and_fuse", "tile_reduction", "tile_rest", "tile_to_threads", "unroll",
           "vectorize"]
