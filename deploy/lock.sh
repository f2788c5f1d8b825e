#!/bin/sh
# Prints requirements.lock and requirements-build.lock from pyproject.toml: `make lock`. $1: a Python with uv.
set -eu
cd "$(dirname "$0")/.."
python=$1

compile() {
    # universal: one lock for every interpreter and processor that pyproject.toml allows
    "$python" -m uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
        --no-emit-index-url "$1"
}

{
    echo '# What the image installs, for amd64 and arm64, with hashes. Printed from pyproject.toml by `make lock`.'
    compile pyproject.toml
} >requirements.lock
{
    echo '# What builds the wheel in the image, with hashes. Printed from build-system.requires by `make lock`.'
    "$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' |
        compile -
} >requirements-build.lock
