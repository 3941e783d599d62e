# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers back: problems with sizes, computed as experts say, checked and timed."""

from __future__ import annotations

import atexit
import functools
import json
import os
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _native  # isort: skip (first: it says what is missing)
import _attune_harness as _compiled
from _attune_harness import Case, Expert, ExpertValues, Result

from ._native import Error, Space
from ._results import Results

__all__ = ["Case", "Expert", "Problem", "Result", "Results", "dump", "expert", "experts", "harness", "problem", "problems",
           "read_cases", "search", "space", "sweep"]


class Problem:
    """What is computed, for any sizes and element types (docs/rooms/Harness.md).

        axpy = attune.Problem(
            "axpy", {"n": "parallel"}, inputs={"a": "", "x": "n", "y": "n"}, outputs={"z": "n"}, flops="2 * n",
            body="...MLIR that makes %z...", reference=lambda a, x, y: a * x + y)
        attune.harness(axpy(n=4096), attune.expert("single_tiling"))

    `dimensions`: name to "parallel", "reduction" or "parameter" (no loop), or to
    a dict with `kind`, `expression` (of dimensions before it) and `default`.
    `inputs`, `outputs`: name to shape ("m k", outermost first; "": 0-d), or to
    (shape, element type). `flops`, `bytes`: of one run, expressions of dimensions.
    `reference`: a function of numpy arrays that gives the result, or a tuple of
    them; without it results are compared with plain loops.
    """

    def __init__(self, name: str, dimensions: Mapping[str, str | Mapping[str, Any]], *, inputs: Mapping[str, Any],
                 outputs: Mapping[str, Any], body: str, flops: str = "", bytes: str = "", type: str = "f32",
                 temporaries: Mapping[str, Any] = {}, tolerance: tuple[float, float] | None = None,
                 reference: Callable[..., Any] | None = None):
        def tensors(given: Mapping[str, Any]) -> list[dict[str, Any]]:
            return [{"name": key, "shape": value} if isinstance(value, str) else
                    {"name": key, "shape": value[0], "type": value[1]} for key, value in given.items()]

        described = {"version": 1, "name": name, "type": type, "body": body, "flops": flops, "bytes": bytes,
                     "dimensions": [{"name": key, **({"kind": value} if isinstance(value, str) else value)}
                                    for key, value in dimensions.items()],
                     "inputs": tensors(inputs), "outputs": tensors(outputs), "temporaries": tensors(temporaries)}
        if tolerance is not None:
            described["tolerance"] = {"relative": tolerance[0], "absolute": tolerance[1]}
        self._native = _compiled.Problem.from_json(json.dumps(described))
        self.reference = reference

    @classmethod
    def _of(cls, native: Any, reference: Callable[..., Any] | None) -> Problem:
        made = cls.__new__(cls)
        made._native, made.reference = native, reference
        return made

    @property
    def name(self) -> str:
        return self._native.name

    def with_type(self, element_type: str) -> Problem:
        """The same with other elements: f32, f64, f16, bf16, i8, i32, ..."""
        return Problem._of(self._native.with_type(element_type), self.reference)

    def __call__(self, *, dynamic: Sequence[str] = (), label: str = "", **sizes: int) -> Case:
        """The problem with sizes; those in `dynamic` ("*": all that can be) are not
        told to the compiler."""
        made = Case(self._native, sizes, list(dynamic), label)
        _REFERENCES[self.name] = self.reference
        return made

    def to_json(self) -> str:
        return self._native.to_json()

    def __repr__(self) -> str:
        return f"<Problem {self.name}>"


# By name: a case that C++ made does not carry a Python function.
_REFERENCES: dict[str, Callable[..., Any] | None] = {}


def problems() -> list[Problem]:
    """Those that come with Attune."""
    from . import _references
    return [Problem._of(native, _references.FUNCTIONS.get(native.name)) for native in _compiled.shipped_problems()]


def problem(name: str) -> Problem:
    """By name: attune.problem("matmul")(m=512, n=512, k=64)."""
    from . import _references
    return Problem._of(_compiled.find_problem(name), _references.FUNCTIONS.get(name))


def read_cases(path: str | os.PathLike, problem: str = "matmul", *, dynamic_size: int = 512) -> list[Case]:
    """A table of sizes (CSV): a column for each dimension, and optionally `name`,
    `op` and `shape`. -1 is a dimension that the compiler is not told."""
    return _compiled.read_cases(os.fspath(path), problem, dynamic_size)


def experts() -> list[Expert]:
    """Those that come with Attune: lowering only, single, double and triple tiling,
    tile and decompose, packed, ..."""
    return _compiled.shipped_experts()


def expert(name: str) -> Expert:
    return _compiled.find_expert(name)


@functools.lru_cache(maxsize=8)
def _harness(threads: int, isolated: bool, seed: int, reproducers: str) -> Any:
    """Keeps its workers, inputs and references."""
    return _compiled.Harness(threads, isolated, seed, reproducers)


atexit.register(_harness.cache_clear)  # Its workers end before the interpreter does.


def _case_of(given: Problem | Case, sizes: Mapping[str, int] | None, dynamic: Sequence[str]) -> Case:
    if isinstance(given, Problem):
        return given(dynamic=dynamic, **(sizes or {}))
    if sizes is None and not dynamic:
        return given
    return Case(given.problem, dict(sizes or given.sizes), list(dynamic or given.dynamic), given.label)


