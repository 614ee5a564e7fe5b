#!/bin/bash
# pytest in a virtual environment: .work/pytest-VERSION/bin/pytest
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need python3
begin pytest "$PYTEST"
# A virtual environment knows its own path, so it is made in its final place.
trap 'rm -rf "$NEW" "$DIR"' EXIT
python3 -m venv "$DIR"
retry "$DIR/bin/pip" install --quiet "pytest==$PYTEST"
"$DIR/bin/pytest" --version >/dev/null
touch "$DIR/.whole"
trap 'rm -rf "$NEW"' EXIT
