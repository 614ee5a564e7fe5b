#!/bin/bash
# Codex's native program: .work/codex-VERSION/codex
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin codex "$CODEX"
echo '{"private":true}' > "$NEW/package.json"
(cd "$NEW" && npm_install --ignore-scripts "@openai/codex-linux-x64@npm:@openai/codex@$CODEX-linux-x64")
ln -s node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex "$NEW/codex"
chmod +x "$NEW/codex"
finish
