#!/bin/bash
# A Chromium for Playwright: the one that is there, else the distribution's package where we may install it.
. "$(dirname "$0")/lib.sh"
for program in chromium chromium-browser google-chrome; do
  if command -v "$program" >/dev/null 2>&1; then exit 0; fi
done
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || { echo "chromium is not installed" >&2; exit 3; }
export DEBIAN_FRONTEND=noninteractive
retry apt-get update -qq >/dev/null
retry apt-get install -y -qq --no-install-recommends chromium >/dev/null
