# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that are rows of docs/reliability.md, for drivers in Python (unittests/Faults.h is the same for C++).

    @fault("Disk", "full disk", injection="a file system of 8 KiB", outcome="error", seen="...: No space left...")
    def disk_full(bench): ...

A driver that has such tests prints them with --list-faults (list_faults) and nothing else.
"""

import json

ROWS = []


def fault(section, what, injection, outcome, seen):
    """`seen` is the line a person gets; `...` stands for any text."""
    def mark(function):
        ROWS.append({"test": function.__name__, "section": section, "fault": what, "injection": injection,
                     "outcome": outcome, "seen": seen})
        return function
    return mark


def list_faults():
    for row in ROWS:
        print(json.dumps(row))
