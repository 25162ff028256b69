import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import forger from '../../src/agents/forger.ts'
import nop from '../../src/agents/nop.ts'
import oracle from '../../src/agents/oracle.ts'
import type { Agent } from '../../src/core/agent.ts'
import type { Plugin } from '../../src/core/plugin.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { sleep } from '../../src/lib/deadline.ts'
import type { TaskReport } from '../../src/run/check/check-task.ts'
import { checkTasks } from '../../src/run/check/check-tasks.ts'
import { faultyProvider } from '../fakes/faulty-provider.ts'
import { type Tree, writeTree } from '../trees.ts'
import { alternatives, provider, scratch, stateDir, withSandboxes } from './kit.ts'

const reward = '/logs/verifier/reward.txt'
const honestTest = `[ "$(cat /app/lines.txt)" = 3 ] && reward=1 || reward=0\necho $reward > ${reward}`

/** A small honest task; the bad ones below are variations of it. */
const honest = {
  'task.toml': 'schema_version = "1.2"\n[environment]\nallow_internet = false\n',
  'instruction.md': 'Count the lines of /app/poem.txt and write the number to /app/lines.txt.\n',
  'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\nCOPY poem.txt /app/poem.txt\n',
  'environment/poem.txt': 'one\ntwo\nthree\n',
  'solution/solve.sh': '#!/bin/bash\nwc -l < /app/poem.txt > /app/lines.txt\n',
  'tests/test.sh': `#!/bin/bash\n${honestTest}\n`,
}
const testing = (body: string) => ({ 'tests/test.sh': `#!/bin/bash\n${body}\n` })

/** What is wrong with each task, and which check has to report it in which words. */
const bad: Record<string, { changes: Record<string, string | null>; check: string; reason: RegExp; verdict?: string }> =
  {
    flaky: {
      changes: testing(
        `${honestTest}\nrm ${reward}\necho "{\\"reward\\": $reward, \\"luck\\": $RANDOM$RANDOM}" > /logs/verifier/reward.json`,
      ),
      check: 'repeat',
      reason: /2 runs of the oracle disagree: \{"luck":\d+,"reward":1\}, /,
    },
    vacuous: {
      changes: testing(`ls /app\necho 1 > ${reward}`),
      check: 'lint',
      reason: /verifier-one-value: tests\/test.sh/,
    },
    'nothing-to-do': {
      changes: { 'environment/Dockerfile': `${honest['environment/Dockerfile']}RUN echo 3 > /app/lines.txt\n` },
      check: 'nop',
      reason: /doing nothing scores 1/,
    },
    leaking: {
      changes: { 'instruction.md': `${honest['instruction.md']}Use \`wc -l < /app/poem.txt > /app/lines.txt\`.\n` },
      check: 'lint',
      reason: /leak-solution-in-instruction: instruction.md/,
    },
    'wrong-solution': {
      changes: { 'solution/solve.sh': '#!/bin/bash\nwc -w < /app/poem.txt > /app/words.txt\n' },
      check: 'oracle',
      reason: /scored 0, expected 1/,
    },
    'no-solution': {
      changes: { 'solution/solve.sh': null },
      check: 'lint',
      reason: /has no solution to prove that it can be solved/,
    },
    'no-tests': { changes: { 'tests/test.sh': null }, check: 'lint', reason: /no-tests: tests\/test.sh/ },
    'broken-toml': { changes: { 'task.toml': 'schema_version = \n' }, check: 'lint', reason: /task\.toml/ },
    trusting: {
      changes: testing(`[ "$(cat /app/lines.txt)" = 3 ] && echo 1 > ${reward}\n[ -f ${reward} ] || echo 0 > ${reward}`),
      check: 'lint',
      reason: /verifier-trusts-reward-file/,
    },
    silent: {
      changes: testing(`out=${reward}\n[ "$(cat /app/lines.txt)" = 3 ] && echo 1 > $out`),
      check: 'nop',
      reason: /RewardFileNotFoundError/,
    },
    'empty-answer': {
      changes: {
        'solution/solve.sh': '#!/bin/bash\ngrep -c four /app/poem.txt > /app/lines.txt\n',
        ...testing(`[ "$(cat /app/lines.txt)" = 0 ] && reward=1 || reward=0\necho $reward > ${reward}`),
      },
      check: 'shallow',
      reason: /a shallow solution scores 1: write the constant 0/,
    },
    complaining: {
      changes: {
        'instruction.md': `${honest['instruction.md']}Leave the lines of /app/old.txt out.\n`,
        'solution/solve.sh': '#!/bin/bash\ncat /app/missing.txt /app/poem.txt | wc -l > /app/lines.txt\n',
      },
      check: 'reference',
      reason: /stderr: the solution complains: cat: .*missing.txt: No such file|missing-path: .*\/app\/old.txt/,
    },
    'unnamed-output': {
      changes: { 'instruction.md': 'Count how much text /app/poem.txt has, and write down the number in a file.\n' },
      check: 'stated',
      reason: /name: the tests look at \/app\/lines.txt, which the instruction does not name/,
    },
    'hidden-order': {
      changes: {
        'instruction.md': 'Write the different words of /app/poem.txt to /app/lines.txt.\n',
        'solution/solve.sh': '#!/bin/bash\nsort -u /app/poem.txt > /app/lines.txt\n',
        ...testing(
          `[ "$(cat /app/lines.txt)" = "$(sort -u /app/poem.txt)" ] && reward=1 || reward=0\necho $reward > ${reward}`,
        ),
      },
      check: 'stated',
      reason: /order: the tests want the lines of \/app\/lines.txt in an order/,
    },
    'broken-build': {
      changes: { 'environment/Dockerfile': `${honest['environment/Dockerfile']}RUN exit 7\n` },
      check: 'start',
      reason: /task failed: .*7/,
    },
    'beyond-reach': {
      changes: { 'task.toml': `${honest['task.toml']}gpus = 1\n` },
      check: 'start',
      reason: /GPU/,
      verdict: 'unknown',
    },
  }

