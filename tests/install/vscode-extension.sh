#!/bin/bash
# The VS Code extension of this repository, checked, bundled and packed: editors/vscode/fix-loop.vsix
. "$(dirname "$0")/lib.sh"
need node npm
cd "$ROOT/editors/vscode"
# The scripts of dependencies are not needed: the bundler ships its program in a package of its own.
retry npm ci --ignore-scripts --no-audit --no-fund --silent
npm run --silent check
npm run --silent package
