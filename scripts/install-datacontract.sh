#!/bin/sh
# Installs datacontract-cli for the tests of data contracts, in an environment of its own,
# .venv-datacontract: it pins versions that others here do not share. Where it cannot be installed,
# those tests are skipped, and this says so; it never fails the run that called it.
#
# PYTHON is the interpreter that makes the environment (default: python3).
set -u
cd "$(dirname "$0")/.." || exit 2
home=.venv-datacontract
wanted="datacontract-cli[duckdb]==1.2.8"

[ "$(cat $home/.installed 2>/dev/null)" != "$wanted" ] || { echo "datacontract: $home"; exit 0; }

echo "datacontract: installing $wanted into $home"
if "${PYTHON:-python3}" -m venv --clear $home \
  && $home/bin/python -m pip install --quiet --no-compile --disable-pip-version-check \
    "$wanted"; then
  echo "$wanted" >$home/.installed
  exit 0
fi
echo "##########################################################################" >&2
echo "# NO DATACONTRACT: $wanted could not be installed." >&2
echo "# Its tests in tests/gx will be SKIPPED. Install it by hand, and set" >&2
echo "# MDBA_DATACONTRACT to the path of its command." >&2
echo "##########################################################################" >&2
exit 0
