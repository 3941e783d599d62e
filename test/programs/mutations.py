# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Do the tests notice when the handling of a failure is gone? Each mutation takes one handling out of a source file,
builds the test program of its room again, and runs the test that must fail then.

mutations.py --build=BUILD [--filter=RE] [--list]

Works in an overlay over the source tree, which only this process and its children see: the build folder is used as it
is, so that a mutation costs one file and one link, and nothing of it is left. Without permission to mount one (root, or
user namespaces), the exit status is 77: skipped.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = "ATTUNE_MUTATIONS_INSIDE"
SKIPPED = 77


@dataclasses.dataclass
class Mutation:
    handling: str  # what is taken out
    file: str
    lines: str  # as they are in the file, once
    instead: str
    room: str
    test: str  # of AttuneROOMTests; must fail


MUTATIONS = [
    Mutation("a half import is rolled back", "lib/Database/Sqlite.cpp",
             "if (open && !sqlite3_get_autocommit(connection.getHandle()))", "if (false)",
             "Database", "DatabaseTest.BadImportNamesTheLineAndChangesNothing"),
    Mutation("times that are none are not stored", "lib/Database/Rows.cpp",
             "if (!std::isfinite(seconds) || seconds <= 0)", "if (false)",
             "Database", "DatabaseTest.TimesThatAreNoTimesAreRefused"),
    Mutation("a stranger's triggers are off", "lib/Database/Sqlite.cpp",
             "{SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,", "{SQLITE_DBCONFIG_ENABLE_VIEW,",
             "Database", "StrangerTest.ATriggerIsNotRun"),
    Mutation("NaN agrees only with NaN", "lib/Measure/Check.cpp",
             "return std::isnan(expected) && std::isnan(value);", "return true;",
             "Measure", "Check.NaNAndInfinityAgreeOnlyWithThemselves"),
    Mutation("an answer to another job is none", "lib/Measure/Worker.cpp",
             'if (answer->getInteger("id") != id)', "if (false)",
             "Measure", "Worker.DamagedAnswers"),
    Mutation("a worker that somebody killed is tried again", "lib/Measure/Worker.cpp",
             "bool killedByOthers = process->getEnd()->signal == SIGKILL &&", "bool killedByOthers = false &&",
             "Measure", "Worker.KilledInTheMiddleOfAJobItIsTriedAgain"),
    Mutation("a failed write leaves nothing", "lib/Support/Files.cpp",
             "  ::unlink(temporary.c_str());\n", "",
             "Support", "Files.AFailedWriteLeavesTheOldFileAndNothingElse"),
    Mutation("nesting without end is refused", "lib/Support/Nesting.cpp",
             "if (level > depth)", "if (false)",
             "Support", "Json.bracketsWithoutEndAreAnErrorNotTheEndOfTheStack"),
    Mutation("a run process that lies about times fails", "lib/Session/Candidate.cpp",
             "if (!areTimes(", "if (false && !areTimes(",
             "Session", "SessionTest.TimesThatAreNoneAreAFailureAndNotTheEnd"),
    Mutation("a finalist's failure may be an accident", "lib/Session/DispatchFinal.cpp",
             "int trust = 6;", "int trust = 1;",
             "Session", "FaultTest.AccidentsDoNotChangeTheWinners"),
    Mutation("a session goes on in memory", "lib/Session/Store.cpp",
             "if (!error || !mayGoOn)", "if (true)",
             "Session", "FaultTest.ASessionGoesOnInMemoryIfThatIsWanted"),
    Mutation("a time that becomes 0 is none", "lib/Search/Recording.cpp",
             "!(seconds > 0)", "!(seconds >= 0)",
             "Search", "Recording.SaysWhereAFileIsWrong"),
    Mutation("a compiler that crashes on a program is an error", "lib/Backend/CpuLoad.cpp",
             "if (result->outcome != Outcome::Ok)", "if (false)",
             "Backend", "PrepareFaults.Crash"),
    Mutation("a name of a dispatch is no path", "lib/Dispatch/ProgramFile.cpp",
             "func->hasAttr(attr::dispatch) && !isPlainName(func.getName())", "false",
             "Dispatch", "ProgramFileTest.ANameThatIsAPathIsRefused"),
]


def in_overlay(arguments):
    """This script again, where the source tree is an overlay over itself."""
    with tempfile.TemporaryDirectory(prefix="attune-mutations-") as folder:
        for name in ("upper", "work"):
            (pathlib.Path(folder) / name).mkdir()
        unshare = ["unshare", "--mount", "--propagation=private"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
        mount = ["mount", "-t", "overlay", "attune",
                 "-o", f"lowerdir={ROOT},upperdir={folder}/upper,workdir={folder}/work", str(ROOT)]
        if subprocess.run([*unshare, *mount], capture_output=True).returncode:
            print("skip: this machine does not let us mount an overlay")
            return SKIPPED
        # The shell's folder is below the overlay's until it is entered again.
        script = f'{shlex.join(mount)} && cd / && cd {shlex.quote(str(ROOT))} && exec "$@"'
        return subprocess.run([*unshare, "bash", "-c", script, "bash", sys.executable, __file__, *arguments],
                              env=os.environ | {INSIDE: "1"}).returncode


def build(folder, room):
    done = subprocess.run(["ninja", "-C", folder, f"Attune{room}Tests"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: Attune{room}Tests does not build:\n{done.stdout[-3000:]}")


def passes(folder, mutation):
    program = folder / "unittests" / mutation.room / f"Attune{mutation.room}Tests"
    try:
        done = subprocess.run([program, f"--gtest_filter={mutation.test}"], capture_output=True, text=True,
                              timeout=120, cwd=folder)
    except subprocess.TimeoutExpired:
        return False
    if "Running 1 test from" not in done.stdout:
        sys.exit(f"error: there is no test {mutation.test} in {program}")
    if "[  SKIPPED ]" in done.stdout:
        raise NotImplementedError
    return done.returncode == 0


def try_out(folder, mutation):
    """True when the test fails without the handling, and only then."""
    path = ROOT / mutation.file
    text = path.read_text()
    if text.count(mutation.lines) != 1:
        sys.exit(f"error: {mutation.file} has {mutation.lines!r} {text.count(mutation.lines)} times, not once")
    build(folder, mutation.room)
    if not passes(folder, mutation):
        sys.exit(f"error: {mutation.test} fails already")
    path.write_text(text.replace(mutation.lines, mutation.instead))
    try:
        build(folder, mutation.room)
        return not passes(folder, mutation)
    finally:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [m for m in MUTATIONS if re.search(options.filter, f"{m.room} {m.handling} {m.test}")]
    if options.list:
        for mutation in chosen:
            print(f"{mutation.room:10} {mutation.handling}: {mutation.test}")
        return 0
    folder = options.build.resolve()
    if not folder.is_relative_to(ROOT):
        sys.exit(f"error: {folder} is not in {ROOT}: an overlay over it would not hold what is built")
    if INSIDE not in os.environ:
        return in_overlay(sys.argv[1:])
    unnoticed = 0
    for mutation in chosen:
        start, word = time.monotonic(), "ok  "
        try:
            if not try_out(folder, mutation):
                word, unnoticed = "FAIL", unnoticed + 1
        except NotImplementedError:
            word = "skip"
        print(f"{word} without '{mutation.handling}' {mutation.test} "
              f"{'passes' if word == 'FAIL' else 'fails'} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{len(chosen) - unnoticed} of {len(chosen)} mutations are noticed")
    return 1 if unnoticed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
