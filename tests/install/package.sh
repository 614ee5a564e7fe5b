#!/bin/bash
# A real package's source from PyPI with its own tests, and the linter that finds something in it: .work/package-VERSION
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need python3 tar
begin package "$INFLECTION-$RUFF"
# A virtual environment knows its own path, so it is made in its final place.
trap 'rm -rf "$NEW" "$DIR"' EXIT
python3 -m venv "$DIR/env"
retry "$DIR/env/bin/pip" install --quiet "ruff==$RUFF" "pytest==$PYTEST" setuptools wheel
retry "$DIR/env/bin/pip" download --quiet --no-binary :all: --no-deps --dest "$DIR" "inflection==$INFLECTION"
tar -C "$DIR" -xf "$DIR/inflection-$INFLECTION.tar.gz"
mv "$DIR/inflection-$INFLECTION" "$DIR/source"
"$DIR/env/bin/ruff" --version >/dev/null
touch "$DIR/.whole"
trap 'rm -rf "$NEW"' EXIT
