#!/bin/sh
# Looks for dangerous code (bandit) and for known vulnerabilities in the pinned dependencies
# (pip-audit), and fails when it finds either. `make audit` calls it; options go to pip-audit.
#
# Advisories come from the network. Where none can be had, nothing was audited: this says so in a
# box that nobody can overlook, and lets the build go on, unless MDBA_AUDIT_REQUIRED=1. It does not
# trust pip-audit to say so: behind a mirror without advisories that answers "No known
# vulnerabilities found", having skipped every package.
#
# PYTHON is the interpreter that has both tools (default: .venv/bin/python),
# REQUIREMENTS the list of pinned versions (default: constraints.txt).
set -u
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-.venv/bin/python}
requirements=${REQUIREMENTS:-constraints.txt}

for tool in bandit pip_audit; do
  if ! "$python" -c "import $tool" 2>/dev/null; then
    echo "audit: $python has no $tool: run 'make audit', or pip install '.[dev]'" >&2
    exit 2
  fi
done

"$python" -m bandit -c pyproject.toml --quiet --recursive mdba_checks flows || {
  echo "audit: bandit found something, or could not run" >&2
  exit 1
}
echo "audit: bandit found nothing"

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
"$python" -m pip_audit --requirement "$requirements" --no-deps --disable-pip --format json \
  --progress-spinner off --output "$work/report.json" "$@" >"$work/said" 2>&1
ended=$?

# 0: audited and clean; 1: vulnerabilities; 3: nothing was audited; 2: something else went wrong.
"$python" - "$work" "$ended" <<'PYTHON'
import json
import pathlib
import re
import sys

work, ended = pathlib.Path(sys.argv[1]), int(sys.argv[2])
said = (work / "said").read_text(errors="replace").strip().splitlines()
try:
    packages = json.loads((work / "report.json").read_text())["dependencies"]
except (OSError, ValueError, KeyError, TypeError):
    last = said[-1] if said else f"exit code {ended}"
    print(f"audit: {last[:300]}")
    unreachable = r"Connection|Timeout|timed out|Max retries|resolve|Proxy|SSL|HTTPError|ServiceError"
    sys.exit(3 if re.search(unreachable, last) else 2)
skipped = [each for each in packages if "skip_reason" in each]
audited = len(packages) - len(skipped)
found = [(each, one) for each in packages for one in each.get("vulns", [])]
for each, one in found:
    fixed = ", ".join(one.get("fix_versions") or []) or "no release yet"
    print(f"audit: {each['name']} {each['version']}: {one['id']} (fixed in: {fixed})")
print(f"audit: {audited} of {len(packages)} packages have advisories to look at: {len(found)} found")
if found:
    sys.exit(1)
for each in skipped[:3]:
    print(f"audit: {each['skip_reason'][:200]}")
sys.exit(0 if audited else 3)
PYTHON
case $? in
  0) exit 0 ;;
  1)
    echo "audit: VULNERABLE: raise these versions in $requirements (make constraints)" >&2
    exit 1
    ;;
  3)
    echo "##########################################################################" >&2
    echo "# NOT AUDITED: no advisories could be had from the network." >&2
    echo "# Nothing is known about vulnerabilities in $requirements." >&2
    echo "# Run scripts/audit.sh where the advisory service can be reached." >&2
    echo "##########################################################################" >&2
    [ "${MDBA_AUDIT_REQUIRED:-0}" = 1 ] && exit 1
    exit 0
    ;;
  *)
    echo "audit: pip-audit did not work" >&2
    exit 2
    ;;
esac
