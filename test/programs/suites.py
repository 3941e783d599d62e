# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that are run, with inputs and what must come out."""

import collections.abc
import dataclasses
import functools
import hashlib
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys

import ml_dtypes
import numpy as np

from compare import to_file
from signature import DTYPES, random_inputs, read_entries

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "test" / "data"
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))


@dataclasses.dataclass
class Program:
    name: str
    model: pathlib.Path
    entry: str
    inputs: list
    # Makes the results that are expected. None: the program must end in one clear
    # line that has `message` (a regular expression) in it.
    expected: collections.abc.Callable | None
    tolerance: float = 1e-4
    message: str = ""
    # Upstream's naive lowering gives the same.
    is_naive: bool = True


# --- cases/: NAME.mlir and NAME.json -----------------------------------------

def numbers(value):
    return [numbers(v) for v in value] if isinstance(value, list) else \
        float(value) if isinstance(value, str) else value


def make_input(given):
    dtype = DTYPES[given["dtype"]]
    if "values" in given:
        array = np.array(numbers(given["values"])).astype(dtype)
        return array.reshape(given["shape"]) if "shape" in given else array
    shape, fill, rng = given["shape"], given["fill"], np.random.default_rng(given["seed"])
    if fill == "normal":
        array = rng.standard_normal(shape)
    elif fill == "zeros":
        array = np.zeros(shape)
    elif fill == "ones":
        array = np.ones(shape)
    elif fill == "iota":
        array = np.arange(int(np.prod(shape))).reshape(shape)
    elif fill == "bool":
        array = rng.integers(0, 2, shape)
    elif "ints" in fill:
        array = rng.integers(fill["ints"][0], fill["ints"][1] + 1, shape)
    elif "uniform" in fill:
        array = rng.uniform(fill["uniform"][0], fill["uniform"][1], shape)
    elif "const" in fill:
        array = np.full(shape, numbers(fill["const"]))
    array = np.asarray(array).astype(dtype)
    for index, value in given.get("set", []):
        array[tuple(slice(None) if k == ":" else k for k in index)] = numbers(value)
    return array


def evaluate(source, inputs):
    """The results of `ref`, the function that `source` defines."""
    scope = {"np": np, "math": math, "ml_dtypes": ml_dtypes, "bf16": ml_dtypes.bfloat16}
    exec(source, scope)
    with np.errstate(all="ignore"):
        results = scope["ref"](*[x.copy() for x in inputs])
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


def cases(_):
    for file in sorted((DATA / "cases").glob("*.json")):
        case = json.loads(file.read_text())
        inputs = [make_input(i) for i in case["inputs"]]
        model = file.with_suffix(".mlir")
        if case["expect"] == "clear error":
            # The program's own checks must reach the user.
            words = re.findall(r'cf\.assert %\w+, "([^"]*)"', model.read_text())
            yield Program(file.stem, model, "main", inputs, None, message="|".join(map(re.escape, words)))
            continue
        yield Program(file.stem, model, "main", inputs,
                      functools.partial(evaluate, case["reference"], inputs), case["tolerance"],
                      is_naive=case["verified"])


# --- programs whose reference is upstream's naive lowering --------------------

def naive(model, entry, inputs, folder):
    """naive.py in a process of its own, and once for the same program and inputs."""
    key = hashlib.sha256(model.read_bytes() + entry.name.encode() + b"".join(x.tobytes() for x in inputs) +
                         (ROOT / "test/programs/naive.py").read_bytes()).hexdigest()[:16]
    folder = folder / "naive" / f"{model.stem}-{key}"
    done = folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for i, x in enumerate(inputs):
            np.save(folder / f"x{i}.npy", to_file(x))
        run = subprocess.run([sys.executable, ROOT / "test/programs/naive.py", model, entry.name, folder],
                             capture_output=True, text=True)
        if run.returncode:
            why = (run.stderr.strip().splitlines() or [f"naive.py died: {run.returncode}"])[-1]
            raise RuntimeError(f"{model.name}: no reference: {why}")
        done.touch()
    return [as_pairs(np.load(folder / f"r{i}.npy")) for i in range(len(entry.outputs))]


def as_pairs(array):
    """Complex numbers travel as pairs of real ones, in a last dimension of 2."""
    return array.view(np.float32).reshape(*array.shape, 2) if array.dtype == np.complex64 else array


def tricky(folder):
    yield from ops(folder, "tricky")


def ops(folder, name="ops"):
    for model in sorted((DATA / name).glob("*.mlir")):
        text = model.read_text()
        entry = read_entries(text)[0]
        inputs = random_inputs(entry, below=3)
        foreign = re.search(r"tm_tensor\.\w+", text)
        if foreign:
            line = text[:foreign.start()].count("\n") + 1
            yield Program(model.stem, model, entry.name, inputs, None,
                          message=rf"{model.name}:{line}\b.*{re.escape(foreign[0])}")
        else:
            half = any(t.element in ("f16", "bf16") for t in entry.outputs)
            yield Program(model.stem, model, entry.name, inputs,
                          functools.partial(naive, model, entry, inputs, folder), 1e-2 if half else 1e-4)


