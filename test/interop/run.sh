#!/usr/bin/env bash
# Lets other projects' programs judge what we write and how we talk to them. Every test/interop/NAME/judge.sh is one
# judge; `npm run test:interop -- NAME...` runs only the judges named. Whatever is unavailable on this machine is
# skipped by name; a judge that finds a fault makes this script fail. Environments and downloads are kept in
# $INTEROP_CACHE for the next run (default ~/.cache/ot-agent/interop); nothing but Python packages from the package
# index is downloaded.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch" .scratch/interop' EXIT
export scratch tally=$scratch/tally cache=${INTEROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ot-agent/interop}
export PYTHONDONTWRITEBYTECODE=1 LITELLM_LOCAL_MODEL_COST_MAP=True HF_HUB_DISABLE_PROGRESS_BARS=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1
touch "$tally"
mkdir -p .scratch/interop "$cache"

names=("$@")
if [ ${#names[@]} -eq 0 ]; then for file in test/interop/*/judge.sh; do names+=("$(basename "$(dirname "$file")")"); done; fi
timings=()
for name in "${names[@]}"; do
  [ -e "test/interop/$name/judge.sh" ] || { echo "no judge is named $name; there are: $(cd test/interop && echo */judge.sh | sed 's#/judge.sh##g')"; exit 2; }
  echo "== $name"
  begun=$SECONDS
  bash -c "source test/interop/$name/judge.sh; exit 0" || { echo "FAULT: $name ended early"; echo "fault $name ended early" >>"$tally"; }
  timings+=("$name $((SECONDS - begun)) s")
done

count() { grep -c "^$1 " "$tally"; }
echo "== $(count ok) ok, $(count fault) faults, $(count skipped) skipped in $SECONDS s: $(IFS=,; echo "${timings[*]}")"
sed -n 's/^skipped /skipped: /p; s/^fault /FAULT: /p' "$tally"
[ "$(count fault)" -eq 0 ]
