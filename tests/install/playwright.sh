#!/bin/bash
# Playwright's driver (no browser of its own): .work/playwright-VERSION/node_modules/playwright-core
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/versions.sh"
need node npm
begin playwright "$PLAYWRIGHT"
echo '{"private":true}' > "$NEW/package.json"
(cd "$NEW" && npm_install --ignore-scripts "playwright-core@$PLAYWRIGHT")
finish
