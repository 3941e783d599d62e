# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be measured: the problems of a family, as MLIR and as numbers."""

import csv
import pathlib

import numpy

DATA = pathlib.Path(__file__).resolve().parent / "data"


class Matmul:
    """C = A B, row-major f32. Sizes are a CSV file with columns m, n, k, or
    `1024x1024x1024,512x512x512`."""

    default_sizes = DATA / "matmul.csv"

    @staticmethod
    def read_sizes(text):
        if pathlib.Path(text).is_file():
            with open(text, newline="") as file:
                rows = list(csv.DictReader(file))
            if not rows or not {"m", "n", "k"} <= set(rows[0]):
                raise ValueError(f"{text}: a matmul needs the columns m, n, k")
            return [tuple(int(row[c]) for c in "mnk") for row in rows]
        try:
            sizes = [tuple(map(int, word.split("x"))) for word in str(text).split(",")]
        except ValueError:
            sizes = []
        if not sizes or any(len(s) != 3 or min(s) < 1 for s in sizes):
            raise ValueError(f"{text} is neither a file nor sizes like 1024x1024x1024,64x64x64")
        return sizes

    @staticmethod
    def name(sizes):
        return "x".join(map(str, sizes))

    @staticmethod
    def flops(sizes):
        m, n, k = sizes
        return 2 * m * n * k

    @staticmethod
    def program(sizes):
        m, n, k = sizes
        a, b, c = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
        return (f"func.func @main(%a: {a}, %b: {b}) -> {c} {{\n"
                "  %zero = arith.constant 0.0 : f32\n"
                f"  %e = tensor.empty() : {c}\n"
                f"  %z = linalg.fill ins(%zero : f32) outs(%e : {c}) -> {c}\n"
                f"  %r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%z : {c}) -> {c}\n"
                f"  return %r : {c}\n}}\n")

    @staticmethod
    def check(sizes, result):
        """Why `result` is wrong, or nothing. The operands are those that
        drivers/peer.cpp makes."""
        m, n, k = sizes
        random = numpy.random.MT19937()
        random._legacy_seeding(7)

        def operand(*shape):
            raw = random.random_raw(shape[0] * shape[1])
            return ((raw >> 8) / (1 << 23) - 1).reshape(shape)

        a, b = operand(m, k), operand(k, n)
        # c sqrt(K) eps |A| |B|, with entries that are at most one.
        tolerance = 8 * numpy.sqrt(k) * numpy.finfo(numpy.float32).eps * max(1, numpy.sqrt(k) / 3)
        worst = numpy.abs(result.reshape(m, n) - a @ b).max()
        return None if worst <= tolerance else f"wrong result: off by {worst:.3g}, allowed is {tolerance:.3g}"


FAMILIES = {"matmul": Matmul}
