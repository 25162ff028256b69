import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { parseToml } from '../../src/formats/harbor-task/parse.ts'
import { Semaphore } from '../../src/lib/semaphore.ts'
import { offlineWords } from '../fakes/offline-words.ts'
import { needs } from '../needs.ts'
import { scratch, withSandboxes } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }
/** Trials wait more than they compute: running two commands at once takes about half the time. */
const places = new Semaphore(2)
const pipelines = readdirSync('data').filter((name) => existsSync(join('data', name, 'generate.ts')))
/** What pipelines' environments need; a local sandbox has it if this machine does. */
const parts: Readonly<Record<string, readonly string[]>> = { defects4j: ['javac', '/usr/share/java/junit4.jar'] }

withSandboxes('ot-agent generate', () => {
  test('there are pipelines', () => {
    expect(pipelines).toContain('nl2bash')
  })

  for (const name of pipelines)
    test.concurrent(`${name} makes tasks of its fixture that are proven`, needs(...(parts[name] ?? [])), async () => {
      const out = join(scratch, 'generated', name)
      // The first four chores are of four kinds.
      const limit = name === 'terminal-bench-dev-set' ? '4' : '1'
      const words = [join('data', name, 'generate.ts'), '--output-dir', out, '--limit', limit, ...offlineWords(name)]
      const { status, stdout, stderr } = await generate(...words)
      expect(status, stderr).toBe(0)
      const { tasks, source } = JSON.parse(stdout)
      expect(source).toEqual({ kind: 'fixture' })
      if (name === 'nl2bash') expect(stderr).toContain('rows come from the fixture of nl2bash')
      expect(readdirSync(join(out, 'tasks')).length).toBe(tasks.metadata.tasks)
      expect(tasks.metadata.tasks).toBeGreaterThan(0)
    })

  test.concurrent('tasks and traces come of one command, and are published to a folder', async () => {
    const out = join(scratch, 'both')
    const published = join(scratch, 'published')
    const { status, stdout, stderr } = await generate(
      ...['data/nl2bash/generate.ts', '--output-dir', out, '--limit', '1', '--no-check', '--stage', 'both'],
      ...[
        '-m',
        'scripted/solver',
        '--engine-kwarg',
        `tasks=${join(out, 'tasks')}`,
        '--target-repo',
        `file:${published}`,
      ],
      ...['--sandbox-cpu', '2', '--sandbox-memory-gb', '3', '--sandbox-disk-gb', '5'],
    )
    expect(status, stderr).toBe(0)
    const [task = ''] = readdirSync(join(out, 'tasks'))
    const { environment } = parseToml(readFileSync(join(out, 'tasks', task, 'task.toml'), 'utf8'), 'task.toml')
    expect(environment).toMatchObject({ cpus: 2, memory_mb: 3072, storage_mb: 5120 })
    const [job = ''] = readdirSync(join(out, 'jobs'))
    expect(JSON.parse(readFileSync(join(out, 'jobs', job, 'config.json'), 'utf8')).environment).toMatchObject({
      ...{ override_cpus: 2, override_memory_mb: 3072, override_storage_mb: 5120 },
    })
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'success',
      traces: { uploadedRepo: `file:${published}`, metadata: { trials: 1, meanReward: 1, exported: { rows: 1 } } },
    })
    expect(readdirSync(published).sort()).toEqual(['README.md', 'data', 'drops.jsonl', 'manifest.json'])
    const scores = ['--output-dir', join(scratch, 'scores'), '--trace-agent-name', 'oracle', '--trace-eval-only']
    const score = () =>
      generate('data/nl2bash/generate.ts', '--stage', 'traces', '--tasks-input', join(out, 'tasks'), ...scores)
    const again = await score()
    expect(again.status, again.stderr).toBe(0)
    // When all trials are there, none is run again: the job may have been stopped after its last one.
    expect(JSON.parse((await score()).stdout).traces).toEqual(JSON.parse(again.stdout).traces)
    expect(readdirSync(join(scratch, 'scores/jobs'))).toHaveLength(1)
    expect(JSON.parse(again.stdout)).toMatchObject({
      tasks: null,
      traces: { metadata: { trials: 1, meanReward: 1, exported: null } },
    })
  })

  test.concurrent('a task with the words of a local benchmark is left out, unless configured otherwise', async () => {
    const words = 'how many penguins swim past the lighthouse of Ushuaia on a quiet Sunday'
    const file = pipeline(
      'penguins',
      `make: ({ id }) => ({ instruction: id === 'r0' ? 'Find out ${words}.' : 'Write 2 to /app/x.', files: { 'tests/test.sh': { data: 'exit 1' } } })`,
    )
    const cwd = join(scratch, 'penguins')
    mkdirSync(join(cwd, 'benchmarks'))
    writeFileSync(join(cwd, 'benchmarks/gaia.jsonl'), `${JSON.stringify({ id: 'a', instruction: words })}\n`)
    const made = async (out: string, ...more: string[]) => {
      const argv = [bin, 'generate', file, '--no-check', '--json', '--output-dir', join(cwd, out), ...more]
      const child = spawn(process.execPath, argv, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      const { tasks, rejects } = JSON.parse(stdout).tasks.metadata
      return { tasks, rejects, stderr }
    }
    const usual = await made('usual')
    expect(usual).toMatchObject({ tasks: 1, rejects: { contaminated: 1 } })
    expect(usual.stderr).toContain('tasks are not compared with openthoughts-tblite')
    expect(await made('all', '--no-decontaminate')).toMatchObject({ tasks: 2, rejects: {} })
  })

  test.concurrent('a check that only tests whether a file exists is not a check', async () => {
    const script = '#!/bin/sh\\nif [ -f /app/x ]; then r=1; else r=0; fi\\necho $r > /logs/verifier/reward.txt\\n'
    const file = pipeline(
      'vacuous',
      `make: () => ({ instruction: 'Write /app/x', files: { 'tests/test.sh': { data: '${script}' }, 'solution/solve.sh': { data: 'touch /app/x' } } })`,
      '',
      1,
    )
    const out = join(scratch, 'vacuous-out')
    const { status, stderr } = await generate(file, '--output-dir', out)
    expect(status, stderr).toBe(3)
    expect(readFileSync(join(out, 'rejects.jsonl'), 'utf8')).toMatch(/"check-lint".*verifier-existence/)
  })
})

