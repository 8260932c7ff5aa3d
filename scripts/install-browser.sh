#!/bin/sh
# Installs Debian's Chromium for the tests of the report in a browser, which drive it themselves:
# nothing is downloaded when they run. Where it cannot be installed, those tests are skipped, and
# this says so; it never fails the run that called it.
set -u

for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null 2>&1; then
    echo "browser: $(command -v "$name")"
    exit 0
  fi
done

give_up() {
  echo "##########################################################################" >&2
  echo "# NO BROWSER: $1" >&2
  echo "# The tests in tests/browser will be SKIPPED. Install Chromium by hand, or" >&2
  echo "# set MDBA_CHROMIUM to the path of a Chromium or Chrome." >&2
  echo "##########################################################################" >&2
  exit 0
}

command -v apt-get >/dev/null 2>&1 || give_up "this system has no apt-get."
if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root="sudo"
else
  give_up "installing needs root, or sudo without a password."
fi

echo "browser: installing chromium"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq || give_up "apt-get update failed."
$as_root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null \
  || give_up "apt-get install chromium failed."
echo "browser: $(command -v chromium)"
