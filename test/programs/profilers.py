# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other profilers see what `attune profile` sees: `go tool pprof` reads the same
shares from the file, and perf, which samples, finds about the same in a run.

profilers.py --attune=PATH --folder=DIR [MODEL]
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys

from suites import ROOT

HOST = """
#include "attune/Runtime/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static float data[1 << 24];
int main(int argc, char **argv) {
  AttuneProgram *program;
  if (attune_create(ATTUNE_ABI_VERSION, &program)) return 1;
  for (int i = 0; i < 1 << 24; ++i) data[i] = (float)(i % 13) / 13;
  AttuneTensor in = {data, ATTUNE_F32, argc - 3}, out = {0};
  for (int i = 0; i < in.rank; ++i) in.sizes[i] = atoi(argv[i + 3]);
  for (long stride = 1, i = in.rank; i-- > 0; stride *= in.sizes[i]) in.strides[i] = stride;
  for (time_t end = time(0) + atoi(argv[1]); time(0) < end; attune_release(program, &out)) {
    out.data = 0;
    if (attune_run(program, argv[2], &in, 1, &out, 1)) { puts(attune_error(program)); return 1; }
  }
  return 0;
}
"""


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def text_shares(attune, profile):
    shares = {}
    for line in run(attune, "profile", profile).splitlines()[1:]:
        if not re.match(r" *[\d.]+% ", line):
            continue  # What is said about all of them.
        share, _, _, _, _, _, name, *_ = line.split()
        shares[name] = float(share.rstrip("%"))
    return shares


def pprof_shares(profile):
    shares = {}
    for line in run("go", "tool", "pprof", "-top", "-nodefraction=0", "-nodecount=1000", profile).splitlines():
        found = re.match(r"\s*[\d.]+\w* +([\d.]+)% +[\d.]+% +[\d.]+\w* +[\d.]+% +(\S+)", line)
        if found:
            shares[found[2]] = float(found[1])
    return shares


def perf_shares(folder, library, entry, shape, seconds):
    """Shares of the dispatches among the samples of the library."""
    source, host, data = folder / "host.c", folder / "host", folder / "perf.data"
    source.write_text(HOST)
    run("clang-22", "-O2", f"-I{ROOT / 'include'}", source, library, "-o", host)
    run("perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", data, host, seconds, entry, *shape)
    samples = collections.Counter()
    for line in run("perf", "script", "-i", data, "-F", "ip,sym,dso").splitlines():
        words = line.split()
        if library.name in line and len(words) > 1:
            samples[words[1]] += 1
    total = sum(samples.values())
    return {name: 100 * count / total for name, count in samples.items()}, total


def entry_of(model):
    """Name and sizes of the one f32 input of a program."""
    name, sizes = re.search(r'func\.func @"?([^("]+)"?\(%\w+: tensor<([\dx]+)xf32>', pathlib.Path(model).read_text()).groups()
    return name, sizes.split("x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("model", nargs="?", default=ROOT / "examples" / "text_direction.mlir")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    profile = options.folder / "profile.pb.gz"
    run(options.attune, "profile", options.model, "--threads=1", "--seconds=3", "-o", profile)
    ours = text_shares(options.attune, profile)
    wrong = []
    if shutil.which("go"):
        theirs = pprof_shares(profile)
        for name, share in ours.items():
            if abs(theirs.get(name, 0) - share) > 0.011:
                wrong.append(f"pprof has {theirs.get(name)} % of {name}, attune {share} %")
        print(f"pprof: {len(theirs)} rows of {len(ours)} agree" if not wrong else "\n".join(wrong))
    else:
        print("go is not installed: not compared with pprof")
    if shutil.which("perf"):
        library = options.folder / "model.so"
        run(options.attune, "compile", options.model, "--threads=1", "-o", library)
        sampled, count = perf_shares(options.folder, library, *entry_of(options.model), options.seconds)
        # The entry's own time is what is in no dispatch, whatever its symbols are.
        entry = entry_of(options.model)[0]
        sampled[entry] = 100 - sum(sampled.get(name, 0) for name in ours if name != entry)
        print(f"perf: {count} samples")
        for name, share in ours.items():
            if abs(sampled.get(name, 0) - share) > 5:
                wrong.append(f"perf has {sampled.get(name, 0):.1f} % of {name}, attune {share} %")
    print("\n".join(wrong) or "all agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
