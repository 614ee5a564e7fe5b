# What every installer in this folder begins with. Sourced, never run.
#
# Each installer puts one program, at one pinned version, into `.work/` at the root of the repository, does nothing
# when that version is already there, and prints nothing on success. A half-finished install is never taken for a
# whole one: it is made in a scratch folder beside the final one and renamed at the end.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=${FIX_LOOP_WORK:-$ROOT/.work}
mkdir -p "$WORK"

# Ends with 3 ("missing") when a program that the installer needs is not on this machine.
need() {
  for program in "$@"; do
    command -v "$program" >/dev/null 2>&1 || { echo "$program is not installed" >&2; exit 3; }
  done
}

# Keep a registry's hiccup from failing a whole run.
retry() {
  local tries=3
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    echo "once more: $*" >&2
  done
}

npm_install() {
  retry npm install --silent --no-audit --no-fund --no-save "$@" >/dev/null
}

# begin NAME VERSION: sets `DIR` (final) and `NEW` (scratch), and ends the installer when DIR is already whole.
begin() {
  DIR=$WORK/$1-$2
  NEW=$WORK/.new-$1-$$
  if [ -e "$DIR/.whole" ]; then exit 0; fi
  rm -rf "$NEW" "$DIR"
  mkdir -p "$NEW"
  trap 'rm -rf "$NEW"' EXIT
}

finish() {
  touch "$NEW/.whole"
  mv "$NEW" "$DIR"
}
