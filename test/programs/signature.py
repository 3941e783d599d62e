# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public functions of an MLIR file, read from its text."""

import dataclasses
import re

import ml_dtypes
import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i64": np.int64,
          "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_, "index": np.int64, "u8": np.uint8, "complex<f32>": np.complex64}


@dataclasses.dataclass
class Type:
    """-1 is a dynamic size; a scalar has no sizes."""
    shape: tuple
    element: str
    scalar: bool

    @property
    def dtype(self):
        return DTYPES[self.element]

    @property
    def spec(self):
        """As in --input=."""
        return "x".join([*("?" if d < 0 else str(d) for d in self.shape), self.element])


@dataclasses.dataclass
class Entry:
    name: str
    inputs: list
    outputs: list


def split_types(text):
    """`tensor<4xf32>, f32` at the commas that are not inside brackets."""
    depth, start, parts = 0, 0, []
    for i, c in enumerate(text):
        depth += c in "<({["
        depth -= c in ">)}]"
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]


def parse_type(text):
    text = text.split("{")[0].strip()
    tensor = re.fullmatch(r"tensor<(.*)>", text)
    *sizes, element = re.fullmatch(r"((?:[0-9?]+x)*)(.*)", tensor[1]).groups() if tensor else ("", text)
    shape = tuple(-1 if d == "?" else int(d) for d in sizes[0].split("x")[:-1])
    return Type(shape, element, tensor is None)


def balanced(text, start):
    """The inside of the parenthesis that opens at `start`, and what follows."""
    depth = 0
    for i in range(start, len(text)):
        depth += text[i] == "("
        depth -= text[i] == ")"
        if depth == 0:
            return text[start + 1:i], text[i + 1:i + 4000]
    raise ValueError("unbalanced parenthesis")


def read_entries(text):
    entries = []
    for found in re.finditer(r'func\.func\s+(?:public\s+)?@("[^"]*"|[\w$.-]+)\(', text):
        arguments, rest = balanced(text, found.end() - 1)
        inputs = [parse_type(a.split(":", 1)[1]) for a in split_types(arguments)]
        results = re.match(r"\s*->\s*", rest)
        outputs = []
        if results:
            rest = rest[results.end():]
            inside = balanced(rest, 0)[0] if rest.startswith("(") else re.match(r"[^\s{]+", rest)[0]
            outputs = [parse_type(t) for t in split_types(inside)]
        entries.append(Entry(found[1].strip('"'), inputs, outputs))
    return entries


def random_inputs(entry, seed=0, dynamic=4, below=8):
    """Normal floats, integers under `below` (they may be indices), booleans."""
    rng = np.random.default_rng(seed)
    arrays = []
    for t in entry.inputs:
        shape = tuple(dynamic if d < 0 else d for d in t.shape)
        if t.element[0] in "fb":
            value = rng.standard_normal(shape)
        else:
            value = rng.integers(0, 2 if t.element == "i1" else below, shape)
        arrays.append(np.asarray(value).astype(t.dtype))
    return arrays
