# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a trace has every dispatch of both threads, with times and counters."""
import json
import sys

events = json.load(open(sys.argv[1]))
per_run = len({e["name"] for e in events})
threads = {e["tid"] for e in events}
assert len(threads) == 2 and 0 not in threads, threads  # 0 made the recorder and ran nothing
for thread in threads:
    mine = [e for e in events if e["tid"] == thread]
    assert len(mine) == 3 * per_run, (thread, len(mine))
    for before, after in zip(mine, mine[1:]):
        assert before["ts"] + before["dur"] <= after["ts"] + 0.002, (before, after)
assert all(e["dur"] > 0 for e in events)
assert sum(next(iter(e["args"].values())) for e in events) > 0
print(f"{len(events)} events of {per_run} dispatch")