async function writeTask(dir: string, changes: Record<string, string | null> = {}): Promise<string> {
  const tree: Tree = {}
  for (const [path, content] of Object.entries({ ...honest, ...changes })) {
    if (content !== null) tree[path] = { content, mode: path.endsWith('.sh') ? 0o755 : 0o644 }
  }
  await writeTree(dir, tree)
  return dir
}

interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built program, as a user starts it; `during` may interfere while it runs. */
async function otAgent(argv: readonly string[], during?: (kill: () => void) => Promise<void>): Promise<Ran> {
  const env = { ...process.env, XDG_CACHE_HOME: stateDir }
  const child = spawn(process.execPath, ['bin/ot-agent.js', ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk) => (output.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk) => (output.stderr += chunk))
  const code = new Promise<number | null>((resolve) => child.on('close', resolve))
  await during?.(() => child.kill('SIGINT'))
  return { code: await code, ...output }
}

/** Gives a forger that is still alive time to succeed, however slow the machine is. */
const untilForged =
  'while grep -qs "[d]o forge" /proc/[0-9]*/cmdline && [ "$(cat /logs/verifier/reward.txt)" != 1 ]; do sleep 0.05; done'

/** Kills nothing before the tests run, and is slow to hand out their files. */
const weakProvider = faultyProvider(provider, {
  inside: (real) => ({
    freeze: async () => ({ isolation: 'shared', restored: null }),
    downloadDir: async (...files) => {
      await real.exec(['bash', '-c', untilForged], { timeoutSec: 30 })
      return real.downloadDir(...files)
    },
  }),
})

const checkOf = (report: TaskReport | undefined, name: string) => report?.checks.find((check) => check.name === name)

