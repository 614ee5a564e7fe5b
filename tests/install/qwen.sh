#!/bin/bash
# qwen-code: .work/qwen-VERSION/qwen
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin qwen "$QWEN"
echo '{"private":true}' > "$NEW/package.json"
(cd "$NEW" && npm_install --ignore-scripts "@qwen-code/qwen-code@$QWEN")
ln -s node_modules/.bin/qwen "$NEW/qwen"
chmod +x "$NEW/qwen"
finish
