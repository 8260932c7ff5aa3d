#!/bin/sh
# Runs the tests of adapters against the real tools, each in an environment of its own, such as
# .venv-mlflow: `sh scripts/test-adapters.sh [mlflow] [dagster] [airflow]`.
#
# The tools share few versions with each other. A second call finds the environment done. It fails
# when one of the tools cannot be installed, or when a test fails.
#
# PYTHON is the interpreter that makes the environments (default: python3).
set -u
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- mlflow dagster airflow

failed=""
for name in "$@"; do
  wanted=".[$name,test]"
  case $name in
    mlflow | dagster) more="" ;;
    airflow)
      # Of the releases of Airflow, the provider of Great Expectations resolves with this one.
      wanted=".[airflow,gx,test]"
      more="apache-airflow==3.3.0 airflow-provider-great-expectations==1.0.0"
      ;;
    *) echo "adapters: $name is not one of mlflow, dagster, airflow" >&2; exit 2 ;;
  esac
  home=.venv-$name
  if [ ! -f "$home/.installed" ] || [ pyproject.toml -nt "$home/.installed" ]; then
    echo "adapters: installing $name into $home; this takes a minute or two"
    # $more is two requirements or none.
    if ! { "${PYTHON:-python3}" -m venv --clear "$home" \
      && PIP_DISABLE_PIP_VERSION_CHECK=1 "$home/bin/python" -m pip install --quiet -e "$wanted" $more; }; then
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
