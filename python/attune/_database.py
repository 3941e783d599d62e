# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded trials, to look at: trials.db."""

from __future__ import annotations

import json
import os
import typing
from typing import Any

from . import _command

if typing.TYPE_CHECKING:
    import pandas


class Database:
    """trials.db of a folder of results. Reads what is there at each question, also
    while a tuner writes. A context manager; after `close` every question is an
    attune.Error."""

    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        self._closed = False
        self.summary()  # An error now is better than one later.

    def _ask(self, question: str) -> str:
        if self._closed:
            raise _command.Error(f"{self.path}: the database is closed")
        return _command.run("db", question, self.path, *([] if question == "export" else ["--json"]))

    def summary(self) -> dict[str, Any]:
        """`trials`, `sessions`, `dispatches`, `outcomes` (how many of each),
        `lastTrialAt` (seconds since 1970, or None)."""
        return json.loads(self._ask("show"))

    def sessions(self) -> list[dict[str, Any]]:
        """What was run: program, command, threads, versions, seconds spent."""
        return json.loads(self._ask("list"))["sessions"]

    def dispatches(self) -> list[dict[str, Any]]:
        """What was tuned, each with its best configuration."""
        return json.loads(self._ask("list"))["dispatches"]

    def trials(self) -> list[dict[str, Any]]:
        """Every trial in the order of its recording (docs/rooms/Database.md, JSON
        lines): `fingerprint`, `rootOp`, `shapes`, `phase`, `trial` {`configuration`,
        `outcome`, `seconds`, `baselineSeconds`, ...}, `finishedAt`, ..."""
        dispatches, trials = {}, []
        for line in self._ask("export").splitlines():
            row = json.loads(line)
            kind = row.pop("kind")
            key = row.get("fingerprint"), row.get("sizes")
            if kind == "dispatch":
                dispatches[key] = {name: row[name] for name in ("rootOp", "shapes")}
            elif kind == "trial":
                trials.append(row | dispatches.get(key, {}))
        return trials

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each trial: where it belongs to, its outcome, medians of seconds
        and baselineSeconds, speedup, and a column for each knob: `knob.m_tile`."""
        import statistics

        import pandas
        rows = []
        for entry in self.trials():
            trial = entry.pop("trial")
            seconds, baseline = trial["seconds"], trial["baselineSeconds"]
            ratios = [s / b for s, b in zip(seconds, baseline) if b]
            configuration = trial["configuration"]
            rows.append(entry | {
                "schedule": configuration["schedule"], "outcome": trial["outcome"], "reason": trial.get("reason", ""),
                "seconds": statistics.median(seconds) if seconds else None,
                "baselineSeconds": statistics.median(baseline) if baseline else None,
                "speedup": 1 / statistics.median(ratios) if ratios else None,
                "compileSeconds": trial["compileSeconds"],
                **{f"knob.{name}": value for name, value in configuration["values"].items()}})
        return pandas.DataFrame(rows)

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Database {self.path}{' (closed)' if self._closed else ''}>"
