# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other libraries take for the same: rows for the same table. They run in this
process, on the same number of threads (threadpoolctl or PyTorch set it)."""

from __future__ import annotations

import contextlib
import importlib.util
import time
from typing import Any, Callable, Iterator

from _attune_harness import Case, Result

from ._native import Error

NAMES = ("numpy", "torch")


@contextlib.contextmanager
def _limited(name: str, threads: int) -> Iterator[None]:
    if name == "torch":
        import torch
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            with torch.no_grad():
                yield
        finally:
            torch.set_num_threads(before)
        return
    import threadpoolctl
    with threadpoolctl.threadpool_limits(threads):
        yield


def measure(name: str, case: Case, reference: Callable[..., Any] | None, *, n_iters: int, timeout: float, threads: int,
            seed: int) -> Result:
    """A row: `rejected` with the reason where it cannot be measured."""
    if name not in NAMES:
        raise Error(f"there is no baseline '{name}'; there are {', '.join(NAMES)}")
    try:
        run = _function(name, case, reference, seed)
        with _limited(name, threads):
            seconds = _time(run, n_iters, timeout)
    except ImportError as error:
        return Result.make(case, name, [], threads, "rejected", f"not installed: {error.name or error}")
    except Exception as error:  # Whatever the library does not like is its row.
        return Result.make(case, name, [], threads, "rejected", f"{type(error).__name__}: {error}")
    return Result.make(case, name, seconds, threads)


def _function(name: str, case: Case, reference: Callable[..., Any] | None, seed: int) -> Callable[[], Any]:
    from . import _references
    inputs = case.make_inputs(seed)
    if name == "numpy":
        if reference is None:
            raise Error("the problem has no reference in numpy")
        if importlib.util.find_spec("threadpoolctl") is None:
            raise ImportError("threadpoolctl", name="threadpoolctl")
        function = _references.timed(reference)
        return lambda: function(case.sizes, *inputs)
    import torch
    function = _references.TORCH.get(case.problem.name)
    if function is None:
        raise Error("no PyTorch function is known for the problem")
    tensors = [torch.from_numpy(array) for array in inputs]
    sizes = case.sizes
    return lambda: function(sizes, *tensors)


def _time(run: Callable[[], Any], n_iters: int, timeout: float) -> list[float]:
    run()
    end = time.perf_counter() + timeout
    seconds = []
    while len(seconds) < max(1, n_iters) and time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return seconds
