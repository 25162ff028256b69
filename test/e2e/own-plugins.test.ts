import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { loadClusterFile } from '../../src/app/launch/clusters.ts'
import { runTasks } from '../../src/app/run-tasks.ts'
import type { Launch, LaunchJob } from '../../src/core/launch.ts'
import { makeEngine, makeJudge, makeScheduler } from '../../src/plugins/make.ts'
import { makeTempDir } from '../make-task.ts'
import { withSandboxes } from './kit.ts'

const plugins = readdirSync('examples/plugins')

test.each(plugins)('examples/plugins/%s is short', (name) => {
  expect(readFileSync(join('examples/plugins', name), 'utf8').split('\n').length).toBeLessThan(40)
})

test('no kind of plug-in is without an example', () => {
  expect(plugins).toEqual(['engine.ts', 'judge.ts', 'sandbox.ts', 'scheduler.ts'])
})

withSandboxes('an engine and a sandbox of a user', () => {
  test('run a trial, and their code is part of the job', async () => {
    const jobsDir = await makeTempDir()
    const request = {
      tasks: 'examples/tasks/csv-to-json',
      agent: 'terminus-2',
      model: { model: 'any', engine: './examples/plugins/engine.ts' },
      sandbox: './examples/plugins/sandbox.ts',
      jobsDir,
      jobName: 'mine',
    }
    const { ends, jobDir } = await runTasks(request)
    expect(ends).toMatchObject({ trials: 1, scored: 1, meanOverScored: 0 })
    const files = readdirSync(jobDir, { recursive: true, encoding: 'utf8' }).map((name) => join(jobDir, name))
    const texts = files.filter((path) => path.endsWith('.json')).map((path) => readFileSync(path, 'utf8'))
    for (const name of ['engine.ts', 'sandbox.ts'])
      expect(texts.some((text) => text.includes(resolve('examples/plugins', name)))).toBe(true)
  })
})

test('an engine that is none is refused with what it lacks', async () => {
  const file = join(await makeTempDir(), 'half.ts')
  await writeFile(file, "export default { name: 'half', health: async () => ({ healthy: true }) }\n")
  await expect(makeEngine(file)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('expected an engine with name, health(signal) and client(model), got no client'),
  })
})

test('an option that an engine does not have is refused with those it has', async () => {
  await expect(makeEngine('./examples/plugins/engine.ts', { replie: 'x' })).rejects.toMatchObject({
    hint: expect.stringContaining('did you mean reply?'),
  })
})

test('a judge of a user scores what tests collected', async () => {
  const submissionDir = join(await makeTempDir(), 'submission')
  await mkdir(submissionDir)
  const judge = await makeJudge('./examples/plugins/judge.ts')
  const work = { rubric: '{}', instruction: '', submissionDir, signal: new AbortController().signal }
  expect(await judge(work)).toMatchObject({ reward: 0 })
  await writeFile(join(submissionDir, 'letter.txt'), 'many thanks')
  expect(await judge(work)).toMatchObject({ reward: 1, report: { files: ['letter.txt'] } })
  expect(await (await makeJudge('./examples/plugins/judge.ts', { word: 'bye' }))(work)).toMatchObject({ reward: 0 })
})

test('a scheduler of a user is named in the file of a cluster, from where that file is', async () => {
  const dir = await makeTempDir()
  const file = join(dir, 'mine.yaml')
  const facts = 'summary: mine\nnodes: 1\ngpus_per_node: 0\ncpus_per_node: 2\ninternet_on_compute_nodes: true\n'
  await writeFile(file, `name: mine\nscheduler: ./mine.ts\n${facts}`)
  await writeFile(join(dir, 'mine.ts'), readFileSync('examples/plugins/scheduler.ts', 'utf8'))
  const { cluster } = await loadClusterFile(file)
  expect(cluster.scheduler).toBe(join(dir, 'mine.ts'))
  const scheduler = await makeScheduler(cluster.scheduler)
  const job = {
    name: 'one',
    script: [{ about: '', lines: [`echo ran > ${join(dir, 'ran')}`] }],
  } as unknown as LaunchJob
  const launch = { id: 'x', jobs: [job] } as unknown as Launch
  const scriptPath = join(dir, 'one.sh')
  await writeFile(scriptPath, scheduler.render(job, launch))
  const id = await scheduler.submit({ job, launch, link: 0, scriptPath, tasks: null, earlier: [] })
  await expect.poll(() => readdirSync(dir)).toContain('ran')
  const submission = { job: 'one', link: 0, id, tasks: null }
  await expect.poll(async () => (await scheduler.states([submission]))[0]?.state).toBe('unknown')
})
