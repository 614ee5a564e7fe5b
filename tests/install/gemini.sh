#!/bin/bash
# Gemini CLI: .work/gemini-VERSION/gemini
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin gemini "$GEMINI"
echo '{"private":true}' > "$NEW/package.json"
(cd "$NEW" && npm_install --ignore-scripts "@google/gemini-cli@$GEMINI")
ln -s node_modules/.bin/gemini "$NEW/gemini"
chmod +x "$NEW/gemini"
finish
