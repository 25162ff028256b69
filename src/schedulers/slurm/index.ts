import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import type { JobState, Launch, ScheduledState, Scheduler, Submission, SubmissionRequest } from '../../core/launch.ts'
import { definePlugin } from '../../core/plugin.ts'
import { withoutSecrets } from '../../core/without-secrets.ts'
import { execProgram } from '../../lib/exec-program.ts'
import { renderSbatch } from './render.ts'

/** Columns of squeue that `parseQueue` reads. */
const queueFormat = '%F|%K|%T|%r'

/** Parses the output of `squeue --array` in that format. */
export function parseQueue(text: string): ScheduledState[] {
  return rowsOf(text).map(([id = '', task = '', state = '', reason = '']) => ({
    id,
    task: /^\d+$/.test(task) ? Number(task) : null,
    state: stateOf(state),
    reason: reason === 'None' ? state : `${state} ${reason}`,
  }))
}

/**
 * Parses the output of `sacct -P -X -n -o JobID,State,ExitCode`. Its JSON output says 0 for jobs that failed, so it is
 * not used.
 */
export function parseAccounting(text: string): ScheduledState[] {
  return rowsOf(text).flatMap(([name = '', state = '', code = '']) => {
    const [, id, task] = /^(\d+)(?:_(\d+))?$/.exec(name) ?? []
    if (id === undefined) return []
    const [word = ''] = state.split(' ')
    return [{ id, task: task === undefined ? null : Number(task), state: stateOf(word), reason: `${state} ${code}` }]
  })
}

function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('|'))
}

const words: Readonly<Record<string, JobState>> = {
  PENDING: 'waiting',
  CONFIGURING: 'waiting',
  REQUEUED: 'waiting',
  REQUEUE_HOLD: 'waiting',
  REQUEUE_FED: 'waiting',
  SPECIAL_EXIT: 'waiting',
  RESV_DEL_HOLD: 'waiting',
  RUNNING: 'running',
  COMPLETING: 'running',
  SUSPENDED: 'running',
  SIGNALING: 'running',
  STAGE_OUT: 'running',
  STOPPED: 'running',
  RESIZING: 'running',
  COMPLETED: 'done',
  CANCELLED: 'cancelled',
  REVOKED: 'cancelled',
  TIMEOUT: 'resumable',
  PREEMPTED: 'resumable',
}

/** Every other state is a kind of failure: FAILED, NODE_FAIL, OUT_OF_MEMORY, BOOT_FAIL, DEADLINE. */
function stateOf(word: string): JobState {
  return words[word] ?? 'failed'
}

/** Slurm jobs: one sbatch for each, one squeue for all states, and one sacct for those that squeue has forgotten. */
export default definePlugin({
  name: 'slurm',
  summary: 'Slurm: batch scripts, arrays, dependencies',
  options: z.strictObject({}),
  make: (_options, { env }): Scheduler => {
    const clean = withoutSecrets(env)
    const ask = (program: string, args: readonly string[]) => execProgram([program, ...args], { env: clean })
    return {
      name: 'slurm',
      render: renderSbatch,
      describe: (request) =>
        request.job.place === 'login'
          ? ['bash', request.scriptPath]
          : sbatchCommand(request, (job, link) => `<${job}${link === 0 ? '' : `#${link}`}>`),
      submit: async (request) => {
        const argv = sbatchCommand(request, (job, link) => idOf(request.earlier, job, link))
        const [program = '', ...args] = argv
        const { code, stdout, stderr } = await ask(program, args)
        const [, id] = /^(\d+)(?:;|$)/m.exec(stdout.trim()) ?? []
        if (code === 0 && id !== undefined) return id
        throw refused(`sbatch refused ${request.job.name}`, stderr || stdout)
      },
      states: async (submissions) => {
        if (submissions.length === 0) return []
        const ids = submissions.map(({ id }) => id).join(',')
        const queue = await ask('squeue', [
          '--noheader',
          '--array',
          '--states=all',
          `--format=${queueFormat}`,
          `--jobs=${ids}`,
        ])
        // squeue fails for a single id that Slurm has forgotten; for us that is not an error.
        if (queue.code !== 0 && !/Invalid job id/i.test(queue.stderr)) throw refused('squeue', queue.stderr)
        const seen = parseQueue(queue.stdout)
        const known = new Set(seen.map(({ id }) => id))
        const gone = submissions.filter(({ id }) => !known.has(id)).map(({ id }) => id)
        if (gone.length === 0) return seen
        const accounts = await ask('sacct', ['-P', '-X', '-n', '-o', 'JobID,State,ExitCode', '-j', gone.join(',')])
        // Clusters without accounting remember nothing; the marks of the jobs do.
        return accounts.code === 0 ? [...seen, ...parseAccounting(accounts.stdout)] : seen
      },
      cancel: async (submissions) => {
        if (submissions.length === 0) return
        const { code, stderr } = await ask('scancel', ['--quiet', ...submissions.map(({ id }) => id)])
        if (code !== 0 && !/Invalid job id/i.test(stderr)) throw refused('scancel', stderr)
      },
    }
  },
})

type IdOf = (job: string, link: number) => string

/**
 * The command that submits a job. `--kill-on-invalid-dep`, because otherwise a job that can never start would wait
 * forever.
 */
function sbatchCommand(request: Omit<SubmissionRequest, 'earlier'>, id: IdOf): string[] {
  const { scriptPath, tasks, job, link } = request
  const dependency = dependencyOf(request, id)
  return [
    'sbatch',
    '--parsable',
    ...(dependency === null ? [] : [`--dependency=${dependency}`, '--kill-on-invalid-dep=yes']),
    ...(tasks === null ? [] : [`--array=${tasks.join(',')}%${job.array?.throttle ?? 1}`]),
    scriptPath,
    String(link),
  ]
}

/**
 * A later link runs if the previous one did not finish. A job after a chain runs after any of its links; Slurm cannot
 * mix "any of" and "all of", so the job itself waits for a server that also has to run.
 */
function dependencyOf({ job, link, launch }: Omit<SubmissionRequest, 'earlier'>, id: IdOf): string | null {
  if (link > 0) return `afternotok:${id(job.name, link - 1)}`
  const chains = job.after.filter(({ when }) => when === 'ok').map(({ job: name }) => chainOf(launch, name, id))
  const any = chains.find((chain) => chain.length > 1)
  if (any) return any.map((each) => `afterok:${each}`).join('?')
  const ok = chains.flat()
  const started = job.after.filter(({ when }) => when === 'started').map(({ job: name }) => `after:${id(name, 0)}`)
  const all = [...(ok.length === 0 ? [] : [`afterok:${ok.join(':')}`]), ...started]
  return all.length > 0 ? all.join(',') : launch.dependency
}

function chainOf(launch: Launch, name: string, id: IdOf): string[] {
  const before = launch.jobs.find((job) => job.name === name)
  // It finishes before anything is submitted.
  if (before?.place === 'login') return []
  const restarts = before?.restarts ?? 0
  return Array.from({ length: restarts + 1 }, (_, link) => id(name, link)).filter((each) => each !== '')
}

/**
 * The last submission counts: a resumed launch has several. Empty when the job finished earlier and was not submitted
 * again.
 */
function idOf(earlier: readonly Submission[], job: string, link: number): string {
  return earlier.findLast((each) => each.job === job && each.link === link)?.id ?? ''
}

function refused(what: string, stderr: string): BoundaryError {
  return new BoundaryError('scheduler', `${what}: ${stderr.trim().split('\n').at(-1) || 'no reason given'}`)
}
