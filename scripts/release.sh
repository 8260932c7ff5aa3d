#!/bin/sh
# Builds what is published, in dist/: the source and the wheel, checked; a list of what it was tested
# with (SBOM, CycloneDX); and SHA256SUMS of all of them. `make release` calls it. It publishes nothing.
#
# PYTHON is the interpreter that builds (default: python3). It refuses a checkout with changes that
# are not committed, and versions that differ between the package, CITATION.cff and CHANGELOG.md.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tools=.venv-release
wanted="build==1.6.1 twine==7.0.0 cyclonedx-bom==7.5.0"

say() { echo "release: $*"; }
stop() { echo "release: $*" >&2; exit 1; }

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' mdba_checks/__init__.py)
[ -n "$version" ] || stop "mdba_checks/__init__.py has no version"
grep -qx "version: $version" CITATION.cff || stop "CITATION.cff is not of version $version"
grep -q "^## \[$version\]" CHANGELOG.md || stop "CHANGELOG.md has no section [$version]"
[ -z "$(git status --porcelain)" ] || stop "commit or remove your changes first: git status"

if [ "$(cat $tools/.installed 2>/dev/null)" != "$wanted" ]; then
  say "installing $wanted into $tools"
  "$python" -m venv --clear $tools
  # One requirement each.
  PIP_DISABLE_PIP_VERSION_CHECK=1 $tools/bin/python -m pip install --quiet $wanted
  echo "$wanted" >$tools/.installed
fi

rm -rf build dist
# The date of the commit: the same commit gives the same wheel, byte for byte.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
$tools/bin/python -m build --outdir dist . >/dev/null
$tools/bin/python -m twine check --strict dist/*
$tools/bin/cyclonedx-py requirements constraints.txt --pyproject pyproject.toml \
  --mc-type library --output-reproducible --output-file dist/mdba_checks-$version.cdx.json
(cd dist && sha256sum ./* >SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
say "dist/ holds version $version:"
ls -l dist | awk 'NR > 1 { print "  " $5 "\t" $9 }'
say "next: make wheel's check on every Python (sh scripts/try-wheel.sh dist/*.whl), then git tag v$version"
