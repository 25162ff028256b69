# Functions for all judges; each judge is test/interop/NAME/judge.sh and starts with: source test/interop/lib.sh
# run.sh sets $scratch (this run's files), $tally (one line per verdict) and $cache (kept for the next run).
set -uo pipefail
venvs=$cache/venvs
mkdir -p "$venvs" "$scratch"

# skip WHAT WHY: records that something cannot be judged on this machine.
skip() {
  echo "skipped: $1: $2"
  echo "skipped $1" >>"$tally"
}

# fault WHAT: records that a judge found a problem, or that our side could not produce what it was to judge.
fault() {
  echo "FAULT: $1"
  echo "fault $1" >>"$tally"
}

# judge WHAT COMMAND...: runs another program on our output; a non-zero exit is a fault.
judge() {
  local what=$1 begun=$SECONDS
  shift
  echo "... $what"
  if "$@"; then
    echo "ok: $what ($((SECONDS - begun)) s)"
    echo "ok $what" >>"$tally"
  else
    fault "$what ($((SECONDS - begun)) s)"
    return 1
  fi
}

# quietly COMMAND...: shows the end of a command's output only if the command fails.
quietly() {
  local log
  log=$(mktemp "$scratch/log.XXXXXX")
  "$@" >"$log" 2>&1 || { local rc=$?; tail -n "${LINES_SHOWN:-30}" "$log"; return "$rc"; }
}

# Bundles a TypeScript file of test/interop and prints the path of the result.
bundle() {
  local out=.scratch/interop/$1.mjs
  node_modules/.bin/esbuild "test/interop/$1.ts" --bundle --platform=node --format=esm --packages=external --outfile="$out" --log-level=error && echo "$out"
}

# Checks that our own program can run on local sandboxes; prints the reason if it cannot.
can_run() {
  [ -e dist/cli/main.js ] || { echo 'not built, run npm run build'; return 1; }
  command -v bwrap >/dev/null || { echo 'bubblewrap is not installed'; return 1; }
}

ot_agent() { node bin/ot-agent.js "$@"; }

# Runs uv, installed into an environment of its own.
uv() {
  local program=$venvs/uv/bin/uv
  if [ ! -x "$program" ]; then
    { python3 -m venv "$venvs/uv" && "$venvs/uv/bin/pip" install -q --disable-pip-version-check uv; } >/dev/null 2>&1 || {
      echo 'uv could not be installed with pip' >&2
      return 1
    }
  fi
  "$program" "$@"
}

# A Python 3.MINOR: on the path, from pyenv, or downloaded by uv; otherwise a newer one.
find_python() {
  local minor=$1 candidate
  local usable="import sys, venv; sys.exit(sys.version_info"
  for candidate in "python3.$minor" python3 "$HOME"/.pyenv/versions/3."$minor".*/bin/python3; do
    "$candidate" -c "$usable[:2] != (3, $minor))" 2>/dev/null && { command -v "$candidate"; return; }
  done
  uv python install "3.$minor" >/dev/null 2>&1 && uv python find "3.$minor" && return
  for candidate in python3 python3.{13,14} "$HOME"/.pyenv/versions/3.*/bin/python3; do
    "$candidate" -c "$usable < (3, $minor))" 2>/dev/null && { command -v "$candidate"; return; }
  done
  return 1
}

# make_venv NAME MINOR PACKAGE...: makes an environment with these packages in $venvs/NAME, or prints why it could not.
# Rebuilds an environment made from another list of packages.
make_venv() {
  local name=$1 minor=$2 python why
  shift 2
  [ "$(cat "$venvs/$name/complete" 2>/dev/null)" = "$*" ] && return
  python=$(find_python "$minor") || { echo "no Python 3.$minor or newer here, and uv could not fetch one"; return 1; }
  rm -rf "${venvs:?}/$name"
  why=$({ uv venv -q --python "$python" "$venvs/$name" && uv pip install -q --python "$venvs/$name/bin/python" "$@"; } 2>&1) || {
    echo "uv pip install $* failed: $(grep -v '^warning' <<<"$why" | grep . | head -n 2 | tr '\n' ' ' | cut -c 1-300)"
    return 1
  }
  echo "$*" >"$venvs/$name/complete"
}

