#!/usr/bin/env bash
# Lets other people's programs judge our files: Harbor opens our job directories, pyarrow and datasets read our parquet,
# and Python's client of the Hub reads what we uploaded to a stand-in for it.
# What cannot be had on this machine is skipped by name; what judges and finds a fault makes this fail.
# HARBOR_VERSIONS (default "0.6.4 0.24.0") says which Harbors judge; INTEROP_VENVS keeps the environments in a directory for the next time.
set -uo pipefail
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
venvs=${INTEROP_VENVS:-$scratch/venvs}
mkdir -p "$venvs"
faults=0 judged=0

skip() { echo "skipped: $1: $2"; }

judge() {
  judged=$((judged + 1))
  "$@" || { echo "FAULT: $*"; faults=$((faults + 1)); }
}

# A Python of at least the version given as 3.MINOR: on the path, from pyenv, or fetched by uv.
find_python() {
  local minor=$1 candidate
  for candidate in python3 python3.{14,13,12,11,10} "$HOME"/.pyenv/versions/3.*/bin/python3; do
    "$candidate" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, $minor))" 2>/dev/null && { command -v "$candidate"; return; }
  done
  [ -x "$venvs/uv/bin/uv" ] || { python3 -m venv "$venvs/uv" && "$venvs/uv/bin/pip" install -q uv; } >/dev/null 2>&1 || return 1
  "$venvs/uv/bin/uv" python find "3.$minor" 2>/dev/null || { "$venvs/uv/bin/uv" python install "3.$minor" >/dev/null 2>&1 && "$venvs/uv/bin/uv" python find "3.$minor"; }
}

# make_venv NAME MINOR PACKAGE...: an environment with these packages, or the reason why there is none on stdout.
make_venv() {
  local name=$1 minor=$2 python
  shift 2
  [ -e "$venvs/$name/complete" ] && return
  python=$(find_python "$minor") || { echo "no Python 3.$minor or newer here, and uv could not fetch one"; return 1; }
  "$python" -m venv "$venvs/$name" 2>"$scratch/why" && "$venvs/$name/bin/pip" install -q --disable-pip-version-check "$@" 2>"$scratch/why" || {
    echo "pip install $* failed: $(grep -v '^WARNING' "$scratch/why" | tail -n 1 | cut -c 1-200)"
    return 1
  }
  touch "$venvs/$name/complete"
}

bundle() { node_modules/.bin/esbuild "test/interop/$1.ts" --bundle --platform=node --format=esm --packages=external --outfile=".scratch/interop/$1.mjs" --log-level=error; }
mkdir -p .scratch/interop
trap 'rm -rf "$scratch" .scratch/interop' EXIT

bundle make-job && node .scratch/interop/make-job.mjs "$scratch/jobs/sample" && bundle make-traces && node .scratch/interop/make-traces.mjs "$scratch/traces" || { echo 'FAULT: our own files could not be made'; exit 1; }
jobs=("$scratch/jobs/sample")
if [ ! -e dist/cli/main.js ]; then skip 'a real job' 'not built, run npm run build'
elif ! command -v bwrap >/dev/null; then skip 'a real job' 'bubblewrap is not installed'
elif node bin/ot-agent.js run -p examples/tasks -a oracle -e local -n 2 -o "$scratch/jobs" --job-name real >"$scratch/real.log" 2>&1; then jobs+=("$scratch/jobs/real")
else skip 'a real job' "ot-agent run failed: $(tail -n 1 "$scratch/real.log")"
fi

for version in ${HARBOR_VERSIONS:-0.6.4 0.24.0}; do
  why=$(make_venv "harbor-$version" 12 "harbor==$version") || { skip "harbor $version" "$why"; continue; }
  for job in "${jobs[@]}"; do judge "$venvs/harbor-$version/bin/python" test/interop/harbor_open.py "$job"; done
  judge "$venvs/harbor-$version/bin/python" test/interop/harbor_traces.py "$scratch/traces/traced" "$scratch/traces/dataset"
done

if bundle make-parquet && node .scratch/interop/make-parquet.mjs examples/tasks "$scratch/tasks.parquet"; then
  for library in pyarrow datasets; do
    why=$(make_venv "$library" 10 "$library") || { skip "$library" "$why"; continue; }
    judge "$venvs/$library/bin/python" test/interop/parquet_open.py "$library" "$scratch/tasks.parquet" examples/tasks "$scratch/cache"
    judge "$venvs/$library/bin/python" test/interop/traces_open.py "$library" "$scratch/traces/dataset" "$scratch/cache"
  done
else
  echo 'FAULT: the parquet file could not be made' && faults=$((faults + 1))
fi

if bundle serve-hub; then
  why=$(make_venv huggingface_hub 10 huggingface_hub) || skip huggingface_hub "$why"
  [ -e "$venvs/huggingface_hub/complete" ] && mkdir "$scratch/hub" &&
    judge node .scratch/interop/serve-hub.mjs examples/tasks "$scratch/hub" "$venvs/huggingface_hub/bin/python" test/interop/hub_open.py
else
  echo 'FAULT: the stand-in for the Hub could not be made' && faults=$((faults + 1))
fi

echo "$judged judged, $faults faults"
[ "$faults" -eq 0 ]
