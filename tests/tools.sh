#!/bin/sh
# Installs the Debian packages that the tests compare us with, where we may; else says which are missing.
# tools.sh [LIST...]: lists of packages beside apt-packages.
# Tests that want a missing one are skipped on a user's machine and fail under CI.
set -eu

[ $# -gt 0 ] || set -- "$(dirname "$0")/apt-packages"
packages=$(sed 's/#.*//' "$@")
missing=
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "missing test tools (tests that want them are skipped): apt-get install$missing" >&2
fi