def _reference_of(case: Case) -> Callable[..., Any] | None:
    from . import _references
    name = case.problem.name
    return _REFERENCES.get(name) or _references.FUNCTIONS.get(name)


# The last few inputs and results: searches ask for the same again and again.
_VALUES: dict[tuple, tuple[list[Any], list[Any]]] = {}


def _inputs_and_references(case: Case, inputs: Sequence[Any] | None, seed: int) -> tuple[list[Any], list[Any]]:
    """Values, and what numpy makes of them with the types of the results."""
    from ._references import call
    function = _reference_of(case)
    if inputs is not None:
        return list(inputs), call(function, case, list(inputs))
    key = case.problem.to_json(), tuple(case.sizes.items()), function, seed
    if key not in _VALUES:
        while len(_VALUES) >= 4:
            del _VALUES[next(iter(_VALUES))]
        made = case.make_inputs(seed)
        _VALUES[key] = made, call(function, case, made)
    return _VALUES[key]


def harness(problem: Problem | Case, expert: Expert | ExpertValues | None = None,
            sizes: Mapping[str, int] | None = None, *, dynamic_at_compile_time: Sequence[str] = (), n_iters: int = 100,
            timeout: float = 60, check: bool | str = True, threads: int = 1, isolated: bool = True, seed: int = 0,
            inputs: Sequence[Any] | None = None, reproducers: str | os.PathLike = "") -> Result:
    """Compiles a problem of these sizes as an expert (with values for its knobs:
    `expert(m_tile=6)`) says, checks its result, and times it.

    None is no expert: what Attune does untuned. `timeout` (seconds) is for all
    runs together. `check`: compare with numpy's result where the problem has a
    `reference`, else with plain loops ("loops": always with these); False: do not.
    `inputs`: arrays; else made from `seed`. What the candidate does wrong is in the
    result: a crash takes its process, not this one (`isolated=False`: it would).
    What makes no sense is an attune.Error. With `reproducers`, a folder, each
    failure leaves all that repeats it.
    """
    case = _case_of(problem, sizes, dynamic_at_compile_time)
    engine = _harness(threads, isolated, seed, os.fspath(reproducers))
    references = None
    if inputs is not None:
        case.check_inputs(list(inputs))
    if check is True and _reference_of(case):
        inputs, references = _inputs_and_references(case, inputs, seed)
    return engine.run(case, expert, n_iters, float(timeout), bool(check), inputs, references)


def sweep(cases: Iterable[Case], experts: Iterable[Expert | ExpertValues | None], *, n_iters: int = 100,
          timeout: float = 60, check: bool | str = True, threads: int = 1, isolated: bool = True, seed: int = 0,
          baselines: Sequence[str] = (), on_result: Callable[[Result], None] | None = None,
          reproducers: str | os.PathLike = "") -> Results:
    """Every case with every expert (see `harness`). An expert that does not fit a
    case is a row that says so. `baselines`: other libraries in the same table,
    "numpy" and "torch" where they are installed. `on_result` is told each row."""
    rows = Results()
    chosen = list(experts)
    for case in cases:
        for one in chosen:
            try:
                row = harness(case, one, n_iters=n_iters, timeout=timeout, check=check, threads=threads,
                              isolated=isolated, seed=seed, reproducers=reproducers)
            except Error as error:
                name = one.name if isinstance(one, Expert) else one.expert.name if one is not None else "untuned"
                row = Result.make(case, name, [], threads, "rejected", str(error))
            rows.append(row)
            if on_result:
                on_result(row)
        for name in baselines:
            from . import _baselines
            row = _baselines.measure(name, case, _reference_of(case), n_iters=n_iters, timeout=timeout, threads=threads,
                                     seed=seed)
            rows.append(row)
            if on_result:
                on_result(row)
    return rows


def dump(case: Case, expert: Expert | ExpertValues, *, threads: int = 1) -> dict[str, Any]:
    """What the compiler makes of it: `stages` (MLIR by the stage's name), `assembly`,
    `object` (a path), `hot_loop` (the innermost loop) and `mca`, what llvm-mca says of it."""
    return _harness(threads, True, 0, "").dump(case, expert)


def space(case: Case, expert: Expert, *, threads: int = 1) -> tuple[Space, dict[str, Any]]:
    """What can be tried: the space of an expert's knobs for a case, and the
    configuration that it takes by default."""
    return _harness(threads, True, 0, "").space(case, expert)


def search(case: Case, expert: Expert, search: Any = "auto", *, evaluations: int = 100, seed: int = 0,
           n_iters: int = 30, timeout: float = 60, threads: int = 1, database: str | os.PathLike = "",
           on_result: Callable[[Result], None] | None = None) -> tuple[Results, Result | None]:
    """Searches an expert's knobs for a case: all results, and the best.

    `search`: the name of a searcher (see attune.Search), or your own: an object
    with `ask(count)`, which gives configurations (dicts), and `tell(configuration,
    seconds, outcome=..., reason=...)`. With a `database` every trial is on disk
    before the next one starts, and earlier ones are told first.
    """
    results, best, _ = _harness(threads, True, seed, "").tune(case, expert, search, evaluations, seed, n_iters,
                                                              float(timeout), os.fspath(database), on_result)
    return Results(results), None if best is None else results[best]
