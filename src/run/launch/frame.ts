import type { ScriptPiece } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'

/** Seconds between checks whether a newer run has taken over. */
const fenceSec = 5

/** What every script of a launch needs to know about itself. */
export interface FrameFacts {
  readonly launchDir: string
  readonly job: string
  readonly isArray: boolean
  readonly restarts: number
}

/**
 * The beginning of every script. Files mark the state of a unit of work (a job, or one task of an array): `claim` while
 * it runs, `end` when it stopped unfinished, `done` once it is finished. A run that finds its unit done does nothing. A
 * run that finds another's claim, left by a run that died or was cut off with its node, takes over: the other notices
 * and stops itself.
 */
export function frame({ launchDir, job, isArray, restarts }: FrameFacts): ScriptPiece {
  return {
    about: 'who runs, and whether it still has to',
    lines: [
      'set -euo pipefail',
      `marks=${shellQuote(`${launchDir}/marks`)}`,
      ...(isArray
        ? ['task="$SLURM_ARRAY_TASK_ID"', `unit=${shellQuote(`${job}.`)}"$task"`]
        : [`unit=${shellQuote(job)}`]),
      `link="\${1:-0}" links=${restarts}`,
      ...frameLines,
    ],
  }
}

const frameLines = String.raw`
mkdir -p "$marks"
note() { printf '%s %s: %s\n' "$(date -u +%FT%TZ)" "$unit" "$*" >&2; }
mark() { printf '%s\n' "$2" > "$marks/.$unit.$1.$$"; mv -f "$marks/.$unit.$1.$$" "$marks/$unit.$1"; }
# A unit that ended and will not be tried again by itself.
is_final() { local of; { read -r _ of _ < "$marks/$1.end"; } 2> /dev/null && [ "${'$'}{of%/*}" = "${'$'}{of#*/}" ]; }
if [ -e "$marks/$unit.done" ]; then note 'done before, nothing to do'; exit 0; fi
token="${'$'}{SLURM_JOB_ID:-local}.${'$'}{SLURM_RESTART_COUNT:-0}.$$ $(hostname)"
# Another run has taken over. A claim that cannot be read for a moment says nothing.
is_replaced() { local now; now="$(cat "$marks/$unit.claim" 2> /dev/null || true)"; [ -n "$now" ] && [ "$now" != "$token" ]; }
earlier="$(cat "$marks/$unit.claim" 2> /dev/null || true)"
mark claim "$token"
rm -f "$marks/$unit.end"
main='' reason='' over='' helpers=()
teardown() { :; }
stop() {
  reason="$1"
  note "told to stop: $1"
  if [ -z "$main" ]; then exit 75; fi
  kill -TERM "$main" 2> /dev/null || true
  if [ "$1" = replaced ]; then sleep 2; kill -KILL "$main" 2> /dev/null || true; fi
}
finish() {
  local code=$?
  trap - EXIT
  trap '' USR1 USR2 HUP TERM INT
  for each in "${'$'}{helpers[@]}"; do kill "$each" 2> /dev/null || true; done
  teardown || true
  if [ "$reason" = replaced ]; then exit 75; fi
  if [ "$reason" != over ] && [ "$code" = 0 ] && [ -n "$over" ]; then
    mark done "$(date -u +%FT%TZ)"
  elif is_replaced; then
    exit 75
  elif [ "$reason" = over ]; then
    code=0
    mark end "0 $links/$links over"
  else
    if [ "$code" = 0 ]; then code=75; fi
    mark end "$code $link/$links ${'$'}{reason:-failed}"
  fi
  is_replaced || rm -f "$marks/$unit.claim"
  exit "$code"
}
trap finish EXIT
trap 'stop time-limit' USR1
trap 'stop replaced' USR2
trap 'stop over' HUP
trap 'stop cancelled' TERM INT
fence() { while sleep ${fenceSec}; do if is_replaced; then kill -USR2 $$; return; fi; done; }
fence & helpers+=($!)
# A command in the background and a wait for it: so a signal is heard at once, and passed on.
run() {
  local code
  "$@" &
  main=$!
  while :; do
    code=0
    wait "$main" || code=$?
    kill -0 "$main" 2> /dev/null || break
  done
  main=''
  return "$code"
}
pause() { sleep "$1" & wait $! || true; }
if [ -n "$earlier" ]; then
  note "an earlier run did not say how it ended ($earlier); it gets ${fenceSec * 3} s to see that it is replaced"
  export OT_AGENT_REPLACED_HOST="${'$'}{earlier##* }"
  pause ${fenceSec * 3}
  if [ -e "$marks/$unit.done" ]; then note 'the earlier run has done it'; over=1; exit 0; fi
fi`
  .trim()
  .split('\n')

/** The last line of every script: a run that gets here has done the work. */
export const frameEnd: ScriptPiece = { about: 'the work is done', lines: ['over=1'] }
