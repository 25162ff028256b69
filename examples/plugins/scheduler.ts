// A scheduler submits jobs to machines. This one runs each job here, at once: `scheduler: ./scheduler.ts` in a cluster's file.
import { spawn } from 'node:child_process'
import { definePlugin, type Scheduler, z } from 'ot-agent'

export default definePlugin({
  name: 'at-once',
  summary: 'Runs every job on this machine as soon as it is submitted',
  options: z.strictObject({}),
  make: (): Scheduler => ({
    name: 'at-once',
    render: (job) =>
      ['#!/usr/bin/env bash', 'set -euo pipefail', ...job.script.flatMap(({ lines }) => lines), ''].join('\n'),
    describe: ({ scriptPath }) => ['bash', scriptPath],
    async submit({ scriptPath }) {
      const child = spawn('bash', [scriptPath], { detached: true, stdio: 'ignore' })
      child.unref()
      return String(child.pid)
    },
    states: async (submissions) => submissions.map(({ id }) => ({ id, task: null, state: stateOf(id), reason: '' })),
    async cancel(submissions) {
      for (const { id } of submissions) if (stateOf(id) === 'running') process.kill(-Number(id))
    },
  }),
})

function stateOf(id: string): 'running' | 'unknown' {
  try {
    process.kill(Number(id), 0)
    return 'running'
  } catch {
    return 'unknown'
  }
}
