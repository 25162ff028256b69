import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RawRow, TaskDraft } from '../../src/core/row.ts'
import { isDropped } from '../../src/core/stage.ts'
import { saveTaskDraft } from '../../src/formats/harbor-task/draft.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { makeAgent } from '../../src/plugins/make.ts'
import { checkTask } from '../../src/run/check/check-task.ts'
import bugInjection from '../../src/stages/makers/bug-injection/index.ts'
import { mutators } from '../../src/stages/makers/bug-injection/mutate.ts'
import { runStage } from '../contracts/stage.ts'
import { alternatives, provider, scratch, withSandboxes } from '../e2e/kit.ts'

/** A third-party package with its own tests, and tape, which runs them. */
const packages = ['minimist@1.2.8', 'tape@2.14.1']
const home = join(scratch, 'installed')
const reachable = await installed()
const skip = { skip: !reachable, meta: reachable ? {} : { skipReason: 'the npm registry cannot be reached' } }

withSandboxes('bugs in a package of the npm registry', () => {
  test('its own tests decide what fails; every mutator is tried, and tasks pass the spine', {
    timeout: 1_800_000,
    ...skip,
  }, async () => {
    const options = { root: scratch, tasks: 18, attempts: 18, pipeline: 'npm' }
    const stage = bugInjection.make(bugInjection.options.parse(options), { env: {}, stateDir: '/nonexistent' })
    const workDir = join(scratch, 'work')
    const row: RawRow = {
      ...{ id: 'minimist', source: 'npm' },
      fields: { repo: './minimist', test_command: 'node node_modules/tape/bin/tape test/*.js', test_format: 'tap' },
    }
    const given = await runStage(stage as never, [row], { sandboxes: provider, workDir })
    const drafts = given.filter((one) => !isDropped(one)) as TaskDraft[]
    const { mutators: yields } = JSON.parse(readFileSync(join(workDir, 'bug-injection/yields.json'), 'utf8'))
    process.stderr.write(`${renderYields(yields)}\n`)
    expect(Object.keys(yields).length).toBeGreaterThanOrEqual(10)
    expect(drafts.length).toBeGreaterThanOrEqual(10)
    const brokenBy = new Set(drafts.flatMap(({ config }) => Object(config?.metadata).bug.mutators as string[]))
    expect(brokenBy.size).toBeGreaterThanOrEqual(6)
    for (const { files, instruction } of drafts) {
      expect(String(files['tests/fail-to-pass.txt']?.data).trim()).not.toBe('')
      expect(String(files['tests/pass-to-pass.txt']?.data).trim()).not.toBe('')
      expect(instruction).not.toContain('index.js')
    }
    for (const draft of drafts.filter((_, i) => i % Math.ceil(drafts.length / 3) === 0)) await proveTask(draft)
  })
})

async function proveTask(draft: TaskDraft): Promise<void> {
  const task = await loadTask(await saveTaskDraft(draft, join(scratch, 'tasks')))
  const { signal } = new AbortController()
  const request = {
    provider,
    sandboxOptions: {},
    makeAgent,
    alternatives,
    hostEnv: {},
    repeats: 2,
    lintOnly: false,
    signal,
  }
  const { verdict, checks } = await checkTask(task, request, join(scratch, 'checks', draft.name))
  expect(verdict, JSON.stringify(checks)).toBe('accepted')
}

type Yields = Record<string, { tried: number; verdicts: Record<string, number> }>

function renderYields(yields: Yields): string {
  const unused = mutators.filter(({ name }) => !(name in yields)).map(({ name }) => name)
  const lines = Object.entries(yields).map(([name, { tried, verdicts }]) => {
    const rest = Object.entries(verdicts).map(([verdict, count]) => `${verdict} ${count}`)
    return `${name.padEnd(22)} ${String(verdicts.kept ?? 0).padStart(2)}/${tried}  ${rest.join(', ')}`
  })
  return [...lines, `nothing to do for: ${unused.join(', ') || 'none'}`].join('\n')
}

async function installed(): Promise<boolean> {
  await mkdir(home, { recursive: true })
  try {
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', home, ...packages]
    execFileSync('npm', args, { stdio: 'ignore', timeout: 120_000 })
  } catch {
    return false
  }
  const repository = join(scratch, 'minimist')
  await cp(join(home, 'node_modules/minimist'), repository, { recursive: true })
  await cp(join(home, 'node_modules'), join(repository, 'node_modules'), { recursive: true })
  await rm(join(repository, 'node_modules/minimist'), { recursive: true })
  return true
}
