# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the clients of search engines share: docs/search-protocol.md in Python."""

import json
import random
import sys

VERSION = 1
# So often an engine may propose what is known before a random one is taken.
PATIENCE = 40
# So many random wishes are tried before everything seems to be known.
DRAWS = 200


def say(kind, **fields):
    print(json.dumps({"version": VERSION, "kind": kind} | fields), flush=True)


def hear():
    """The next message; nothing at the end."""
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def check(configuration):
    """{"valid", "known", "nearest" (where it is not valid)}"""
    say("check", configurations=[configuration])
    return hear()["configurations"][0]


def values(knob):
    """All values of a knob in their order; nothing for a permutation."""
    if knob["type"] == "permutation":
        return None
    return knob.get("values") or list(range(knob["lower"], knob["upper"] + 1, knob["step"]))


def key(configuration):
    return json.dumps(configuration, sort_keys=True)


def order_of(places):
    """A permutation from one number for each element: its elements, sorted by it."""
    return sorted(range(len(places)), key=lambda i: (places[i], i))


def draw(knob):
    if knob["type"] == "permutation":
        return random.sample(range(knob["length"]), knob["length"])
    return random.choice(values(knob))


def serve(create):
    """`create(space)` gives an engine with `propose()` (a token and a wish: a value
    for every knob), `reject(token)`, `tell(token, value)` (value None: it failed)
    and `learn(configuration, value)` (of a trial that it did not propose)."""
    space = hear()
    random.seed(space["seed"])
    engine = create(space)
    say("ready")
    tokens = {}
    while (message := hear()) is not None:
        if message["kind"] == "tell":
            configuration, value = message["configuration"], message.get("value")
            token = tokens.pop(key(configuration), None)
            if token is None:
                engine.learn(configuration, value)
            else:
                engine.tell(token, value)
        elif message["kind"] == "ask":
            asked = next_one(engine, space["knobs"], tokens)
            say("configurations", configurations=[asked] if asked is not None else [])


def next_one(engine, knobs, tokens):
    """A valid configuration that is not known: what the engine wishes or what is
    nearest to that, else a random one; nothing when the engine ends or none is left."""
    for _ in range(PATIENCE):
        proposal = engine.propose()
        if proposal is None:
            return None
        token, wish = proposal
        found = find_near(wish)
        if found is not None:
            tokens[key(found)] = token
            return found
        engine.reject(token)
    for _ in range(DRAWS):
        found = find_near({knob["name"]: draw(knob) for knob in knobs})
        if found is not None:
            return found
    return None


def find_near(wish):
    """The wish, or the valid configuration nearest to it (where knobs do not exist,
    or constraints that the engine cannot know are not met); nothing if that is known."""
    checked = check(wish)
    if not checked["valid"]:
        wish = checked["nearest"]
        checked = check(wish)
    return None if checked["known"] else wish