withSandboxes('tasks check', () => {
  let result: Ran
  let reports: Map<string, TaskReport>

  beforeAll(async () => {
    const folder = join(scratch, 'bad')
    await writeTask(join(folder, 'honest'))
    for (const [name, { changes }] of Object.entries(bad)) await writeTask(join(folder, name), changes)
    result = await otAgent([
      'tasks',
      'check',
      folder,
      '--repeats',
      '2',
      '-n',
      '2',
      '--json',
      '--keep',
      join(scratch, 'kept'),
    ])
    const { tasks } = JSON.parse(result.stdout) as { tasks: TaskReport[] }
    reports = new Map(tasks.map((report) => [report.task, report]))
  })

  test.each(Object.entries(bad))(
    'the task "%s" is not accepted, for the right reason',
    (name, { check, reason, verdict }) => {
      const report = reports.get(name)
      expect(checkOf(report, check)).toMatchObject({ reasons: expect.arrayContaining([expect.stringMatching(reason)]) })
      expect(report?.verdict).toBe(verdict ?? 'rejected')
    },
  )

  test('the honest task among them is accepted, and every check ran', () => {
    const report = reports.get('honest')
    expect(report).toMatchObject({ verdict: 'accepted', findings: [] })
    expect(report?.checks.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      ...['lint', 'start', 'oracle', 'repeat', 'nop', 'reference', 'stated', 'shallow', 'forger'].map(
        (name) => `${name} ok`,
      ),
      'opinion skipped',
    ])
  })

  test('a rejected task fails the command, and only its trials are kept', () => {
    expect(result.code).toBe(3)
    expect(JSON.parse(result.stdout)).toMatchObject({ schema: 'tasks-check/1', accepted: 1, unknown: 1 })
    const { checks } = JSON.parse(result.stdout)
    const sums = checks.map(({ name: _, ...counts }: Record<string, number>) =>
      Object.values(counts).reduce((sum, count) => sum + count, 0),
    )
    expect(new Set(sums)).toEqual(new Set([reports.size]))
    const kept = readdirSync(join(scratch, 'kept')).map((name) => name.replace(/^\d+-/, ''))
    expect(kept).toContain('wrong-solution')
    expect(kept).not.toContain('honest')
  })

  test('every example task is accepted', async () => {
    const { code, stdout, stderr } = await otAgent(['tasks', 'check', 'examples/tasks', '--repeats', '1', '-n', '2'])
    expect(stderr).not.toMatch(/rejected|unknown/)
    const names = readdirSync('examples/tasks')
    expect(stdout).toMatch(new RegExp(`^oracle +${names.length} +0 +0 +0$`, 'm'))
    for (const name of names)
      expect(stdout).toMatch(
        new RegExp(`^ot-agent/${name} +accepted +ok +ok +ok +- +ok +(?:ok|-) +(?:ok|-) +(?:ok|-) +ok +-$`, 'm'),
      )
    expect({ code, many: names.length >= 12 }).toEqual({ code: 0, many: true })
  })

  test('a sandbox that leaves the agent alive while it verifies is found out by the forger', async () => {
    const task = await loadTask(await writeTask(join(scratch, 'forged')))
    const agents: Record<string, Plugin<Agent>> = { forger, nop, oracle }
    const check = (verify: 'real' | 'weak') =>
      checkTasks([task], {
        provider: verify === 'real' ? provider : weakProvider,
        sandboxOptions: {},
        makeAgent: async (name, options) =>
          agents[name]!.make(agents[name]!.options.parse(options), { env: {}, stateDir }),
        alternatives,
        hostEnv: {},
        repeats: 1,
        lintOnly: false,
        signal: new AbortController().signal,
        concurrency: 1,
        workDir: join(scratch, `forged-${verify}`),
        keep: false,
        onReport: () => {},
      })
    const [weak] = await check('weak')
    expect(checkOf(weak, 'forger')).toMatchObject({
      outcome: 'fail',
      reasons: [expect.stringMatching(/forged reward was accepted/)],
    })
    expect(weak?.notes.join()).toMatch(/could tamper with/)
    expect(weak?.verdict).toBe('rejected')
    const [real] = await check('real')
    expect(real?.verdict).toBe('accepted')
  })

  test('Ctrl-C ends it with 130 and leaves no sandbox and no file', async () => {
    const slow = await writeTask(join(scratch, 'slow'), {
      'solution/solve.sh': '#!/bin/bash\ntouch /logs/agent/here\nsleep 300\n',
    })
    const keep = join(scratch, 'interrupted')
    const { code, stderr } = await otAgent(['tasks', 'check', slow, '--keep', keep], async (kill) => {
      while (!existsSync(join(keep, '0001-slow', 'oracle-1', 'trial.log'))) await sleep(20)
      kill()
    })
    expect({ code, left: readdirSync(keep) }).toEqual({ code: 130, left: [] })
    expect(stderr).toMatch(/cancelled/)
    expect((await otAgent(['clean', '--dry-run', '--json'])).stdout).toContain('"reaped": []')
  })
})

test.each([
  ['a path that is not there', ['no/such/path'], /no\/such\/path: expected a task or a folder of tasks/],
  ['a folder without tasks', ['src/core'], /src\/core: expected a task.toml/],
  ['an unknown sandbox', ['examples/tasks', '-e', 'cloud9'], /unknown sandbox "cloud9"/],
  [
    'a folder to keep things in that is not empty',
    ['examples/tasks', '--keep', 'src'],
    /--keep: expected a new or empty folder/,
  ],
  ['no runs at all', ['examples/tasks', '--repeats', '0'], /--repeats.*at least 1/],
])('%s is an error of two lines', async (_, argv, message) => {
  const { code, stderr } = await otAgent(['tasks', 'check', ...argv])
  expect({ code, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 2, lines: 2 })
  expect(stderr).toMatch(message)
})
