#!/bin/bash
# opencode's native program: .work/opencode-VERSION/opencode
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin opencode "$OPENCODE"
echo '{"private":true}' > "$NEW/package.json"
(cd "$NEW" && npm_install --ignore-scripts "opencode-linux-x64@$OPENCODE")
ln -s node_modules/opencode-linux-x64/bin/opencode "$NEW/opencode"
chmod +x "$NEW/opencode"
finish
