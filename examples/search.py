# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A search over a space, with any function to make small: ./dev python examples/search.py

The function here is arithmetic; a real one builds and runs something.
"""

import json
import random

import attune

SPACE = {"knobs": [{"name": "tile", "pow2": [1, 256]},
                   {"name": "unroll", "range": [1, 16]},
                   {"name": "order", "permutation": 3}],
         "constraints": ["tile % unroll == 0"]}


def run(configuration):
    """Seconds, or an exception for a configuration that does not work."""
    if configuration["order"][0] == 2:
        raise RuntimeError("the last loop cannot be the first")
    return 1e-3 * (1 + abs(configuration["tile"] - 32) + abs(configuration["unroll"] - 8))


def search(space, name, trials):
    searcher = attune.Search(space, name, seed=1)
    for _ in range(trials):
        for configuration in searcher.ask():
            try:
                searcher.tell(configuration, run(configuration))
            except RuntimeError as error:
                searcher.tell(configuration, outcome="crash", reason=str(error))
    return searcher.best


def search_at_random(space, trials):
    """No searcher at all: five lines."""
    random.seed(1)
    configurations = [space[random.randrange(len(space))] for _ in range(trials)]
    times = {i: run(c) for i, c in enumerate(configurations) if c["order"][0] != 2}
    return configurations[min(times, key=times.get)]


if __name__ == "__main__":
    space = attune.Space.parse(json.dumps(SPACE))
    print(f"{space.count()} configurations")
    print("auto:  ", search(space, "auto", 60))
    print("random:", search_at_random(space, 60))