def given_result(model, entry, inputs, folder):
    """The reference that came with a network is its first result."""
    return [np.load(model.parent / f"{model.stem}.y0.npy"), *naive(model, entry, inputs, folder)[1:]]


def examples(folder):
    import generate
    for model in sorted(EXAMPLES.glob("*.mlir")):
        if (model.parent / f"{model.stem}.x0.npy").exists():
            entry = read_entries(model.read_text())[0]
            inputs = [np.load(model.parent / f"{model.stem}.x{i}.npy") for i in range(len(entry.inputs))]
            yield Program(model.stem, model, entry.name, inputs,
                          functools.partial(given_result, model, entry, inputs, folder))
        elif "dense_resource" in model.read_text():
            yield from with_weights(model, folder, dynamic=(1, 8))
        else:
            for name, (shapes, function) in generate.REFERENCES[model.stem].items():
                inputs = [generate.weights(70 + i, *s) for i, s in enumerate(shapes)]
                yield Program(f"{model.stem}.{name}", model, name, inputs,
                              lambda function=function, inputs=inputs: [function(*inputs)])


# --- models whose weights were left out: they are given some ------------------

def name_weights(text):
    """Printers call every left-out constant `__elided__`: numbers tell them apart."""
    number = itertools.count()
    return re.sub("dense_resource<__elided__>", lambda _: f"dense_resource<elided_{next(number)}>", text)


def make_weights(text):
    """{resource: array}: Gaussian by the fan-in, vectors positive (some are
    variances), integers zero (they are indices)."""
    rng, made = np.random.default_rng(5), {}
    for name, shape, element in re.findall(r"dense_resource<([^>]+)> : tensor<((?:\d+x)*)(\w+)>", text):
        sizes = [int(d) for d in shape.split("x")[:-1]]
        if name in made:
            continue
        if element[0] != "f":
            value = np.zeros(sizes)
        elif len(sizes) < 2:
            value = rng.uniform(0.5, 1.5, sizes)
        else:
            value = rng.standard_normal(sizes) / np.sqrt(np.prod(sizes[1:]))
        made[name] = np.asarray(value).astype(DTYPES[element])
    return made


def fill_weights(text, weights):
    """The same program with its weights in it: what Attune is given."""
    blobs = [f'      {name}: "0x{value.itemsize:02X}000000{value.tobytes().hex().upper()}"'
             for name, value in weights.items()]
    return (text.split("{-#")[0] + "{-#\n  dialect_resources: {\n    builtin: {\n" + ",\n".join(blobs) +
            "\n    }\n  }\n#-}\n")


def lift_weights(text):
    """The same program with weights as arguments, and the names of these in
    order: what the naive lowering is given, which would take minutes to write
    and read big constants."""
    constant = re.compile(r'^ *(%\w+) = (?:arith\.constant |"tosa\.const"\(\) <\{values = )'
                          r"dense_resource<([^>]+)> : (tensor<[^>]*>).*\n", re.M)
    found = constant.findall(text)
    arguments = "".join(f", {value}: {kind}" for value, _, kind in found)
    body = constant.sub("", text.split("{-#")[0])
    body = re.sub(r"(func\.func @main\([^)]*)\)", lambda m: m[1] + arguments + ")", body, count=1)
    return body, [name for _, name, _ in found]


def write_once(path, text):
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".tmp").write_text(text)
        path.with_suffix(".tmp").rename(path)
    return path


def naive_with_weights(name, text, weights, inputs, folder):
    body, names = lift_weights(text)
    lifted = write_once(folder / "lifted" / f"{name}.mlir", body)
    return naive(lifted, read_entries(body)[0], inputs + [weights[n] for n in names], folder)


def with_weights(model, folder, dynamic=(4,)):
    text = name_weights(model.read_text())
    entry, weights = read_entries(text)[0], make_weights(text)
    filled = write_once(folder / "filled" / model.name.replace(".elided", ""), fill_weights(text, weights))
    for size in dynamic:
        inputs = random_inputs(entry, dynamic=size)
        name = filled.stem + (f".{size}" if any(-1 in t.shape for t in entry.inputs) else "")
        yield Program(name, filled, entry.name, inputs,
                      functools.partial(naive_with_weights, filled.stem, text, weights, inputs, folder), 1e-3)


def models(folder):
    for model in sorted((DATA / "models").glob("*.mlir")):
        yield from with_weights(model, folder)


SUITES = {"cases": cases, "ops": ops, "tricky": tricky, "examples": examples, "models": models}
