# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/reliability.md from the tests: every FAULT_TEST (unittests/Faults.h) and every @fault
(test/programs/faults.py) is a row.

reliability.py --build=build/dev [--check]    --check: compare with the page, change nothing
"""

import argparse
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
HEAD = """<!-- Written by ./dev docs from the tests; change those (unittests/Faults.h, test/programs/faults.py). -->

# What goes wrong, and what comes of it

Each row is a test that makes the fault happen and compares what comes of it with this line. `...` stands for
text that differs from case to case. Outcomes are those of trials (`include/attune/Support/Outcome.h`); *error* ends
the command with this line and a status that is not 0; *goes on* means that nothing is lost.
"""
# The order of the tables; other sections follow by name.
SECTIONS = ["Candidates", "Workers", "Limits", "Results", "Times", "Compile jobs", "Search", "Session", "Database",
            "Disk", "Command line"]


def rooms_with_faults():
    for folder in sorted((ROOT / "unittests").iterdir()):
        if folder.is_dir() and any("FAULT_TEST" in f.read_text() for f in folder.glob("*.cpp")):
            yield folder.name


def rows_of_room(build, room):
    program = build / "unittests" / room / f"Attune{room}Tests"
    if not program.exists():
        sys.exit(f"error: {program} is not built")
    with tempfile.TemporaryDirectory() as folder:
        listed = pathlib.Path(folder) / "faults"
        done = subprocess.run([program, "--gtest_filter=Faults.AreListed"], capture_output=True, text=True,
                              env=os.environ | {"ATTUNE_FAULT_LIST": str(listed)})
        if done.returncode or not listed.exists():
            sys.exit(f"error: {program.name} lists no faults:\n{done.stdout}{done.stderr}")
        return [json.loads(line) | {"where": f"unit.{room}"} for line in listed.read_text().splitlines()]


def rows_of_scripts():
    for script in sorted((ROOT / "test" / "programs").glob("*.py")):
        if not re.search(r"^from faults import", script.read_text(), re.M):
            continue
        done = subprocess.run([sys.executable, script, "--list-faults"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: {script.name} --list-faults: {done.stderr}")
        for line in done.stdout.splitlines():
            yield json.loads(line) | {"where": f"programs.{script.stem}"}


def cell(text, code=False):
    text = text.replace("|", "\\|").replace("\n", " ")
    return f"`{text}`" if code else text


def page(rows):
    parts = [HEAD]
    order = {name: i for i, name in enumerate(SECTIONS)}
    for section in sorted({row["section"] for row in rows}, key=lambda name: (order.get(name, len(order)), name)):
        parts.append(f"\n## {section}\n| fault | how it is injected | outcome | what the user sees | test |\n"
                     "|---|---|---|---|---|\n")
        for row in rows:
            if row["section"] == section:
                parts.append(f"| {cell(row['fault'])} | {cell(row['injection'])} | {cell(row['outcome'])} "
                             f"| {cell(row['seen'], code=True)} | {row['where']} {row['test'].split('.')[-1]} |\n")
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = [row for room in rooms_with_faults() for row in rows_of_room(options.build.resolve(), room)]
    rows += rows_of_scripts()
    text = page(rows)
    if not options.check:
        PAGE.write_text(text)
        return 0
    there = PAGE.read_text() if PAGE.exists() else ""
    sys.stdout.writelines(difflib.unified_diff(there.splitlines(True), text.splitlines(True), "docs/reliability.md",
                                               "what the tests say"))
    if text != there:
        print("error: docs/reliability.md is not what the tests say; run ./dev docs")
    return int(text != there)


if __name__ == "__main__":
    sys.exit(main())
