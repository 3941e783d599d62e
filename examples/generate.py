# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the examples that are not somebody's network, and knows their results.

    ./dev python examples/generate.py            writes examples/*.mlir anew

REFERENCES[name] holds numpy functions, one for each entry function: the tests
compare what a compiled example gives with what these give. Weights are real
numbers with a fixed seed; running this again changes nothing.
"""

import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent

EW = "#row = affine_map<(i, j) -> (j)>\n#id = affine_map<(i, j) -> (i, j)>\n"


def weights(seed, *shape):
    """Gaussian, scaled by the fan-in: what a layer is initialised with."""
    fan_in = np.prod(shape[:-1]) if len(shape) > 1 else 16
    return (np.random.default_rng(seed).standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)


def tensor_type(array_or_shape):
    shape = getattr(array_or_shape, "shape", array_or_shape)
    return "tensor<" + "".join(f"{d}x" for d in shape) + "f32>"


def constant(name, array):
    return f'    %{name} = arith.constant dense<"0x{array.tobytes().hex().upper()}"> : {tensor_type(array)}\n'


def relu(x):
    return np.maximum(x, np.float32(0))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def header(what, tune):
    return f"// {what}\n// attune tune {tune}\n"


def filled(name, shape, value="zero"):
    """A destination that holds `value`."""
    t = tensor_type(shape)
    return (f"    %{name}e = tensor.empty() : {t}\n"
            f"    %{name} = linalg.fill ins(%{value} : f32) outs(%{name}e : {t}) -> {t}\n")


def bias_and(name, product, bias, shape, with_relu):
    """%name = product + bias along the last dimension, then relu if asked for."""
    t, bias_type = tensor_type(shape), tensor_type(shape[-1:])
    last = "      %max = arith.maximumf %sum, %zero : f32\n      linalg.yield %max : f32\n"
    return (f"    %{name}d = tensor.empty() : {t}\n"
            f'    %{name} = linalg.generic {{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}}\n'
            f"        ins(%{product}, %{bias} : {t}, {bias_type}) outs(%{name}d : {t}) {{\n"
            f"    ^bb0(%in: f32, %add: f32, %out: f32):\n"
            f"      %sum = arith.addf %in, %add : f32\n"
            + (last if with_relu else "      linalg.yield %sum : f32\n") +
            f"    }} -> {t}\n")


def matmul_op(name, a, b, a_shape, b_shape):
    shape = (a_shape[0], b_shape[1])
    t = tensor_type(shape)
    return (filled(name + "z", shape) +
            f"    %{name} = linalg.matmul ins(%{a}, %{b} : {tensor_type(a_shape)}, {tensor_type(b_shape)})\n"
            f"        outs(%{name}z : {t}) -> {t}\n")


def function(name, arguments, result, body, value):
    parameters = ", ".join(f"%{n}: {tensor_type(s)}" for n, s in arguments)
    return (f"  func.func @{name}({parameters}) -> {tensor_type(result)} {{\n"
            "    %zero = arith.constant 0.0 : f32\n"
            f"{body}    return %{value} : {tensor_type(result)}\n  }}\n")


def matmul():
    n = 1024
    body = matmul_op("c", "a", "b", (n, n), (n, n))
    text = header("A product of two matrices: 1024 x 1024 x 1024, f32.", "examples/matmul.mlir --budget=2m")
    return text + "module {\n" + function("main", [("a", (n, n)), ("b", (n, n))], (n, n), body, "c") + "}\n", {
        "main": ([(n, n), (n, n)], lambda a, b: a @ b)}


def matmul_bias_relu():
    n = 1024
    body = matmul_op("c", "a", "b", (n, n), (n, n)) + bias_and("r", "c", "bias", (n, n), True)
    text = header("relu(A B + bias): a product with an epilogue, 1024 x 1024 x 1024, f32.",
                  "examples/matmul_bias_relu.mlir --budget=2m")
    arguments = [("a", (n, n)), ("b", (n, n)), ("bias", (n,))]
    return text + EW + "module {\n" + function("main", arguments, (n, n), body, "r") + "}\n", {
        "main": ([(n, n), (n, n), (n,)], lambda a, b, c: relu(a @ b + c))}


def mlp():
    batch, sizes = 64, (256, 256, 128, 10)
    body, value, layers = "", "x", []
    for i, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:])):
        w, b = weights(10 + i, fan_in, fan_out), weights(20 + i, fan_out)
        layers.append((w, b))
        body += constant(f"w{i}", w) + constant(f"b{i}", b)
        body += matmul_op(f"p{i}", value, f"w{i}", (batch, fan_in), (fan_in, fan_out))
        body += bias_and(f"y{i}", f"p{i}", f"b{i}", (batch, fan_out), i < 2)
        value = f"y{i}"

    def reference(x):
        for w, b in layers[:-1]:
            x = relu(x @ w + b)
        return x @ layers[-1][0] + layers[-1][1]

    text = header("Three dense layers with their weights, 256-256-128-10, a batch of 64.",
                  "examples/mlp.mlir --budget=2m")
    return text + EW + "module {\n" + function("main", [("x", (batch, sizes[0]))], (batch, sizes[-1]), body, value) + "}\n", {
        "main": ([(batch, sizes[0])], reference)}


# The convolution network: kernel sizes, channels, stride; then the mean over
# pixels and a dense layer. Both layouts have the same weights and results.
IMAGE = 32
CONVOLUTIONS = [(3, 16, 1), (16, 32, 2), (32, 32, 1)]


def convnet_weights():
    return ([(weights(30 + i, 3, 3, c, f), weights(40 + i, f)) for i, (c, f, _) in enumerate(CONVOLUTIONS)],
            weights(50, CONVOLUTIONS[-1][1], 10))


def convnet_reference(x):
    convolutions, dense = convnet_weights()
    for (w, b), (_, _, stride) in zip(convolutions, CONVOLUTIONS):
        x = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
        size = (x.shape[1] - 3) // stride + 1
        y = np.zeros((x.shape[0], size, size, w.shape[3]), np.float32)
        for r in range(3):
            for s in range(3):
                y += x[:, r:r + (size - 1) * stride + 1:stride, s:s + (size - 1) * stride + 1:stride] @ w[r, s]
        x = relu(y + b)
    return x.mean((1, 2)) @ dense


def convnet(layout):
    nhwc = layout == "nhwc"

    def shaped(pixels, channels):
        return (1, pixels, pixels, channels) if nhwc else (1, channels, pixels, pixels)

    maps = ("#id = affine_map<(n, a, b, c) -> (n, a, b, c)>\n"
            f"#bias = affine_map<(n, a, b, c) -> ({'c' if nhwc else 'a'})>\n"
            f"#mean = affine_map<(n, a, b, c) -> (n, {'c' if nhwc else 'a'})>\n")
    op = "linalg.conv_2d_nhwc_hwcf" if nhwc else "linalg.conv_2d_nchw_fchw"
    low = "low[0, 1, 1, 0] high[0, 1, 1, 0]" if nhwc else "low[0, 0, 1, 1] high[0, 0, 1, 1]"
    convolutions, dense = convnet_weights()
    body, value, pixels = "", "x", IMAGE
    for i, ((w, b), (c, f, stride)) in enumerate(zip(convolutions, CONVOLUTIONS)):
        if not nhwc:
            w = np.ascontiguousarray(w.transpose(3, 2, 0, 1))
        before, padded = tensor_type(shaped(pixels, c)), tensor_type(shaped(pixels + 2, c))
        pixels = (pixels + 2 - 3) // stride + 1
        t = tensor_type(shaped(pixels, f))
        body += constant(f"w{i}", w) + constant(f"b{i}", b)
        body += (f"    %x{i} = tensor.pad %{value} {low} {{\n"
                 "    ^bb0(%n: index, %a: index, %b: index, %c: index):\n"
                 f"      tensor.yield %zero : f32\n    }} : {before} to {padded}\n")
        body += filled(f"z{i}", shaped(pixels, f))
        body += (f"    %c{i} = {op} {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}\n"
                 f"        ins(%x{i}, %w{i} : {padded}, {tensor_type(w)}) outs(%z{i} : {t}) -> {t}\n"
                 f"    %d{i} = tensor.empty() : {t}\n"
                 f"    %y{i} = linalg.generic {{indexing_maps = [#id, #bias, #id], iterator_types = "
                 '["parallel", "parallel", "parallel", "parallel"]}\n'
                 f"        ins(%c{i}, %b{i} : {t}, {tensor_type(b)}) outs(%d{i} : {t}) {{\n"
                 "    ^bb0(%p: f32, %q: f32, %o: f32):\n"
                 "      %s = arith.addf %p, %q : f32\n"
                 "      %m = arith.maximumf %s, %zero : f32\n"
                 f"      linalg.yield %m : f32\n    }} -> {t}\n")
        value = f"y{i}"
    features = CONVOLUTIONS[-1][1]
    kinds = '["parallel", "reduction", "reduction", "parallel"]' if nhwc else \
        '["parallel", "parallel", "reduction", "reduction"]'
    body += constant("dense", dense) + f"    %scale = arith.constant {1.0 / pixels**2!r} : f32\n"
    body += filled("sums", (1, features))
    body += (f"    %mean = linalg.generic {{indexing_maps = [#id, #mean], iterator_types = {kinds}}}\n"
             f"        ins(%{value} : {t}) outs(%sums : {tensor_type((1, features))}) {{\n"
             "    ^bb0(%p: f32, %o: f32):\n"
             "      %q = arith.mulf %p, %scale : f32\n"
             "      %s = arith.addf %o, %q : f32\n"
             f"      linalg.yield %s : f32\n    }} -> {tensor_type((1, features))}\n")
    body += matmul_op("r", "mean", "dense", (1, features), (features, 10))
    text = header(f"A small convolution network with its weights, channels {'last' if nhwc else 'first'} "
                  f"({layout.upper()}).", f"examples/convnet_{layout}.mlir --budget=2m")
    text += maps + "module {\n" + function("main", [("x", shaped(IMAGE, 3))], (1, 10), body, "r") + "}\n"
    return text, {"main": ([shaped(IMAGE, 3)],
                           convnet_reference if nhwc else lambda x: convnet_reference(x.transpose(0, 2, 3, 1)))}


def softmax_rows():
    shape = (1536, 512)
    t = tensor_type(shape)
    body = (f"    %d = tensor.empty() : {t}\n"
            f"    %y = linalg.softmax dimension(1) ins(%x : {t}) outs(%d : {t}) -> {t}\n")
    text = header("The softmax of each of 1536 rows of 512.", "examples/softmax.mlir --budget=1m")
    return text + "module {\n" + function("main", [("x", shape)], shape, body, "y") + "}\n", {
        "main": ([shape], softmax)}


def two_entries():
    batch, wide, narrow = 128, 64, 16
    down, up, b = weights(60, wide, narrow), weights(61, narrow, wide), weights(62, narrow)
    encode = constant("w", down) + constant("b", b) + \
        matmul_op("p", "x", "w", (batch, wide), (wide, narrow)) + bias_and("y", "p", "b", (batch, narrow), True)
    decode = constant("w", up) + matmul_op("y", "x", "w", (batch, narrow), (narrow, wide))
    text = header("Two entry functions, the halves of an autoencoder; both are tuned.",
                  "examples/two_entries.mlir --budget=1m")
    text += EW + "module {\n" + function("encode", [("x", (batch, wide))], (batch, narrow), encode, "y")
    text += function("decode", [("x", (batch, narrow))], (batch, wide), decode, "y") + "}\n"
    return text, {"encode": ([(batch, wide)], lambda x: relu(x @ down + b)),
                  "decode": ([(batch, narrow)], lambda x: x @ up)}


EXAMPLES = {
    "matmul": matmul,
    "matmul_bias_relu": matmul_bias_relu,
    "mlp": mlp,
    "convnet_nhwc": lambda: convnet("nhwc"),
    "convnet_nchw": lambda: convnet("nchw"),
    "softmax": softmax_rows,
    "two_entries": two_entries,
}

# name -> {entry: (input shapes, numpy function)}
REFERENCES = {name: make()[1] for name, make in EXAMPLES.items()}

if __name__ == "__main__":
    for name, make in EXAMPLES.items():
        (FOLDER / f"{name}.mlir").write_text(make()[0])
