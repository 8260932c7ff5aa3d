#!/bin/sh
# Installs a wheel alone, in a fresh environment of each Python that is found, and tries it there:
# `sh scripts/try-wheel.sh dist/mdba_checks-….whl [PYTHON…]`.
#
# PYTHON is the path of an interpreter. Where none is named, the newest 3.11, 3.12 and 3.13 are
# tried that pyenv has, or else the path; none at all is an error. It fails when one of them fails.
set -u
[ $# -gt 0 ] && [ -f "$1" ] || { echo "usage: sh scripts/try-wheel.sh WHEEL [PYTHON…]" >&2; exit 2; }
wheel=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift

if [ $# = 0 ]; then
  for version in 3.11 3.12 3.13; do
    found=$(ls -d "$(pyenv root 2>/dev/null)"/versions/$version.*/bin/python 2>/dev/null | sort -V | tail -n 1)
    [ -n "$found" ] || found=$(command -v python$version)
    if [ -n "$found" ] && "$found" -c "import venv" 2>/dev/null; then
      set -- "$@" "$found"
    else
      echo "wheel: no Python $version on this machine: NOT TRIED with it" >&2
    fi
  done
fi
[ $# -gt 0 ] || { echo "wheel: no Python 3.11, 3.12 or 3.13 was found" >&2; exit 1; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
unset PYTHONPATH # or the checkout would take the place of what is installed
failed=0
for python in "$@"; do
  name=$("$python" -c 'import sys; print("Python %d.%d.%d" % sys.version_info[:3])')
  rm -rf "$work/venv" "$work/here"
  mkdir "$work/here"
  (
    set -e
    cd "$work/here"
    "$python" -m venv "$work/venv"
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$work/venv/bin/python" -m pip install --quiet "$wheel"
    "$work/venv/bin/python" -m pip check
    "$work/venv/bin/mdba" demo --folder demo
    # The demo ends with 0 by design; the same check has to stop.
    ended=0
    "$work/venv/bin/mdba" check demo/labels.csv --gold demo/gold.csv --config demo/mdba.yaml \
      --quiet || ended=$?
    [ $ended = 1 ] || { echo "mdba check ended with $ended instead of 1"; exit 1; }
    "$work/venv/bin/mdba" check demo/labels.csv --gold demo/gold.csv --config demo/mdba.yaml \
      --quiet --mode quarantine --output kept.parquet
    "$work/venv/bin/mdba" verify kept.parquet
  ) >"$work/said" 2>&1
  if [ $? = 0 ] && grep -q "Verdict: BLOCK" "$work/said"; then
    echo "wheel: $name: installed alone, mdba demo, check and verify work"
  else
    tail -n 30 "$work/said" >&2
    echo "wheel: $name: FAILED" >&2
    failed=1
  fi
done
exit $failed
