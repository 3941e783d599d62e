# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages are true: their links lead somewhere, and their examples run.

docs.py links                       every link of every page, every page that code names
docs.py examples --attune=PATH      the lines `$ attune ...` of docs/commands and docs/command-backend.md
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from suites import ROOT


def pages():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.split()
    return [ROOT / name for name in listed if not name.startswith("test/data/")]


def check_links():
    wrong = []
    for page in pages():
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if not re.match(r"https?:", target) and not (page.parent / target).exists():
                wrong.append(f"{page.relative_to(ROOT)}: {target} does not exist")
    sources = [f for folder in ("include", "lib", "tools", "schedules") for f in (ROOT / folder).rglob("*")
               if f.suffix in (".h", ".cpp", ".c", ".td", ".mlir")]
    for source in sources:
        for target in re.findall(r"docs/[\w/]+\.md", source.read_text()):
            if not (ROOT / target).exists():
                wrong.append(f"{source.relative_to(ROOT)}: {target} does not exist")
    return wrong


def run_examples(attune):
    """Each page in an empty folder of its own that has examples/ in it. Budgets
    are cut: the page says how long a person would wait."""
    wrong = []
    for page in [*sorted((ROOT / "docs" / "commands").glob("*.md")), ROOT / "docs" / "command-backend.md"]:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
            for line in re.findall(r"^\$ (attune .*)$", page.read_text(), re.M):
                command = re.sub(r"--budget=\w+", "--budget=3s", line)
                done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True,
                                      stdin=subprocess.DEVNULL,
                                      env=os.environ | {"PATH": f"{attune.parent}:{os.environ['PATH']}"})
                print(f"{'FAIL' if done.returncode else 'ok  '} {page.stem}: {line}", flush=True)
                if done.returncode:
                    wrong.append(f"{page.name}: {line}: {done.stderr.strip()[-300:]}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("links", "examples"))
    parser.add_argument("--attune", type=pathlib.Path)
    options = parser.parse_args()
    if options.what == "examples" and not options.attune:
        parser.error("examples need --attune=PATH")
    wrong = check_links() if options.what == "links" else run_examples(options.attune.resolve())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
