# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the clients of search engines share: docs/search-protocol.md in Python."""

import json
import sys

VERSION = 1
# So often an engine may propose what is invalid or known before what is nearest
# to its wish, or a random one, is taken instead.
PATIENCE = 40


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


def serve(create):
    """`create(space)` gives an engine with `propose()` (a token and a wish: a value
    for every knob), `reject(token)`, `tell(token, value)` (value None: it failed)
    and `learn(configuration, value)` (of a trial that it did not propose)."""
    space = hear()
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
            asked = next_one(engine, tokens)
            say("configurations", configurations=[asked] if asked is not None else [])


def next_one(engine, tokens):
    """A valid configuration that is not known; nothing when the engine has none."""
    for _ in range(PATIENCE):
        proposal = engine.propose()
        if proposal is None:
            return None
        token, wish = proposal
        checked = check(wish)
        if not checked["valid"]:
            # Knobs that do not exist for these values, and constraints it cannot know.
            near = checked["nearest"]
            near_checked = check(near)
            if not near_checked["known"]:
                tokens[key(near)] = token
                return near
        elif not checked["known"]:
            tokens[key(wish)] = token
            return wish
        engine.reject(token)
    return None