test.concurrent('the guide’s pipelines run as they are printed', async () => {
  const guide = readFileSync('docs/guides/your-own-source.md', 'utf8')
  const blocks = (language: string) => [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))]
  const [[, declared = ''] = [], [, asClass = ''] = []] = blocks('ts')
  const dir = join(scratch, 'guide')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'generate.ts'), declared)
  writeFileSync(join(dir, 'sums.ts'), asClass)
  writeFileSync(join(dir, 'fixture.jsonl'), blocks('json')[0]?.[1] ?? '')
  const out = join(scratch, 'guide-out')
  const { status, stderr, stdout } = await generate(
    join(dir, 'generate.ts'),
    '--output-dir',
    out,
    '--no-check',
    '--max-chars',
    '25',
  )
  expect(status, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    options: { maxChars: 25 },
    tasks: { metadata: { tasks: 1, rejects: { 'too-long': 1 } } },
  })
  expect(readdirSync(join(out, 'tasks'))).toEqual(['quiz-a'])
  expect((await generate(join(dir, 'generate.ts'), '--help')).stdout).toMatch(
    /--max-chars <number>\s+longer questions are left out\s+\(default: 500\)/,
  )
  const sums = [join(dir, 'sums.ts'), '--output-dir', join(scratch, 'sums-out'), '--no-check', '--count']
  const made = await generate(...sums, '2')
  expect(made.status, made.stderr).toBe(0)
  expect(JSON.parse(made.stdout)).toMatchObject({ pipeline: 'sums', options: { count: 2 }, status: 'success' })
  expect(readdirSync(join(scratch, 'sums-out/tasks'))).toEqual(['sums-0', 'sums-1'])
  const other = await generate(...sums, '1')
  expect([other.status, other.stderr]).toEqual([
    2,
    expect.stringContaining('expected tasks made with the same options'),
  ])
})

