# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A guest for tests, which goes wrong as its argument says, after five trials.

It asks for the pairs of a, b in 0..9 with a + b < 12 and a != b, in order."""
import json
import os
import sys
import time


def say(kind, **fields):
    print(json.dumps({"version": 1, "kind": kind} | fields), flush=True)


mode = sys.argv[1]
told = []
if mode == "notInstalled":
    sys.exit("the engine is not installed: pip install engine")
if mode == "silent":
    time.sleep(1000)
for line in sys.stdin:
    message = json.loads(line)
    if message["kind"] == "space":
        say("ready")
    elif message["kind"] == "tell":
        told.append(message["configuration"])
    elif message["kind"] == "ask":
        if len(told) == 5 or (len(told) > 5 and mode in ("invalid", "repeat")):
            if mode == "dies":
                sys.stderr.write("out of ideas\n")
                sys.exit(7)
            if mode == "killed":
                os.kill(os.getpid(), 9)
            if mode == "hangs":
                time.sleep(1000)
            if mode == "garbage":
                print("Traceback: no JSON", flush=True)
                continue
            if mode in ("half", "hangsInALine"):
                sys.stdout.write('{"version": 1, "kind": "configura')
                sys.stdout.flush()
                if mode == "half":
                    sys.exit()
                time.sleep(1000)
            if mode == "version":
                print(json.dumps({"version": 2, "kind": "configurations"}), flush=True)
                continue
            if mode == "invalid":
                say("configurations", configurations=[{"a": 9, "b": 9}])
                continue
            if mode == "repeat":
                say("configurations", configurations=[told[0]])
                continue
            if mode == "finishes":
                say("configurations", configurations=[])
                continue
        if mode == "diesOnce" and len(told) == 20 and not os.path.exists(sys.argv[2]):
            open(sys.argv[2], "w").close()
            os.kill(os.getpid(), 9)
        wishes = [{"a": a, "b": b} for a in range(10) for b in range(10)]
        say("check", configurations=wishes)
        checked = json.loads(sys.stdin.readline())["configurations"]
        free = [w for w, c in zip(wishes, checked) if c["valid"] and not c["known"]]
        say("configurations", configurations=free[:message["n"]])
