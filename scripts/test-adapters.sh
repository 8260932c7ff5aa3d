#!/bin/sh
# Runs the tests of adapters against the real tools, each in an environment of its own, such as
# .venv-mlflow: `sh scripts/test-adapters.sh [mlflow] [dagster] [airflow]`.
#
# The tools share few versions with each other. Each environment sees the packages of .venv (`make
# test-adapters` makes it) and holds what a tool wants beside them, or in another version: 20 seconds
# of work instead of minutes. A second call finds the environment done. It fails when one of the
# tools cannot be installed, or when a test fails.
#
# PYTHON is the interpreter that made .venv (default: python3).
set -u
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- mlflow dagster airflow
shared=$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])') || exit 2

install() { # FOLDER REQUIREMENT…
  home=$1
  shift
  "${PYTHON:-python3}" -m venv --clear "$home" || return 1
  own=$("$home/bin/python" -c 'import site; print(site.getsitepackages()[0])') || return 1
  # What is installed here comes first on the path, then what .venv holds.
  echo "import site; site.addsitedir('$shared')" >"$own/shared.pth"
  # pip names packages of .venv that the tool's versions do not suit: they are not used here.
  "$home/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$@"
}

failed=""
for name in "$@"; do
  case $name in
    mlflow | dagster) wanted=".[$name,test]" more="" ;;
    airflow)
      # Of the releases of Airflow, the provider of Great Expectations resolves with this one.
      wanted=".[airflow,gx,test]"
      more="apache-airflow==3.3.0 airflow-provider-great-expectations==1.0.0"
      ;;
    *) echo "adapters: $name is not one of mlflow, dagster, airflow" >&2; exit 2 ;;
  esac
  home=.venv-$name
  if [ ! -f "$home/.installed" ] || [ .venv/.all -nt "$home/.installed" ]; then
    echo "adapters: installing $name into $home"
    # $more is two requirements or none.
    if ! install "$home" -e "$wanted" $more; then
      echo "adapters: $name could NOT BE INSTALLED; its tests did not run" >&2
      failed="$failed $name"
      continue
    fi
    touch "$home/.installed"
  fi
  # Warnings are those of the tool: it chooses its versions, we do not.
  "$home/bin/python" -m pytest -q -o filterwarnings=default --disable-warnings \
    "tests/integrations/test_$name.py" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "adapters: FAILED:$failed" >&2; exit 1; }
