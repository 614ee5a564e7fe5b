#!/bin/bash
# Claude Code's native program: .work/claude-code-VERSION/claude
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin claude-code "$CLAUDE_CODE"
echo '{"private":true}' > "$NEW/package.json"
(cd "$NEW" && npm_install --ignore-scripts "@anthropic-ai/claude-code-linux-x64@$CLAUDE_CODE")
ln -s node_modules/@anthropic-ai/claude-code-linux-x64/claude "$NEW/claude"
chmod +x "$NEW/claude"
finish
