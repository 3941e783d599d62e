# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers that are Python packages, each installed only where it can be."""

import importlib.util
import subprocess
import sys


def install(module, package):
    """Whether the module can be imported, after pip tried if need be (wheels only)."""
    if importlib.util.find_spec(module):
        return True
    print(f"installing {package} in .venv", file=sys.stderr, flush=True)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                           "--only-binary=:all:", package], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        print(f"{package} could not be installed: {reason}", file=sys.stderr)
        return False
    importlib.invalidate_caches()
    return importlib.util.find_spec(module) is not None
