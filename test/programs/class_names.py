# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two headers may not define classes of one name: the linker would take the
functions of one for those of the other, without a word."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINITION = re.compile(r"^(?:class|struct) (?:\w+\([^)]*\) )?(\w+)(?: final)?\s*(?::(?!:)|{)", re.M)


def main():
    places = collections.defaultdict(set)
    for folder in ("include", "lib"):
        for header in (ROOT / folder).rglob("*.h"):
            for name in DEFINITION.findall(header.read_text()):
                places[name].add(str(header.relative_to(ROOT)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    for name, files in sorted(twice.items()):
        print(f"class {name} is defined in {' and in '.join(sorted(files))}")
    print(f"{len(places)} classes, {len(twice)} names used twice")
    return 1 if twice or len(places) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
