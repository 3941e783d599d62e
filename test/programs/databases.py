# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attune db ...` on files that are good, damaged, locked, read-only or no databases at all, and two tuners on one
file. A command that cannot do its work says so in one line and leaves the file as it was.

databases.py --attune=PATH [--filter=RE] [--folder=DIR]
"""

import contextlib
import json
import sqlite3
import subprocess
import sys
import time

from errors import mounted, run_tests
from programs import Failed, check_clear_error
from suites import ROOT

TESTS = {}
LINES = ROOT / "fuzz" / "corpus" / "database" / "environment.jsonl"
MODEL = """func.func @main(%a: tensor<{m}x64xf32>, %b: tensor<64x64xf32>) -> tensor<{m}x64xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x64xf32>) -> tensor<{m}x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<{m}x64xf32>, tensor<64x64xf32>)
      outs(%z : tensor<{m}x64xf32>) -> tensor<{m}x64xf32>
  return %0 : tensor<{m}x64xf32>
}}
"""


def test(function):
    TESTS[function.__name__] = function
    return function


def expect(holds, what):
    if not holds:
        raise Failed(what)


def succeeds(bench, *arguments):
    """What `attune db ARGUMENTS` prints."""
    done = bench.finish(bench.start("db", *arguments))
    expect(done.returncode == 0 and not done.stderr,
           f"db {arguments[0]}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def asked(bench, *arguments):
    return json.loads(succeeds(bench, *arguments, "--json"))


def good(bench, name="good.db"):
    """A database with a session."""
    database = bench.folder / name
    counts = asked(bench, "import", database, LINES)
    expect(counts["sessions"] == 1 and counts["trials"] > 0, f"nothing was imported: {counts}")
    return database


# Each subcommand on FILE; those that write it, then those that only read. `other` is a good one.
def writers(database, other):
    return [("import", database, LINES), ("merge", database, other), ("prune", database, "--before=0s")]


def readers(database):
    return [("show", database), ("list", database), ("export", database), ("check", database)]


def everything_fails(bench, message, database, other, but=()):
    before = database.read_bytes() if database.is_file() else None
    for arguments in readers(database) + writers(database, other):
        if arguments[0] in but:
            continue
        bench.fails(message, "db", *arguments)
        after = database.read_bytes() if database.is_file() else None
        expect(before == after, f"db {arguments[0]} failed, and changed the file")
    # From it, nothing gets into a good one.
    bench.fails(message, "db", "merge", other, database)


@test
def good_files(bench):
    database = good(bench)
    show = asked(bench, "show", database)
    trials = show["trials"]
    expect(show["sessions"] == 1 and sum(show["outcomes"].values()) == trials, f"show: {show}")
    expect(f"{trials} trial" in succeeds(bench, "show", database), "show without --json")
    listed = asked(bench, "list", database)
    expect(sum(session["trials"] for session in listed["sessions"]) == trials, f"list: {listed}")
    expect(listed["dispatches"][0]["fingerprint"] in succeeds(bench, "list", database), "list without --json")
    expect(asked(bench, "check", database) == {"version": 1, "ok": True, "findings": []}, "check")
    expect(succeeds(bench, "check", database).endswith(": ok\n"), "check without --json")

    exported = bench.write("all.jsonl", succeeds(bench, "export", database))
    expect(asked(bench, "import", database, exported)["known"] >= trials, "importing twice is importing once")
    copy = bench.folder / "copy.db"
    expect(asked(bench, "import", copy, exported)["trials"] == trials, "import of what was exported")
    expect(succeeds(bench, "export", copy) == exported.read_text(), "an export imports as itself")
    merged = bench.folder / "merged.db"
    expect(asked(bench, "merge", merged, database, copy)["trials"] == trials, "merge")
    expect(asked(bench, "show", merged)["trials"] == trials, "what was merged twice is there once")

    expect(asked(bench, "prune", merged, "--before=99999d")["removed"] == 0, "prune of what is older than all")
    expect(asked(bench, "prune", merged, "--outdated")["removed"] == 0, "prune of other versions where there are none")
    expect(asked(bench, "prune", merged, "--before=0s")["removed"] == trials, "prune of all that is past")
    old = bench.write("old.jsonl", exported.read_text().replace('"attune":"0.', '"attune":"0.0.'))
    expect(old.read_text() != exported.read_text(), "the version is not where the test looks for it")
    expect(asked(bench, "import", merged, old)["trials"] == trials, "import of an old session")
    expect(asked(bench, "prune", merged, "--outdated")["removed"] == trials, "prune of other versions")
    left = asked(bench, "show", merged)
    expect(left["trials"] == left["sessions"] == left["dispatches"] == 0, f"prune left {left}")
    bench.fails("say what to remove", "db", "prune", database)
    bench.fails("--before=soon", "db", "prune", database, "--before=soon")
    expect(asked(bench, "show", database)["trials"] == trials, "nothing is lost on the way")


@test
def import_from_standard_input(bench):
    database, lines = bench.folder / "new.db", LINES.read_text()
    with bench.write("lines", lines).open() as file:
        done = bench.finish(bench.start("db", "import", database, "-", "--json", stdin=file))
    expect(done.returncode == 0 and json.loads(done.stdout)["sessions"] == 1, f"it said {done.stderr[-300:]}")


@test
def lines_that_are_wrong(bench):
    """All of an import or nothing, and the line that is wrong is named."""
    lines = LINES.read_text().splitlines(True)
    database = good(bench)
    before = succeeds(bench, "export", database)
    for name, text, message in (
            ("half", "".join(lines[:-1]) + lines[-1][:40], rf"half:{len(lines)}"),
            ("prose", "Dear database,\n", "prose:1"),
            ("newer", lines[0].replace('"version": 1', '"version": 99') + "".join(lines[1:]), "newer:1"),
            ("nobodys", lines[0] + lines[-1], "nobodys:2"),
            ("negative", "".join(lines).replace('"baselineSeconds": [0', '"baselineSeconds": [-0'), "negative:7")):
        bench.write(name, text)
        if name != "nobodys":  # There, its session is known.
            bench.fails(message, "db", "import", database, name)
        bench.fails(message, "db", "import", bench.folder / "fresh.db", bench.folder / name)
        expect(succeeds(bench, "export", database) == before, f"half of '{name}' was imported")
    bench.fails("nowhere.jsonl", "db", "import", database, "nowhere.jsonl")


@test
def no_databases(bench):
    """A missing file is not made by looking, and other files stay what they are."""
    other = good(bench)
    missing = bench.folder / "missing.db"
    for arguments in [*readers(missing), ("prune", missing, "--before=1d"), ("merge", other, missing)]:
        bench.fails(r"missing\.db", "db", *arguments)
        expect(not missing.exists(), f"db {arguments[0]} made the file")
    everything_fails(bench, r"text\.db", bench.write("text.db", "these are no trials\n" * 100), other)
    folder = bench.folder / "folder.db"
    folder.mkdir()
    everything_fails(bench, r"folder\.db", folder, other)
    strange = bench.folder / "strange.db"
    with contextlib.closing(sqlite3.connect(strange)) as connection:
        connection.execute("CREATE TABLE trials (mine TEXT)")
        connection.commit()
    everything_fails(bench, r"strange\.db", strange, other)
    bench.fails(r"no/such/new\.db", "db", "import", "no/such/new.db", LINES)


@test
def newer_files(bench):
    other = good(bench)
    newer = good(bench, "newer.db")
    with contextlib.closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")
    everything_fails(bench, r"newer\.db.*newer", newer, other)


@test
def damaged_files(bench):
    """A page overwritten, the end cut off, the first bytes gone."""
    other = good(bench)
    whole = good(bench, "whole.db").read_bytes()
    expect(len(whole) > 3 * 4096, f"{len(whole)} bytes are too few to damage")
    header = bench.write("header.db", b"x" * 64 + whole[64:])
    everything_fails(bench, r"header\.db", header, other)
    cut = bench.write("cut.db", whole[:len(whole) // 2])
    pages = bench.write("pages.db", whole[:4096] + b"\xa5" * (len(whole) - 4096))
    for database in (cut, pages):
        before = database.read_bytes()
        bench.fails(database.name.replace(".", r"\."), "db", "check", database)
        for arguments in [*readers(database), *writers(database, other), ("merge", other, database)]:
            # Some may still read or write what is whole; none may crash, or say nothing.
            done = bench.finish(bench.start("db", *arguments))
            if done.returncode:
                check_clear_error(done, database.name.replace(".", r"\."))
        if database == pages:
            expect(database.read_bytes() == before, "a damaged file was changed")
            # Each finding is a line of its own, said once and without the file's name twice.
            said = bench.finish(bench.start("db", "check", database)).stdout.splitlines()
            expect(said and len(said) == len(set(said)) and all(line.count(database.name) == 1 for line in said),
                   f"findings: {said}")
    expect(asked(bench, "check", other)["ok"], "damage went on into a good file")


@test
def locked_files(bench):
    """Reading never waits; writing waits ten seconds, and then says what for."""
    database, other = good(bench), good(bench, "other.db")
    before = succeeds(bench, "export", database)
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        waiting = [bench.start("db", *arguments) for arguments in writers(database, other)]
        for arguments in readers(database):
            succeeds(bench, *arguments)
        expect(all(process.poll() is None for process in waiting), "a writer did not wait")
        for process in waiting:
            check_clear_error(bench.finish(process), r"good\.db.*(?i:lock|another process)")
        holder.execute("ROLLBACK")
    expect(succeeds(bench, "export", database) == before, "something changed")
    expect(asked(bench, "merge", database, other)["known"] > 0, "it can be written again")


@test
def a_lock_that_ends(bench):
    """Who waits gets the file as soon as it is free."""
    database = good(bench)
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        process = bench.start("db", "prune", database, "--before=0s", "--json")
        time.sleep(1)
        expect(process.poll() is None, "it did not wait")
        holder.execute("COMMIT")
    done = bench.finish(process)
    expect(done.returncode == 0 and json.loads(done.stdout)["removed"] > 0, done.stderr[-300:])


@test
def read_only_file_systems(bench):
    other = good(bench)
    with mounted(bench, "size=4m") as place:
        database = place / "trials.db"
        asked(bench, "import", database, LINES)
        trials = asked(bench, "show", database)["trials"]
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        for arguments in readers(database):
            succeeds(bench, *arguments)
        expect(asked(bench, "show", database)["trials"] == trials, "show on a read-only file system")
        for arguments in writers(database, other):
            bench.fails(r"trials\.db.*(?i:read-?only|cannot be)", "db", *arguments)
        bench.fails(r"new\.db", "db", "import", place / "new.db", LINES)


@test
def full_file_systems(bench):
    """An import that has no room changes nothing, and finds room later."""
    with mounted(bench, "size=600k") as place:
        database = place / "trials.db"
        asked(bench, "import", database, LINES)
        before = succeeds(bench, "export", database)
        filler = place / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        more = LINES.read_text().replace("16033f55a0e0388aec43b58aac4b9c3d", "f" * 32)
        lines = bench.write("more.jsonl", more)
        bench.fails(r"(?i)no space|no room|full", "db", "import", database, lines)
        filler.unlink()
        expect(succeeds(bench, "export", database) == before, "half an import is there")
        expect(asked(bench, "import", database, lines)["sessions"] == 1, "there is room again")
        expect(asked(bench, "check", database)["ok"], "check")


# --- tuning -----------------------------------------------------------------------

def tune(bench, model, out, *arguments):
    """A session of a few trials; told what happens in OUT.events."""
    return bench.start("tune", model, "--budget=12", "--search=random", "--threads=1", "-o", out,
                       f"--events={out}.events", *arguments)


def stored(out):
    lines = out.with_name(out.name + ".events").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return sum(event.get("event") == "trial" and event.get("stored", False) for event in events)


def machine(out):
    """A machine on which every dispatch is worth tuning, so that its peaks need not be measured."""
    out.mkdir()
    (out / "machine.json").write_text(json.dumps(MACHINE))


MACHINE = {}


@test
def two_tuners_on_one_file(bench):
    """Two processes write to one file at once: both end well, and every trial of both is there."""
    models = [bench.write(f"model{m}.mlir", MODEL.format(m=m)) for m in (48, 96)]
    outs = [bench.folder / "first", bench.folder / "second"]
    for out in outs:
        out.mkdir()
    (outs[1] / "trials.db").symlink_to(outs[0] / "trials.db")
    processes = [tune(bench, model, out) for model, out in zip(models, outs)]
    for process, done in [(process, bench.finish(process)) for process in processes]:
        expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    database = outs[0] / "trials.db"
    expect(asked(bench, "check", database)["ok"], "check")
    sessions = {session["program"]: session for session in asked(bench, "list", database)["sessions"]}
    expect(len(sessions) == 2, f"sessions: {sorted(sessions)}")
    for model, out in zip(models, outs):
        session = next(found for name, found in sessions.items() if name.endswith(model.name))
        told = stored(out)
        expect(told >= 12, f"{model.name}: {told} trials were told of")
        expect(session["trials"] >= told, f"{model.name}: {told} trials were told of, {session['trials']} are there")
        expect(session["endedAt"] and (out / "spec.mlir").exists(), f"{model.name}: it did not come to its end")
    # They were at it at the same time; else the test shows nothing.
    first, second = sessions.values()
    expect(first["startedAt"] < second["endedAt"] and second["startedAt"] < first["endedAt"], "one after the other")


@test
def a_damaged_file_and_keep_going(bench):
    """Without --keep-going the session does not begin; with it, it goes on in memory. The file stays as it was."""
    model, out = bench.write("model.mlir", MODEL.format(m=32)), bench.folder / "out"
    out.mkdir()
    database = out / "trials.db"
    damage = b"these are no trials\n" * 300
    database.write_bytes(damage)
    bench.fails(r"trials\.db", "tune", model, "--budget=4", "-o", out)
    done = bench.finish(bench.start("tune", model, "--budget=4", "--threads=1", "--keep-going", "-o", out))
    expect("going on in memory" in done.stderr, f"no warning: {done.stderr[-300:]}")
    # The results are there. That the trials are not is the end's error.
    expect((out / "spec.mlir").exists() and (out / "summary.json").exists(), f"no results: {done.stderr[-300:]}")
    expect(json.loads((out / "summary.json").read_text())["program"]["outputsAgree"], "outputs")
    expect(database.read_bytes() == damage, "the damaged file was changed")


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, __doc__))
