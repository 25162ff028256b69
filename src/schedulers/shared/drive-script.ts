import type { Launch, LaunchJob } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'

/** The whole script of a job on a machine that needs no directives. */
export function renderBash({ script }: LaunchJob): string {
  const pieces = script.map(({ about, lines }) => [`# ${about}`, ...lines].join('\n'))
  return `${['#!/bin/bash', ...pieces].join('\n\n')}\n`
}

/**
 * Stands in for a scheduler: waits for earlier jobs, runs the tasks a few at a time, and restarts them as often as
 * allowed.
 */
export function driveScript(
  job: LaunchJob,
  launch: Launch,
  scriptPath: string,
  tasks: readonly number[] | null,
): string {
  const marks = shellQuote(`${launch.experimentsDir}/launches/${launch.id}/marks`)
  const all = tasks ?? (job.array ? Array.from({ length: job.array.size }, (_, i) => i) : null)
  const script = shellQuote(scriptPath)
  const go =
    all === null
      ? `bash ${script} "$link"`
      : `printf '%s\\n' ${all.join(' ')} | xargs -P ${job.array?.throttle ?? 1} -n 1 sh -c 'SLURM_ARRAY_TASK_ID="$2" exec bash "$0" "$1"' ${script} "$link"`
  const units = all === null ? [job.name] : all.map((task) => `${job.name}.${task}`)
  return [
    'set -u',
    `marks=${marks}`,
    'mkdir -p "$marks"',
    // Jobs that wait for this one must learn that it will never run.
    `give_up() { for unit in ${units.map(shellQuote).join(' ')}; do echo "$1 ${job.restarts}/${job.restarts} $2" > "$marks/$unit.end"; done; exit "$1"; }`,
    'never() { echo "$1 failed; this is not run" >&2; give_up 1 dependency; }',
    // Once the script runs, it records by itself how it ended.
    "trap 'give_up 143 cancelled' TERM",
    ...job.after.flatMap(({ job: name, when }) => waitFor(launch, name, when)),
    'trap - TERM',
    `for ((link = 0; link <= ${job.restarts}; link++)); do ${go} && exit 0; done`,
    'exit 1',
  ].join('\n')
}

function waitFor(launch: Launch, name: string, when: 'ok' | 'started'): string[] {
  const before = launch.jobs.find((job) => job.name === name)
  const units = before?.array ? Array.from({ length: before.array.size }, (_, i) => `${name}.${i}`) : [name]
  const last = before?.restarts ?? 0
  return units.map((unit) => {
    const at = `"$marks/"${shellQuote(unit)}`
    if (when === 'started')
      return `until [ -e ${at}.claim ] || [ -e ${at}.done ] || [ -e ${at}.end ]; do sleep 0.2; done`
    const givenUp = `{ read -r _ of _ < ${at}.end; } 2> /dev/null && [ "$of" = ${last}/${last} ]`
    return `until [ -e ${at}.done ]; do if ${givenUp}; then never ${shellQuote(name)}; fi; sleep 0.2; done`
  })
}
