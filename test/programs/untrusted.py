# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files from strangers: programs, specs, inputs and databases that were made to harm.
They may fail, in one clear line; they may not write elsewhere, leave half a result,
or have a word of theirs taken for a command.

untrusted.py --attune=PATH [--filter=RE] [--folder=DIR]
"""

import json
import pathlib
import random
import sys

from errors import Bench, SMALL, run_tests
from programs import Failed, check_clear_error, succeed

TESTS = {}

# Makes a file `evil` where any part of it comes to a shell or a path.
HOSTILE = "../../evil; touch evil `touch evil` $(touch evil) '\" | touch evil"


def test(function):
    TESTS[function.__name__] = function
    return function


def nothing_evil(bench):
    """Nothing was made outside, and nothing by a command in a name."""
    for folder in (bench.folder, bench.folder.parent, bench.folder.parent.parent, pathlib.Path("/tmp")):
        found = [path for path in folder.iterdir() if path.name.startswith("evil")]
        if found:
            raise Failed(f"made by a stranger's word: {found}")


def quoted(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def add(name):
    return f"""func.func @"{quoted(name)}"(%a: tensor<64xf32>) -> tensor<64xf32> {{
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.add ins(%a, %a : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}}
"""


def dispatched(name):
    """What Attune writes of a program of one dispatch, with a name of the stranger's."""
    return f"""module attributes {{attune.dispatch_version = 1 : i64}} {{
  func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> attributes {{attune.entry}} {{
    %e = tensor.empty() : tensor<64xf32>
    %0 = attune.dispatch @"{quoted(name)}" ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>)
    return %0 : tensor<64xf32>
  }}
  func.func private @"{quoted(name)}"(%a: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {{attune.dispatch = {{fingerprint = "0123456789abcdef", root = "elementwise", shapes = "64xf32"}}}} {{
    %0 = linalg.add ins(%a, %a : tensor<64xf32>, tensor<64xf32>) outs(%o : tensor<64xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }}
}}
"""


# --- names ----------------------------------------------------------------------

@test
def names_of_entries_are_data(bench):
    name = HOSTILE + "<script>alert(1)</script><img src=x onerror=alert(1)>"
    model = bench.write("model.mlir", add(name))
    succeed(bench.attune, "compile", model, "--threads=1", "-o", bench.folder / "model.so")
    succeed(bench.attune, "run", bench.folder / "model.so", f"--entry={name}", "--input=random")
    succeed(bench.attune, "tune", model, f"--entry={name}", "--budget=2", "-o", bench.folder / "out")
    page = (bench.folder / "out" / "report.html").read_text()
    if "<script>alert" in page or "<img src=x" in page:
        raise Failed("a name is markup in the report")
    nothing_evil(bench)


@test
def names_of_files_are_data(bench):
    folder = bench.folder / "a; touch evil $(touch evil)"
    folder.mkdir()
    model = folder / "-x '\"`touch evil`.mlir"
    model.write_text(add("main"))
    succeed(bench.attune, "compile", model, "--threads=1", "-o", folder / "@out $(touch evil).so")
    succeed(bench.attune, "run", folder / "@out $(touch evil).so", "--input=random")
    nothing_evil(bench)


@test
def names_of_dispatches_are_no_paths(bench):
    for number, name in enumerate(("../../evil", "/tmp/evil", "..", "a/../../evil", HOSTILE)):
        model = bench.write(f"model{number}.mlir", dispatched(name))
        for command in (("dispatches", model, "--dump-to=dump"), ("compile", model, "-o", "model.so"),
                        ("tune", model, "--budget=2", "-o", "out")):
            bench.fails("is no name for a dispatch", *command)
    nothing_evil(bench)
    # And an honest one is taken.
    succeed(bench.attune, "dispatches", bench.write("honest.mlir", dispatched("elementwise_1")),
            f"--dump-to={bench.folder / 'dump'}")


@test
def names_of_schedules_are_no_paths(bench):
    spec = bench.write("spec.mlir", f"""module attributes {{attune.spec_version = 1 : i64, attune.dispatch_version = 1 : i64}} {{
  attune.apply #attune.config<"../../../../tmp/evil", {{m = "{quoted(HOSTILE)}"}}> to "0123456789abcdef"
}}
""")
    model = bench.write("model.mlir", dispatched("elementwise_1"))
    done = bench.finish(bench.start("compile", model, f"--spec={spec}", "--threads=1", "-o", "model.so"))
    if done.returncode or "not applied" not in done.stderr:
        raise Failed(f"status {done.returncode}: {done.stderr[-300:]}")
    nothing_evil(bench)


# --- programs --------------------------------------------------------------------

def compiles_or_fails(bench, model):
    """Ends soon, in a library that loads or one clear line, and leaves nothing else."""
    done = bench.finish(bench.start("compile", model, "--threads=1", "-o", "out.so"))
    library = bench.folder / "out.so"
    if done.returncode:
        check_clear_error(done, "error: ")
        if library.exists():
            raise Failed(f"{model.name}: it failed, and left a library")
    else:
        # As a user would load it: no code of the program runs.
        if library.read_bytes()[:4] != b"\x7fELF":
            raise Failed(f"{model.name}: half a library")
        library.unlink()
    left = [name for name in bench.files() if not name.endswith(".mlir")]
    if left:
        raise Failed(f"{model.name}: files are left: {left}")


@test
def nesting_without_end(bench):
    deep = 20000
    for name, text in {
        "attributes": "module attributes {x = " + "[" * deep + "]" * deep + "} {}",
        "regions": "module {" * deep + "}" * deep,
        "affine": "#m = affine_map<(d0) -> (" + "(" * deep + "d0" + ")" * deep + ")>",
        "types": "func.func private @f(" + "tuple<" * deep + "i1" + ">" * deep + ")",
        "locations": "func.func @f() { return } loc(" + "callsite(" * deep + '"a":1:1' + ' at "b":1:1)' * deep + ")",
    }.items():
        model = bench.write(f"{name}.mlir", text)
        bench.fails(rf"{name}\.mlir: nested more than", "compile", model, "-o", "out.so")
        bench.fails(rf"{name}\.mlir: nested more than", "compile", SMALL, f"--spec={model}", "-o", "out.so")


@test
def sizes_without_end(bench):
    for number, type in enumerate(("tensor<9223372036854775807x9223372036854775807xf32>", "tensor<4xi16777215>",
                                   "tensor<" + "1x" * 5000 + "f32>", "tensor<4611686018427387904xf64>")):
        compiles_or_fails(bench, bench.write(
            f"{number}.mlir", f"func.func @f(%a: {type}) -> {type} {{\n  return %a : {type}\n}}\n"))
    compiles_or_fails(bench, bench.write("constant.mlir", """func.func @f() -> tensor<1000000000000xf32> {
  %a = arith.constant dense<1.0> : tensor<1000000000000xf32>
  return %a : tensor<1000000000000xf32>
}
"""))


@test
def attributes_of_ours_with_other_contents(bench):
    honest = dispatched("elementwise_1")
    for number, (old, new) in enumerate((
            ("= 1 : i64}", '= "x"}'), ('fingerprint = "0123456789abcdef", ', ""), ('"0123456789abcdef"', "[1, 2]"),
            ('root = "elementwise"', 'root = "contraction"'), ('shapes = "64xf32"', "shapes = 7"),
            ("attributes {attune.dispatch", "attributes {attune.config = 7, attune.dispatch"),
            ("attributes {attune.entry}", "attributes {attune.entry, attune.updates = array<i64: -1>}"),
            ("attributes {attune.entry}", ""))):
        if old not in honest:
            raise Failed(f"'{old}' is not in the program")
        compiles_or_fails(bench, bench.write(f"{number}.mlir", honest.replace(old, new)))


@test
def damaged_programs(bench):
    """Bytes of programs changed, lost and doubled: the same every time."""
    chance = random.Random(7)
    for number in range(8):
        text = bytearray((dispatched("elementwise_1") if number % 2 else SMALL.read_text()).encode())
        for _ in range(3):
            at = chance.randrange(len(text))
            match chance.randrange(4):
                case 0:
                    text[at] = chance.randrange(32, 127)
                case 1:
                    del text[at:at + chance.randrange(1, 40)]
                case 2:
                    text[at:at] = text[at - chance.randrange(1, 40):at]
                case 3:
                    text[at:at] = str(chance.choice((0, -1, 2**31, 2**63 - 1, 2**64))).encode()
        compiles_or_fails(bench, bench.write(f"damaged{number}.mlir", bytes(text)))


@test
def constants_and_loops_without_end(bench):
    """What would be computed while compiling: it ends, in a library or an error."""
    body = """^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32"""
    compiles_or_fails(bench, bench.write("sum.mlir", f"""func.func @f() -> tensor<f32> {{
  %a = arith.constant dense<1.0> : tensor<100000x100000xf32>
  %e = arith.constant dense<0.0> : tensor<f32>
  %0 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}} ins(%a : tensor<100000x100000xf32>) outs(%e : tensor<f32>) {{
    {body}
  }} -> tensor<f32>
  return %0 : tensor<f32>
}}
"""))
    compiles_or_fails(bench, bench.write("loop.mlir", """func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4611686018427387904 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
"""))
    compiles_or_fails(bench, bench.write("itself.mlir", """func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""))


@test
def long_programs(bench):
    """Thousands of ops in a chain: no stack is deep enough for a walk that calls itself once an op."""
    for name, line in {"scalars": "  %{0} = arith.addf %{1}, %{1} : f32",
                       "tensors": "  %{0} = tensor.cast %{1} : tensor<4xf32> to tensor<4xf32>"}.items():
        type = "f32" if name == "scalars" else "tensor<4xf32>"
        lines = [f"func.func @f(%0: {type}) -> {type} {{"]
        lines += [line.format(i, i - 1) for i in range(1, 10001)]
        compiles_or_fails(bench, bench.write(f"{name}.mlir", "\n".join(lines + [f"  return %10000 : {type}", "}\n"])))


# --- what is beside a program ------------------------------------------------------

@test
def inputs_that_lie_about_their_size(bench):
    model = bench.write("model.mlir", add("main"))
    for number, shape in enumerate(("(64,", "(9223372036854775807, 9223372036854775807,", "(-64,", "(4611686018427387904,")):
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}), }}".encode().ljust(118) + b"\n"
        data = bench.write(f"x{number}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"1234")
        bench.fails(rf"x{number}\.npy", "run", model, f"--input=@{data}")


@test
def files_of_inputs_are_beside_the_program(bench):
    """A dumped dispatch names files with values for its inputs; none of them is elsewhere."""
    honest = dispatched("elementwise_1")
    (bench.folder / "secret.npy").write_bytes(b"secret")
    inner = bench.folder / "inner"
    inner.mkdir()
    for number, name in enumerate(("../secret.npy", str(bench.folder / "secret.npy"), "a/../../secret.npy")):
        model = inner / f"model{number}.mlir"
        model.write_text(honest.replace("@main(%a: tensor<64xf32>",
                                        f'@main(%a: tensor<64xf32> {{attune.input = "{quoted(name)}"}}'))
        for command in (("compile", model, "-o", "model.so"), ("tune", model, "--budget=2", "-o", "out")):
            bench.fails("is not beside the program", *command)


@test
def a_session_of_a_stranger_runs_and_writes_nothing_else(bench):
    """session.json of a folder of results: --resume tunes with it, and that is all."""
    model, out = bench.write("model.mlir", add("main")), bench.folder / "out"
    out.mkdir()
    victim = bench.write("victim", "mine\n")
    commands = bench.write("commands.json", json.dumps(
        {"version": 1, "name": "evil", "knobs": [{"name": "a", "values": [1, 2]}], "run": ["touch", "evil"]}))
    flags = bench.write("flags.json", json.dumps({"version": 1, "commands": []}))

    def resume(*arguments):
        (out / "session.json").write_text(json.dumps(
            {"version": 1, "folder": str(bench.folder), "arguments": list(map(str, arguments))}))
        return "tune", "--resume", out

    for arguments in ((model, "--search=exec:touch evil"), (model, "--search", "exec:touch evil"), (commands,),
                      (model, f"--events={victim}"), (model, f"--save-flags={victim}"),
                      (model, "--backend=iree", "--iree-flag=--iree-plugin=evil")):
        bench.fails("may be a stranger's; to go on, give the command itself", *resume(*arguments))
    bench.fails(".", *resume(model, "-o", bench.folder / "evil"))
    bench.fails(".", *resume(f"--flags={flags}"))
    bench.fails(".", *resume("--help"))
    if victim.read_text() != "mine\n":
        raise Failed("a file elsewhere was written")
    nothing_evil(bench)
    # And an honest one goes on.
    done = bench.finish(bench.start(*resume(model, "--budget=2")))
    if done.returncode or not (out / "spec.mlir").exists():
        raise Failed(f"status {done.returncode}: {done.stderr[-300:]}")


@test
def nothing_in_a_result_folder_is_run(bench):
    """Programs and libraries that a stranger left among results are files, no more."""
    model, out = bench.write("model.mlir", add("main")), bench.folder / "out; touch evil $(touch evil)"
    out.mkdir()
    for name in ("attune", "attune-runner", "ld.lld", "libomp.so", "libattune_rt.a", "a.so", "baseline.so",
                 "libLLVM.so.22.1", "sitecustomize.py", "dispatches"):
        (out / name).write_text("#!/bin/sh\ntouch evil\ntouch /tmp/evil\n")
        (out / name).chmod(0o755)
    (out / "dispatches").unlink()
    process = bench.start("tune", model, "--budget=2", "-o", ".", cwd=out)
    done = bench.finish(process)
    if done.returncode:
        raise Failed(f"status {done.returncode}: {done.stderr[-300:]}")
    if list(out.glob("evil*")):
        raise Failed("something in the result folder was run")
    nothing_evil(bench)


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, __doc__))
