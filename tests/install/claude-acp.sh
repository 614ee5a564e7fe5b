#!/bin/bash
# The adapter through which Claude Code speaks the Agent Client Protocol: .work/claude-acp-VERSION/adapter
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin claude-acp "$CLAUDE_ACP"
echo '{"private":true}' > "$NEW/package.json"
(cd "$NEW" && npm_install --ignore-scripts "@agentclientprotocol/claude-agent-acp@$CLAUDE_ACP")
ln -s node_modules/@agentclientprotocol/claude-agent-acp "$NEW/adapter"
test -f "$NEW/adapter/dist/index.js"
finish
