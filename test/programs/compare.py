# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When is a result right? The rules of ../data/cases/README.md."""

import ml_dtypes
import numpy as np


def to_file(array):
    """As it travels in .npy: bf16 as the raw integers of its width."""
    array = np.asarray(array)
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def from_file(array, dtype):
    """Undoes `to_file`; unsigned bytes come back in an i8 tensor and the other way."""
    dtype = np.dtype(dtype)
    same_width = array.dtype.itemsize == dtype.itemsize and array.dtype != dtype
    if same_width and (dtype == ml_dtypes.bfloat16 or {array.dtype.kind, dtype.kind} == {"i", "u"}):
        return array.view(dtype)
    return array


def difference(got, want, tolerance):
    """Why `got` is not `want`, in one line, or nothing."""
    want = np.asarray(want)
    got = from_file(got, want.dtype)
    if got.dtype != want.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "iub":
        wrong = np.count_nonzero(got != want)
        return f"{wrong} of {want.size} integers differ" if wrong else None
    got, want = got.astype(np.float64), want.astype(np.float64)
    special = ~np.isfinite(want)
    same = np.where(np.isnan(want), np.isnan(got), got == want)
    if not same[special].all():
        return "nan or infinity differs"
    got, want = got[~special], want[~special]
    if not np.isfinite(got).all():
        return f"{np.count_nonzero(~np.isfinite(got))} values that should be finite are not"
    error = np.abs(got - want) / np.maximum(1, np.abs(want))
    if error.size and error.max() > tolerance:
        return f"off by {error.max():.3g}, allowed is {tolerance:g}"
    return None
