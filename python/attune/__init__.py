# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attune: a tuner for MLIR programs, and for anything that can be built and run.

    import attune
    function = attune.compile("model.mlir")       # or MLIR text, or a module
    y = function(x)                               # numpy arrays, not copied
    tuned = attune.tune("model.mlir", budget="1m")
    y = tuned.compile()(x)
    table = attune.sweep([attune.problem("matmul", m=512, n=512, k=512)], attune.experts())

Compiling and measuring happen in processes of their own: nothing that a candidate
does takes the interpreter down. Errors are `attune.Error`, with the text that the
command line prints. docs/python.md has examples.
"""

# Where each name is; a module is loaded when its first name is asked for, so that
# `import attune` costs nothing.
_PLACES = {
    "_native": ["Error", "Function", "Knob", "Search", "Space"],
    "_match": ["RootOp", "find_root_ops", "match"],
    "_program": ["Dispatch", "Program", "compile"],
    "_tune": ["Tuned", "tune"],
    "_spec": ["Spec", "SpecEntry"],
    "_database": ["Database"],
    "_harness": ["Case", "Expert", "Problem", "Result", "Results", "dump", "expert", "experts", "harness", "problem", "problems",
                 "read_cases", "search", "space", "sweep"],
    "engines": [],
    "transformations": [],
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = sorted(_PLACE_OF)

TYPE_CHECKING = False  # for those who check types: typing itself takes time to load
if TYPE_CHECKING:
    import typing

    from ._database import Database
    from ._harness import (Case, Expert, Problem, Result, Results, dump, expert, experts, harness, problem, problems,
                           read_cases, search, space, sweep)
    from ._match import RootOp, find_root_ops, match
    from ._native import Error, Function, Knob, Search, Space
    from ._program import Dispatch, Program, compile
    from ._spec import Spec, SpecEntry
    from ._tune import Tuned, tune


def __getattr__(name: str) -> "typing.Any":
    import importlib
    if name in _PLACES and not name.startswith("_"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _PLACE_OF:
        raise AttributeError(f"module 'attune' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_PLACE_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
