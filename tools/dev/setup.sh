#!/usr/bin/env bash
# Installs what Attune needs on Debian 12 and leaves alone what is there: a few
# milliseconds when there is nothing to do. `setup.sh bench` adds the peers that
# ./dev bench compares with, `setup.sh long` what only the long tests need,
# `setup.sh iree` the compiler of --backend=iree, `setup.sh models` PyTorch, torch-mlir,
# ONNX and JAX in .venv-models (7 GB), to import and make models.
# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv="$root/.venv"
requirements=(requirements.txt)

packages=(
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools libomp-22-dev
  libclang-rt-22-dev clang-tidy-22 clang-format-22 cmake ninja-build ccache
  protobuf-compiler libprotobuf-dev
  libsqlite3-dev libcli11-dev libgtest-dev libgmock-dev zlib1g-dev
  python3 python3-venv libpython3-dev git ca-certificates
)
case "${1:-}" in
  "") ;;
  bench) requirements+=(requirements-bench.txt requirements-search.txt) ;;
  iree) requirements+=(requirements-iree.txt) ;;
  models) ;; # in a folder of their own, see the end
  long) packages+=(golang-go linux-perf) ;; # other profilers, for the long tests
  *) echo "error: setup takes bench, iree, models, long or nothing, not $1" >&2; exit 2 ;;
esac

die() {
  echo "error: $*" >&2
  exit 1
}

missing_packages() {
  command -v dpkg-query >/dev/null ||
    die "this machine has no dpkg: install what these Debian packages hold yourself: ${packages[*]}"
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
      sed -n 's/^installed //p' | sort)
}

# Package names come from the list above only.
install_packages() {
  local as_root=()
  command -v apt-get >/dev/null || die "apt-get is missing; install these packages: $*"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "become root once to install these packages: apt-get install $*"
    as_root=(sudo)
  fi
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  echo "installing: $*" >&2
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  # The package lists may be fresh enough; a stale or empty one is renewed.
  if ! "${apt[@]}" install -y --no-install-recommends "$@" >"$log" 2>&1 </dev/null; then
    if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
      grep -E '^(E|W):' "$log" >&2 || tail -5 "$log" >&2
      die "apt-get could not install the packages: is the network there, and is this Debian 12 with its security updates?"
    fi
  fi
  rm -f "$log"
}

# Packages from PyPI live in .venv, with a stamp for each list that was installed.
install_python() {
  local list stamp alone
  [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv" >&2 ||
    die "python3 -m venv failed (see above)"
  for list in "${requirements[@]}"; do
    stamp="$venv/$list.installed"
    if cmp -s "$root/tools/dev/$list" "$stamp"; then continue; fi
    echo "installing the Python packages of tools/dev/$list in ${venv##*/}" >&2
    # What is named so would bring packages that nothing here needs.
    alone=()
    [[ $list != *-alone.txt ]] || alone=(--no-deps)
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --use-pep517 \
      "${alone[@]}" -r "$root/tools/dev/$list" >&2 </dev/null ||
      die "pip could not install the packages of tools/dev/$list: is the network there?"
    cp "$root/tools/dev/$list" "$stamp"
  done
}

# Two runs at the same time would stand in each other's way.
exec 9<"$root"
flock 9

missing=$(missing_packages)
if [ -n "$missing" ]; then
  # shellcheck disable=SC2086
  install_packages $missing
fi
install_python
if [ "${1:-}" = models ]; then
  venv="$root/.venv-models"
  requirements=(requirements-models.txt requirements-models-alone.txt)
  install_python
fi
