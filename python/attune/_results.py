# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table of results, and where it can go."""

from __future__ import annotations

import os
import pathlib
import typing
from typing import Any

import _attune_harness as _compiled
from _attune_harness import Result

if typing.TYPE_CHECKING:
    import pandas


class Results(typing.List[Result]):
    """Results of the harness: a list that prints as a table."""

    def to_json(self, path: str | os.PathLike | None = None) -> str:
        """docs/formats.md, harness results."""
        return self._written(_compiled.results_to_json(self), path)

    def to_csv(self, path: str | os.PathLike | None = None) -> str:
        return self._written(_compiled.results_to_csv(self), path)

    def to_pandas(self) -> pandas.DataFrame:
        """A row each: problem, sizes (`m`, `n`, ...), expert, outcome, gflops, gbytes,
        seconds at each quantile (`slowest`, `p1`, ... `fastest`), compile_seconds, and
        a column for each knob: `knob.m_tile`."""
        import pandas
        return pandas.DataFrame([self._row(result) for result in self])

    @staticmethod
    def _row(result: Result) -> dict[str, Any]:
        return {"problem": result.problem, "label": result.label, "type": result.type, **result.sizes,
                "dynamic": " ".join(result.dynamic), "expert": result.expert, "threads": result.threads,
                "outcome": result.outcome, "reason": result.reason, "checked": result.checked,
                "gflops": result.gflops, "gbytes": result.gbytes,
                **{name: result.seconds_at(percent) for name, percent in _compiled.quantiles()},
                "compile_seconds": result.compile_seconds,
                **{f"knob.{name}": value for name, value in result.configuration.items()}}

    def best(self) -> Results:
        """The fastest of each case."""
        found: dict[tuple, Result] = {}
        for result in self:
            key = result.problem, result.type, tuple(result.sizes.items()), tuple(result.dynamic)
            if result.ok and result.seconds and (key not in found or result.seconds < found[key].seconds):
                found[key] = result
        return Results(found.values())

    def plot(self, path: str | os.PathLike | None = None) -> Any:
        """Bars of GFLOP/s (GB/s where nothing is computed), a group for each case and
        a colour for each expert, with the range from p25 to p75. Gives matplotlib's
        figure, and saves it."""
        from matplotlib.figure import Figure
        cases = list(dict.fromkeys(self._name(result) for result in self))
        experts = list(dict.fromkeys(result.expert for result in self))
        moves = all(not result.flops for result in self)
        figure = Figure(figsize=(max(6, 1 + 0.25 * len(cases) * (len(experts) + 1)), 4), layout="constrained")
        axes = figure.subplots()
        for number, expert in enumerate(experts):
            rows = {self._name(result): result for result in self if result.expert == expert and result.seconds}
            amount = {name: (row.bytes if moves else row.flops) * 1e-9 for name, row in rows.items()}
            at = [cases.index(name) + (number + 0.5) / (len(experts) + 1) - 0.5 for name in rows]
            heights = [amount[name] / row.seconds for name, row in rows.items()]
            low = [h - amount[name] / row.seconds_at(25) for h, (name, row) in zip(heights, rows.items())]
            high = [amount[name] / row.seconds_at(75) - h for h, (name, row) in zip(heights, rows.items())]
            axes.bar(at, heights, 0.9 / (len(experts) + 1), yerr=[low, high], label=expert, error_kw={"lw": 0.8})
        axes.set_xticks(range(len(cases)), cases, rotation=45, ha="right")
        axes.set_ylabel("GB/s" if moves else "GFLOP/s")
        axes.legend()
        if path is not None:
            figure.savefig(path)
        return figure

    @staticmethod
    def _name(result: Result) -> str:
        sizes = "x".join(str(-1 if name in result.dynamic else size) for name, size in result.sizes.items())
        return result.label or f"{result.problem} {sizes}".replace("-1", "?")

    @staticmethod
    def _written(text: str, path: str | os.PathLike | None) -> str:
        if path is not None:
            pathlib.Path(path).write_text(text)
        return text

    def __str__(self) -> str:
        return _compiled.results_to_table(self)
