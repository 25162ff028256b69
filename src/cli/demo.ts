import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from '@commander-js/extra-typings'
import { runCommand } from './command.ts'
import { note } from './output.ts'
import { makeRun } from './run.ts'

/** `ot-agent demo`: the example tasks, solved by their own solutions, through the same door as any other job. */
export default () =>
  new Command()
    .description('Runs the example tasks with their own solutions in local sandboxes. Needs no network and no account.')
    .option('-o, --jobs-dir <dir>', 'where the job is kept', 'jobs')
    .action(async ({ jobsDir }) => {
      const tasks = fileURLToPath(new URL('../../examples/tasks', import.meta.url))
      note(
        'Each example task gets a sandbox of its own; the agent `oracle` works through its solution, then its tests score it.',
      )
      const words = ['-p', tasks, '-a', 'oracle', '-e', 'local', '-o', jobsDir]
      note(`ot-agent run ${words.join(' ')}\n`)
      await runCommand(() => makeRun(words), ['ot-agent', 'run'], words)
      if (process.exitCode !== 130) note(whatNext(relative('', tasks), relative('', await newestJob(jobsDir))))
    })

function whatNext(tasks: string, job: string): string {
  const steps = [
    [`jobs show ${job}`, 'every trial of this run'],
    [`run -p ${tasks} -a nop`, 'doing nothing must not score'],
    [`tasks check ${tasks}`, 'are the tasks sound?'],
    ['tasks init my-task', 'write one of your own'],
  ] as const
  const width = Math.max(...steps.map(([command]) => command.length))
  const lines = steps.map(([command, why]) => `  npx ot-agent ${command.padEnd(width)}   ${why}`)
  return ['', 'What to try next:', ...lines].join('\n')
}

/** The job that wrote its result last: the one that just ended. */
async function newestJob(jobsDir: string): Promise<string> {
  const names = await readdir(jobsDir)
  const jobs = await Promise.all(
    names.map(async (name) => {
      const result = await stat(join(jobsDir, name, 'result.json')).catch(() => null)
      return { dir: join(jobsDir, name), at: result?.mtimeMs ?? 0 }
    }),
  )
  return jobs.reduce((newest, job) => (job.at > newest.at ? job : newest), { dir: jobsDir, at: 0 }).dir
}
