import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import type { JobState, LaunchJob, ScheduledState, Scheduler, SubmissionRequest } from '../../core/launch.ts'
import { definePlugin } from '../../core/plugin.ts'
import { execProgram } from '../../lib/exec-program.ts'
import { writeAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { renderBash } from '../shared/drive-script.ts'
import { renderTask } from './render-task.ts'

const queueSchema = z.array(
  z.looseObject({
    job_name: z.string().nullish(),
    status: z.string().nullish(),
    failure_reason: z.string().nullish(),
  }),
)

/** Parses the output of `sky jobs queue --output json`, by job name; other lines may come before it. */
export function parseQueue(text: string): ReadonlyMap<string, Pick<ScheduledState, 'state' | 'reason'>> {
  const parsed = queueSchema.safeParse(parseJson(text.slice(Math.max(0, text.search(/^\[/m)))))
  if (!parsed.success) throw refused('sky jobs queue', 'its output is not the expected JSON')
  return new Map(
    parsed.data.map(({ job_name, status, failure_reason }) => {
      const word = status?.split('.').at(-1) ?? ''
      return [job_name ?? '', { state: stateOf(word), reason: [word, failure_reason].filter(Boolean).join(' ') }]
    }),
  )
}

const words: Readonly<Record<string, JobState>> = {
  PENDING: 'waiting',
  SUBMITTED: 'waiting',
  STARTING: 'waiting',
  RUNNING: 'running',
  WINDING_DOWN: 'running',
  RECOVERING: 'running',
  CANCELLING: 'running',
  SUCCEEDED: 'done',
  CANCELLED: 'cancelled',
}

/**
 * Every other state is a kind of failure: FAILED, FAILED_SETUP, FAILED_PRECHECKS, FAILED_NO_RESOURCE,
 * FAILED_CONTROLLER.
 */
function stateOf(word: string): JobState {
  return words[word] ?? 'failed'
}

/** Managed jobs of SkyPilot, on clouds or Kubernetes: machines start and stop with their job. */
export default definePlugin({
  name: 'skypilot',
  summary: 'SkyPilot: managed jobs on clouds and Kubernetes',
  options: z.strictObject({}),
  make: (_options, { env }): Scheduler => {
    // The command calls clouds with the user's keys, and passes none of its environment to jobs. The first call may
    // have to wait for the machine that manages jobs.
    const ask = (args: readonly string[]) => execProgram(['sky', ...args], { env, timeoutSec: 900 })
    return {
      name: 'skypilot',
      render: renderBash,
      describe: ({ job, scriptPath, link }) =>
        job.place === 'login' ? ['bash', scriptPath] : link > 0 ? [] : launchCommand(taskFile(scriptPath, 0)),
      submit: (request) => submit(request, ask),
      states: async (submissions) => {
        if (submissions.length === 0) return []
        const { code, stdout, stderr } = await ask(['jobs', 'queue', '--all', '--output', 'json'])
        if (code !== 0) throw refused('sky jobs queue', stderr || stdout)
        const queue = parseQueue(stdout)
        return submissions.flatMap(({ id }) =>
          parseId(id).flatMap(({ name, tasks }): ScheduledState[] => {
            const found = queue.get(name)
            return found === undefined ? [] : (tasks ?? [null]).map((task) => ({ id, task, ...found }))
          }),
        )
      },
      cancel: async (submissions) => {
        for (const { name } of submissions.flatMap(({ id }) => parseId(id))) {
          const { code, stderr, stdout } = await ask(['jobs', 'cancel', '--yes', '--name', name])
          const said = stderr || stdout
          if (code !== 0 && !/no (matching|running|in-progress)|not found|already/i.test(said))
            throw refused(`sky jobs cancel ${name}`, said)
        }
      },
    }
  },
})

type Ask = (args: readonly string[]) => ReturnType<typeof execProgram>

/**
 * Submits an array as one job per slot that may run at once, each with its share of the tasks. Restarts are a loop in
 * the first link.
 */
async function submit({ job, launch, link, scriptPath, tasks }: SubmissionRequest, ask: Ask): Promise<string> {
  if (link > 0) return ''
  const base = `${job.jobName}-${randomBytes(3).toString('hex')}`.replaceAll(/[^\w.-]/g, '-')
  const names: string[] = []
  for (const [lane, share] of lanesOf(job, tasks).entries()) {
    const name = share === null ? base : `${base}-${lane}`
    const file = taskFile(scriptPath, lane)
    await writeAtomic(file, renderTask({ job, launch, scriptPath, tasks: share, name }))
    const { code, stdout, stderr } = await ask(launchCommand(file).slice(1))
    if (code !== 0) {
      for (const { name: begun } of names.flatMap(parseId)) await ask(['jobs', 'cancel', '--yes', '--name', begun])
      throw refused(`sky refused ${job.name}`, stderr || stdout)
    }
    names.push(share === null ? name : `${name}:${share.join('+')}`)
  }
  return names.join(',')
}

function lanesOf({ array }: LaunchJob, tasks: readonly number[] | null): readonly (readonly number[] | null)[] {
  if (array === null) return [null]
  const all = tasks ?? Array.from({ length: array.size }, (_, task) => task)
  const lanes = Math.max(1, Math.min(array.throttle, all.length))
  return Array.from({ length: lanes }, (_, lane) => all.filter((__, i) => i % lanes === lane))
}

/**
 * Parses `NAME`, or `NAME:0+2+4` for a share of an array; several are separated by commas. Empty: nothing was
 * submitted.
 */
function parseId(id: string): readonly { readonly name: string; readonly tasks: readonly number[] | null }[] {
  return id
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', share] = part.split(':')
      return { name, tasks: share === undefined ? null : share.split('+').map(Number) }
    })
}

function taskFile(scriptPath: string, lane: number): string {
  return `${scriptPath}${lane === 0 ? '' : `.${lane}`}.sky.yaml`
}

function launchCommand(file: string): string[] {
  return ['sky', 'jobs', 'launch', '--yes', '--detach-run', file]
}

function refused(what: string, said: string): BoundaryError {
  return new BoundaryError('scheduler', `${what}: ${said.trim().split('\n').at(-1) || 'no reason given'}`)
}
