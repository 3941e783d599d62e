# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The problems that come with Attune in numpy: what results are compared with, and
what numpy takes. Functions take the sizes of a case, then its inputs in order."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from _attune_harness import Case

Function = Callable[..., Any]


def timed(function: Function) -> Function:
    """With sizes first, whether it wants them or not (a user's does not)."""
    if function in FUNCTIONS.values():
        return function
    return lambda sizes, *inputs: function(*inputs)


def _element(type_text: str) -> str:
    return type_text.rsplit("x", 1)[-1]


def _widen(array: Any, element: str) -> Any:
    """More exact than what is to be checked."""
    if element == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64 if array.dtype.kind == "i" else array.dtype)


_DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i4": np.int8, "i8": np.int8,
           "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64}


def _narrow(array: Any, element: str) -> Any:
    if element == "bf16":
        bits = np.asarray(array, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    with np.errstate(over="ignore"):
        return np.asarray(array).astype(_DTYPES[element])


def call(function: Function, case: Case, inputs: list[Any]) -> list[Any]:
    """Results for these inputs, computed wider and rounded once."""
    wide = [_widen(np.asarray(array), _element(text)) for array, text in zip(inputs, case.inputs, strict=True)]
    results = timed(function)(case.sizes, *wide)
    results = results if isinstance(results, tuple) else (results,)
    return [_narrow(array, _element(text)) for array, text in zip(results, case.outputs, strict=True)]


def _bias_relu(s, a, b, bias):
    return np.maximum(a @ b + bias, 0)


def _windows(image, kernel, stride):
    """Of the last dimensions: positions first, then the windows."""
    axes = tuple(range(-len(kernel), 0))
    view = np.lib.stride_tricks.sliding_window_view(image, kernel, axis=axes)
    return view[(..., *(slice(None, None, stride) for _ in kernel), *(slice(None) for _ in kernel))]


def _convolve(image, kernel, sizes):
    """image: n c *space, kernel: f c *window."""
    pad = sizes.get("pad", 0)
    rank = image.ndim - 2
    if pad:
        image = np.pad(image, ((0, 0), (0, 0), *((pad, pad),) * rank))
    windows = _windows(image, kernel.shape[2:], sizes.get("stride", 1))  # n c *space *window
    summed = (1, *range(2 + rank, 2 + 2 * rank))
    return np.moveaxis(np.tensordot(windows, kernel, (summed, tuple(range(1, 2 + rank)))), -1, 1)


def _channels_first(s, image, kernel):
    return _convolve(image, kernel, s)


def _channels_last(s, image, kernel):
    first = np.moveaxis(image, -1, 1)
    return np.moveaxis(_convolve(first, np.moveaxis(kernel, (-1, -2), (0, 1)), s), 1, -1)


def _depthwise(s, image, kernel):
    first = np.moveaxis(image, -1, 1)
    rank = kernel.ndim - 1
    if s.get("pad", 0):
        first = np.pad(first, ((0, 0), (0, 0), *((s["pad"],) * 2,) * rank))
    windows = _windows(first, kernel.shape[:-1], s.get("stride", 1))
    letters = "xyz"[:rank], "ijk"[:rank]
    return np.einsum(f"nc{letters[0]}{letters[1]},{letters[1]}c->n{letters[0]}c", windows, kernel)


def _gelu(s, a):
    import math
    return 0.5 * a * (1 + np.vectorize(math.erf, otypes=[a.dtype])(a * np.sqrt(0.5)))


def _softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _layernorm(s, x, scale, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * scale + shift


def _attention(s, q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return _softmax(scores if mask is None else scores + mask[:, None]) @ v


def _causal(s, q, k, v):
    hidden = np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2]) == 0
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return _softmax(np.where(hidden, -1e30, scores)) @ v


FUNCTIONS: dict[str, Function] = {
    "matmul": lambda s, a, b: a @ b,
    "matmul_transpose_a": lambda s, a, b: a.T @ b,
    "matmul_transpose_b": lambda s, a, b: a @ b.T,
    "matmul_transpose_ab": lambda s, a, b: a.T @ b.T,
    "batch_matmul": lambda s, a, b: a @ b,
    "matvec": lambda s, a, x: a @ x,
    "vecmat": lambda s, x, a: x @ a,
    "matmul_bias_relu": _bias_relu,
    "conv1d_nwc": _channels_last, "conv1d_ncw": _channels_first,
    "conv2d_nhwc": _channels_last, "conv2d_nchw": _channels_first, "conv2d_nhwc_padded": _channels_last,
    "conv3d_ndhwc": _channels_last, "conv3d_ncdhw": _channels_first,
    "depthwise_conv1d": _depthwise, "depthwise_conv2d": _depthwise,
    "copy1d": lambda s, a: a.copy(),
    "copy2d": lambda s, a: a.copy(),
    "transpose2d": lambda s, a: np.ascontiguousarray(a.T),
    "transpose_021": lambda s, a: np.ascontiguousarray(a.transpose(0, 2, 1)),
    "transpose4d_0213": lambda s, a: np.ascontiguousarray(a.transpose(0, 2, 1, 3)),
    "elementwise_add": lambda s, a, b: a + b,
    "elementwise_chain": lambda s, a, b, c: np.maximum(a * b + c, 0),
    "elementwise_gelu": _gelu,
    "row_reduction": lambda s, a: a.sum(axis=1),
    "column_reduction": lambda s, a: a.sum(axis=0),
    "reduction1d": lambda s, a: a.sum(),
    "softmax": lambda s, x: _softmax(x),
    "layernorm": _layernorm,
    "rmsnorm": lambda s, x, scale: x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * scale,
    "attention": _attention,
    "attention_causal": _causal,
    "attention_mask": _attention,
}


def _torch_functions() -> dict[str, Function]:
    def convolve(image, kernel, s, channels_last, groups=False):
        import torch
        rank = image.ndim - 2
        function = (torch.conv1d, torch.conv2d, torch.conv3d)[rank - 1]
        if channels_last:
            image = image.movedim(-1, 1)
            kernel = kernel.movedim(-1, 0)
            kernel = kernel.unsqueeze(1) if groups else kernel.movedim(-1, 1)
        made = function(image, kernel, stride=s.get("stride", 1), padding=s.get("pad", 0),
                        groups=image.shape[1] if groups else 1)
        return made.movedim(1, -1) if channels_last else made

    def attention(s, q, k, v, mask=None):
        from torch.nn.functional import scaled_dot_product_attention
        return scaled_dot_product_attention(q, k, v, mask if mask is None else mask[:, None])

    def functional(name, *arguments):
        import torch
        return getattr(torch.nn.functional, name)(*arguments)

    functions: dict[str, Function] = {
        name: FUNCTIONS[name] for name in ("matmul", "matmul_transpose_a", "matmul_transpose_b", "matmul_transpose_ab",
                                           "batch_matmul", "matvec", "vecmat", "elementwise_add")}
    functions |= {
        "matmul_bias_relu": lambda s, a, b, bias: (a @ b).add_(bias).relu_(),
        "copy1d": lambda s, a: a.clone(), "copy2d": lambda s, a: a.clone(),
        "transpose2d": lambda s, a: a.t().contiguous(),
        "transpose_021": lambda s, a: a.transpose(1, 2).contiguous(),
        "transpose4d_0213": lambda s, a: a.transpose(1, 2).contiguous(),
        "elementwise_chain": lambda s, a, b, c: (a * b + c).relu_(),
        "row_reduction": lambda s, a: a.sum(1), "column_reduction": lambda s, a: a.sum(0),
        "reduction1d": lambda s, a: a.sum(), "softmax": lambda s, x: x.softmax(-1),
        "attention": attention, "attention_mask": attention,
        "elementwise_gelu": lambda s, a: functional("gelu", a),
        "layernorm": lambda s, x, scale, shift: functional("layer_norm", x, scale.shape, scale, shift, 1e-5),
        "rmsnorm": lambda s, x, scale: functional("rms_norm", x, scale.shape, scale, 1e-5),
    }
    for name, last, groups in (("conv1d_nwc", True, False), ("conv1d_ncw", False, False), ("conv2d_nhwc", True, False),
                               ("conv2d_nchw", False, False), ("conv2d_nhwc_padded", True, False),
                               ("conv3d_ndhwc", True, False), ("conv3d_ncdhw", False, False),
                               ("depthwise_conv1d", True, True), ("depthwise_conv2d", True, True)):
        functions[name] = lambda s, image, kernel, last=last, groups=groups: convolve(image, kernel, s, last, groups)
    return functions


TORCH = _torch_functions()