test.concurrent.each([
  [[], 'expected the file of a pipeline, got none'],
  [['--limit', '3'], 'expected the file of a pipeline first'],
  [['no-such.ts'], 'no-such.ts'],
  [['nl2bsh'], 'unknown pipeline "nl2bsh"\nhint: did you mean nl2bash? known: all-puzzles, '],
  [['nl2bash', '--colour', 'red'], "unknown option '--colour'"],
  [['data/nl2bash/generate.ts', '--colour', 'red'], "unknown option '--colour'"],
  [['data/nl2bash/generate.ts', '--min-words', 'few'], '--min-words'],
  [['data/nl2bash/generate.ts', '--stage', 'traces', '--output-dir', join(scratch, 'none')], '--tasks-input'],
  [['data/nl2bash/generate.ts', '--target-repo', 'org/name', '--output-dir', join(scratch, 'hub')], '--target-repo'],
  [['data/nl2bash/find.ts'], 'expected a default export'],
])('%j is the user’s mistake, in two lines', async (words, message) => {
  const { status, stderr } = await run(...words)
  expect(status).toBe(2)
  expect(stderr).toContain(message)
  expect(stderr).not.toMatch(/\n\s+at /)
})

test.concurrent('a killed run resumes, and makes no row twice', async () => {
  const file = pipeline(
    'slow',
    `make: async ({ id }, { workDir }) => {
      mkdirSync(workDir, { recursive: true })
      appendFileSync(workDir + '/made', id + '\\n')
      const isLater = Number(id.slice(1)) >= 20
      do await new Promise((done) => setTimeout(done, 20))
      while (isLater && !existsSync('${join(scratch, 'go-on')}'))
      return { instruction: 'Do ' + id, files: { 'tests/test.sh': { data: 'echo 0' } } }
    }`,
    "import { appendFileSync, existsSync, mkdirSync } from 'node:fs'\n",
    60,
  )
  const out = join(scratch, 'killed')
  const words = [file, '--output-dir', out, '--no-check', '-n', '2', '--json']
  const first = spawn(process.execPath, [bin, 'generate', ...words], { env, stdio: 'ignore' })
  const placed = () => (existsSync(join(out, 'tasks')) ? readdirSync(join(out, 'tasks')).length : 0)
  while (placed() < 10 && first.exitCode === null) await new Promise((done) => setTimeout(done, 20))
  first.kill('SIGKILL')
  await once(first, 'exit')
  const before = placed()
  expect(before).toBeLessThan(60)
  writeFileSync(join(scratch, 'go-on'), '')
  const { status, stdout, stderr } = await run(...words)
  expect(status, stderr).toBe(0)
  const { metadata } = JSON.parse(stdout).tasks
  expect(metadata).toMatchObject({ rows: 60, tasks: 60 })
  expect(metadata.resumed).toBeGreaterThanOrEqual(before - 1)
  expect(placed()).toBe(60)
  const made = readFileSync(join(out, '.work/cache/made'), 'utf8').trim().split('\n')
  // Only rows in progress when the first run died are made again.
  expect(made.length - 60).toBeLessThanOrEqual(3)
})

function pipeline(name: string, make: string, head = '', rows = 2): string {
  const dir = join(scratch, name)
  mkdirSync(dir, { recursive: true })
  const lines = Array.from({ length: rows }, (_, id) => JSON.stringify({ id: `r${id}` }))
  writeFileSync(join(dir, 'rows.jsonl'), `${lines.join('\n')}\n`)
  const source = `source: { fixture: { use: 'sources/file', with: { path: 'rows.jsonl', id: 'id' } }, real: null }`
  writeFileSync(
    join(dir, 'generate.ts'),
    `${head}import { definePipeline } from 'ot-agent'\nexport default definePipeline({ name: '${name}', summary: 's', ${source}, ${make} })\n`,
  )
  return join(dir, 'generate.ts')
}

function generate(...words: string[]) {
  return run(...words, '--json', '--quiet')
}

/** Runs the command once one of the slots is free. */
async function run(...words: string[]) {
  return places.run(new AbortController().signal, async () => {
    const child = spawn(process.execPath, [bin, 'generate', ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = [child.stdout, child.stderr].map((stream) => text(stream))
    const [status] = await once(child, 'close')
    const [stdout = '', stderr = ''] = await Promise.all(said)
    return { status, stdout, stderr }
  })
}