# make_torch_venv NAME MINOR PACKAGE...: like make_venv, with torch for CPUs: empty stubs instead of CUDA libraries.
# OVERRIDE names a requirement that replaces what the packages ask for.
make_torch_venv() {
  local name=$1 overrides=$cache/without-cuda-$1.txt library
  command -v gcc >/dev/null && command -v readelf >/dev/null || { echo 'gcc and readelf, which make torch run without CUDA, are not installed'; return 1; }
  printf "%s ; sys_platform == 'never'\n" cuda-{bindings,toolkit,pathfinder} nvidia-{cublas,cudnn-cu13,cusparselt-cu13,nccl-cu13,nvshmem-cu13} triton >"$overrides"
  [ -z "${OVERRIDE:-}" ] || echo "$OVERRIDE" >>"$overrides"
  make_venv "$@" --override "$overrides" || return 1
  library=$(echo "$venvs/$name"/lib/python3.*/site-packages/torch/lib)
  [ -e "$venvs/$name/stubbed" ] && return
  { python3 test/interop/python/cuda_stubs.py "$library" && "$venvs/$name/bin/python" -c 'import torch'; } >"$scratch/stubs.log" 2>&1 || {
    echo "torch does not load: $(tail -n 1 "$scratch/stubs.log" | cut -c 1-200)"
    return 1
  }
  touch "$venvs/$name/stubbed"
}

# The environment for LLaMA-Factory.
make_llamafactory_venv() {
  make_torch_venv llamafactory 12 llamafactory==0.9.5 transformers==5.6.0 torch==2.11.0 torchvision==0.26.0 torchaudio==2.11.0 wandb==0.31.0
}

# Makes the demo's dataset in $scratch/demo/out/dataset, once for all judges that need it; prints the reason on failure.
make_demo() {
  [ -e "$scratch/demo/done" ] && return
  can_run || return 1
  quietly ot_agent demo -o "$scratch/demo" && touch "$scratch/demo/done"
}

# Makes the untrained model in $scratch/tiny, with a tokenizer built from the demo's conversations.
make_tiny_model() {
  [ -e "$scratch/tiny/done" ] && return
  make_demo && make_llamafactory_venv && quietly "$venvs/llamafactory/bin/python" test/interop/python/tiny_model.py "$scratch/tiny" "$scratch"/demo/out/dataset/jsonl/*.jsonl && touch "$scratch/tiny/done"
}

# make_site BIN: writes $scratch/here.yaml, a site without a scheduler: this machine, with the programs of that folder
# first on the path. This is what a user of a single workstation would write.
make_site() {
  cat >"$scratch/here.yaml" <<EOF
name: here
summary: This machine
scheduler: local
nodes: 1
gpus_per_node: 0
gpu_request: none
cpus_per_node: 2
internet_on_compute_nodes: true
activate: ["export PATH=$1:\$PATH"]
environment: { HF_HOME: $scratch/hf, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1', WANDB_MODE: offline }
EOF
}

# launched NAME ARGUMENT...: submits to the site of make_site, waits, and shows the logs unless everything succeeded.
launched() {
  local dir=$scratch/launch-$1
  shift
  mkdir -p "$dir"
  quietly ot_agent launch --cluster "$scratch/here.yaml" --experiments-dir "$dir" "$@" || return 1
  quietly timeout 900 node bin/ot-agent.js launch watch --experiments-dir "$dir" --every 3 || { tail -n 15 "$dir"/logs/*; return 1; }
}

# wait_for SECONDS COMMAND...: waits until the command succeeds; fails if the time is up or process $server is gone.
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$until" ] && kill -0 "$server" 2>/dev/null || return 1
    sleep 1
  done
}

# Ends the process group of a server that a judge started with setsid.
end_group() { kill -TERM -- "-$1" 2>/dev/null; sleep 1; kill -KILL -- "-$1" 2>/dev/null; wait "$1" 2>/dev/null; true; }
