# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A search of one's own: attune tune MODEL "--search=exec:python3 search_client.py"

Changes one knob of the best configuration so far. docs/search-protocol.md says what is on the lines."""
import json
import random
import sys

def say(kind, **fields):
    print(json.dumps({"version": 1, "kind": kind} | fields), flush=True)

def draw(knob):
    if knob["type"] == "permutation":
        return random.sample(range(knob["length"]), knob["length"])
    return random.choice(knob.get("values") or range(knob["lower"], knob["upper"] + 1, knob["step"]))

best, best_value, knobs = {}, float("inf"), []
for line in sys.stdin:
    message = json.loads(line)
    if message["kind"] == "space":
        knobs = message["knobs"]
        random.seed(message["seed"])
        say("ready")
    elif message["kind"] == "tell" and message.get("value", best_value) < best_value:
        best, best_value = message["configuration"], message["value"]
    elif message["kind"] == "ask":
        answer = None
        while answer is None:  # One configuration is enough, whatever was asked for.
            wish = {k["name"]: draw(k) for k in knobs} | best
            wish |= {k["name"]: draw(k) for k in random.sample(knobs, min(len(knobs), random.choice([1, 2, 9])))}
            say("check", configurations=[wish])
            checked = json.loads(sys.stdin.readline())["configurations"][0]
            if not checked["known"]:
                answer = wish if checked["valid"] else None
        say("configurations", configurations=[answer])
