# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""coverage.py BUILD [--least=85]: how many of each room's lines the tests of a
coverage build ran, as a table; fails when a room is under the least. What was not run
is in BUILD/report/index.html.

Reads BUILD/profiles, which the tests of that build wrote."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {command[0]}: {getattr(error, 'stderr', '') or error}")


def programs(build):
    """Everything that was linked in this build and may have been run."""
    return sorted(path for folder in ("tools", "unittests") for path in (build / folder).glob("*/*")
                  if path.is_file() and os.access(path, os.X_OK) and not path.suffix)


def merge_profiles(build):
    # A file that a dying process left empty is no reason to lose the others.
    raw = [path for path in sorted((build / "profiles").glob("*.profraw")) if path.stat().st_size]
    if not raw:
        sys.exit(f"error: {build}/profiles is empty: ./dev test coverage fills it")
    listing, merged = build / "profiles/list.txt", build / "profiles/all.profdata"
    listing.write_text("".join(f"{path}\n" for path in raw))
    run("llvm-profdata-22", "merge", "--sparse", "--failure-mode=all", f"--input-files={listing}", "-o", merged)
    return merged


def room_of(path):
    """`Space` for lib/Space/... and include/attune/Space/...; None for what is in no room."""
    try:
        parts = pathlib.Path(path).relative_to(ROOT).parts
    except ValueError:
        return None
    if parts[0] == "lib":
        return parts[1]
    return parts[2] if parts[:2] == ("include", "attune") else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=85)
    arguments = parser.parse_args()

    profile = merge_profiles(arguments.build)
    first, *others = programs(arguments.build)
    inputs = [f"-instr-profile={profile}", str(first), *(f"-object={path}" for path in others)]
    rooms = collections.defaultdict(collections.Counter)
    for file in json.loads(run("llvm-cov-22", "export", "-summary-only", *inputs))["data"][0]["files"]:
        if room := room_of(file["filename"]):
            rooms[room].update({key: file["summary"]["lines"][key] for key in ("count", "covered")})
    run("llvm-cov-22", "show", "-format=html", f"-output-dir={arguments.build}/report", *inputs, f"{ROOT}/lib")

    print("room         lines    run  coverage")
    under = []
    for room, lines in sorted(rooms.items()):
        if not lines["count"]:
            continue
        percent = 100 * lines["covered"] / lines["count"]
        if percent < arguments.least:
            under.append(room)
        remark = "  too little" if room in under else ""
        print(f"{room:10} {lines['count']:7} {lines['covered']:6} {percent:7.1f} %{remark}")
    if under:
        sys.exit(f"error: under {arguments.least:g} % of the lines are run in {', '.join(under)}; "
                 f"{arguments.build}/report/index.html shows which are not")


if __name__ == "__main__":
    main()
