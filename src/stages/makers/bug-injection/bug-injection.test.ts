import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../../test/contracts/stage.ts'
import { provider, withSandboxes } from '../../../../test/e2e/kit.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import { needs } from '../../../../test/needs.ts'
import type { ModelClient } from '../../../core/model.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import { isDropped } from '../../../core/stage.ts'
import { applyFilePatch, parsePatch } from '../../../formats/unified-diff.ts'
import bugInjection from './index.ts'
import { findLeak, findSymptoms } from './issue.ts'
import { countYields } from './journal.ts'

const make = (options: object = {}) =>
  bugInjection.make(bugInjection.options.parse({ root: 'data/issue-tasks', ...options }), {
    env: {},
    stateDir: '/nonexistent',
  })
const tools: RawRow = {
  id: 'word-tools',
  source: 'test',
  fields: {
    repo: './fixtures/word-tools',
    test_command: 'node --test --test-reporter=tap',
    test_format: 'tap',
  },
}
const only = (...mutators: string[]) => ({ mutators, attempts: 6 })

describe('bugs in a repository', () => {
  withSandboxes('with sandboxes', () => {
    stageLaws('makers/bug-injection', {
      make: async () => make(only('comparison-flip')) as never,
      rows: [tools, { ...tools, id: 'bad', fields: { repo: './nowhere' } }],
      sandboxes: provider,
    })

    test('a task has the bug and not the fix; its tests come from a copy, its solution is the way back', async () => {
      const workDir = await makeTempDir()
      const given = await runStage(
        make({ ...only('comparison-flip', 'returns-nothing'), tests: 'hidden' }) as never,
        [tools],
        {
          sandboxes: provider,
          workDir,
        },
      )
      const draft = given.find((row) => !isDropped(row)) as TaskDraft
      const { files, instruction } = draft
      const [patch] = parsePatch(String(files['solution/fix.patch']?.data))
      const path = patch?.newPath ?? ''
      const original = readFileSync(join('data/issue-tasks/fixtures/word-tools', path), 'utf8')
      const broken = String(files[`environment/repo/${path}`]?.data)
      expect(broken).not.toBe(original)
      expect(applyFilePatch(broken, patch!)).toBe(original)
      expect(String(files[`solution/files/${path}`]?.data)).toBe(original)
      expect(Object.keys(files).filter((name) => /^environment\/repo\/test\//.test(name))).toEqual([])
      expect(Object.keys(files)).toContain('tests/files/test/words.js')
      const lists = ['fail-to-pass', 'pass-to-pass'].map((name) =>
        String(files[`tests/${name}.txt`]?.data).trim().split('\n'),
      )
      expect(lists.flat().length).toBe(11)
      expect(lists.every((list) => list.length > 0)).toBe(true)
      expect(instruction).toMatch(/```js\nimport \{ [\w, ]+ \} from '.\/src\/index.js'\n\nconsole.log\(/)
      for (const name of lists[0]!) expect(instruction).not.toContain(name)
      expect(instruction).not.toContain(path)
      const yields = JSON.parse(readFileSync(join(workDir, 'bug-injection/yields.json'), 'utf8'))
      const tried = Object.values(yields.mutators as Record<string, { tried: number }>)
      expect(tried.reduce((sum, one) => sum + one.tried, 0)).toBe(given.length)
    })

    test('several bugs are joined, each in a function of its own', async () => {
      const options = { bugs: 2, attempts: 12, mutators: ['comparison-flip', 'returns-nothing', 'off-by-one'] }
      const given = await runStage(make(options) as never, [tools], { sandboxes: provider })
      const draft = given.find((row) => !isDropped(row)) as TaskDraft
      expect(draft.config?.metadata).toMatchObject({ bug: { mutators: [expect.any(String), expect.any(String)] } })
    })

    test('a model breaks a function and writes the issue; what it wrote is known by its prompt', async () => {
      const model = fakeModel((user) => {
        if (user.startsWith('Project:')) return `# Short text is cut\n\n${user}`
        const code = /```js\n([\s\S]*)\n```/.exec(user)?.[1] ?? ''
        return `Here:\n\`\`\`js\n${code.replace('<= limit', '< limit').replace('<= width', '< width')}\n\`\`\``
      })
      const given = await runStage(make({ strategy: 'model', issue: 'model' }) as never, [tools], {
        sandboxes: provider,
        model,
      })
      const draft = given.find((row) => !isDropped(row)) as TaskDraft
      expect(draft.instruction).toContain('# Short text is cut')
      expect(draft.lineage).toMatchObject({
        model: 'test/model',
        promptDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
      })
      expect(given.filter(isDropped).map(({ drop }) => drop)).toContain('no-change')
    })

    test('an issue that gives the bug away is not used', async () => {
      const model = fakeModel(() => '# Broken\n\nSee src/words.js and src/wrap.js.')
      const given = await runStage(
        make({ ...only('returns-nothing'), attempts: 2, issue: 'model' }) as never,
        [tools],
        {
          sandboxes: provider,
          model,
        },
      )
      expect(given.map((row) => isDropped(row) && row.drop)).toContain('leaky-issue')
      expect(given.every(isDropped)).toBe(true)
    })

    test('Python is broken too, and measured by unittest', needs('python3'), async () => {
      const ledger: RawRow = {
        ...{ id: 'ledger', source: 'test' },
        fields: {
          repo: '../swesmith/fixtures/acme__tiny-ledger',
          test_command: ['python3 -m unittest -v'],
          test_format: 'unittest',
        },
      }
      const given = await runStage(make(only('removed-statement', 'loop-bound')) as never, [ledger], {
        sandboxes: provider,
      })
      const draft = given.find((row) => !isDropped(row)) as TaskDraft
      const failing = String(draft.files['tests/fail-to-pass.txt']?.data)
      expect(failing).toMatch(/^tests\.test_\w+\.\w+\.test_/)
      expect(draft.instruction).toMatch(/```python\nfrom ledger import \w+\n/)
      expect(draft.instruction).not.toMatch(/test_/)
    })

    test(
      'a bug that a later version fixed comes back, without the list of changes that tells',
      needs('python3'),
      async () => {
        const spans: RawRow = {
          ...{ id: 'spans', source: 'test' },
          fields: {
            ...{ repo: './fixtures/packages/spans-1.1', older: './fixtures/packages/spans-1.0' },
            ...{ test_command: 'python3 -m unittest -v', test_format: 'unittest' },
          },
        }
        const options = { mutators: ['reverted-fix'], tasks: 2, tests: 'hidden' }
        const given = await runStage(make(options) as never, [spans], { sandboxes: provider })
        const drafts = given.filter((row) => !isDropped(row)) as TaskDraft[]
        expect(drafts.map(({ config }) => Object(config?.metadata).bug.mutators)).toEqual([
          ['reverted-fix'],
          ['reverted-fix'],
        ])
        const instructions = drafts.map(({ instruction }) => instruction).join('\n')
        expect(instructions).toContain("LINES = ['write: 1h', 'read: 20m', 'write: 30m']\nlog = Log(LINES)")
        expect(instructions).toMatch(/`'50m'`/)
        expect(instructions).toMatch(/`\['read'\]`/)
        for (const { files } of drafts) {
          expect(Object.keys(files)).toContain('environment/repo/spans/total.py')
          expect(Object.keys(files).filter((name) => /CHANGES|SOURCES|^environment.*test/.test(name))).toEqual([])
        }
      },
    )

    test('a repository without passing tests is refused, with what its tests said', async () => {
      const fields = { ...tools.fields, test_command: 'echo nothing to see' }
      const given = await runStage(make() as never, [{ ...tools, fields }], { sandboxes: provider })
      expect(given).toMatchObject([{ drop: 'bad-repository', detail: expect.stringContaining('nothing to see') }])
    })
  })
})

test('without sandboxes nothing is tried', async () => {
  await expect(runStage(make() as never, [tools])).rejects.toThrow(/expected sandboxes/)
})

test('an issue may say how it behaves, and not where it is', () => {
  const files = { 'src/a.js': { data: 'const a = 1\nif (total > limit) stop()\n' } }
  const changed = { 'src/a.js': 'const a = 1\nif (total >= limit) stop()\n' }
  const leak = (text: string) => findLeak(text, changed, { files })
  expect(leak('It stops too early when the total is the limit.')).toBeNull()
  expect(leak('The cause is in `src/a.js`.')).toMatch(/names the file/)
  expect(leak('See a.js line 2')).toMatch(/names a line/)
  expect(leak('I think   `if (total > limit) stop()` is meant')).toMatch(/a line of the patch/)
  expect(leak('now it says if (total >= limit)\nstop()')).toMatch(/a line of the patch/)
  expect(leak('@@ -1,2 +1,2 @@')).toMatch(/holds a patch/)
  expect(leak(`commit ${'ab12'.repeat(10)}`)).toMatch(/digest/)
})

test('symptoms are what was said, not where', () => {
  const log = `not ok 1 - x
  error: 'Expected values to be strictly equal'
  expected: 3
  actual: 4
  stack: |-
    TestContext.<anonymous> (file:///app/test/words.js:7:10)
E   AssertionError: assert 1 == 2
TypeError: x is not a function
    at run (/app/src/a.js:1:2)
`
  expect(findSymptoms(log)).toEqual([
    "error: 'Expected values to be strictly equal'",
    'expected: 3',
    'actual: 4',
    'AssertionError: assert 1 == 2',
    'TypeError: x is not a function',
  ])
})

test('yields are counted by mutator and verdict', () => {
  const record = (key: string, mutator: string, verdict: 'kept' | 'flaky') => ({
    key,
    mutator,
    verdict,
    failToPass: [],
    symptoms: [],
  })
  expect(countYields([record('1', 'b', 'kept'), record('2', 'a', 'flaky'), record('3', 'b', 'flaky')])).toEqual({
    a: { tried: 1, verdicts: { flaky: 1 } },
    b: { tried: 2, verdicts: { kept: 1, flaky: 1 } },
  })
})

function fakeModel(answer: (user: string) => string): ModelClient {
  return {
    model: 'test/model',
    facts: {
      ...{ contextTokens: null, outputTokens: null },
      ...{ inputUsdPerToken: null, cacheUsdPerToken: null, outputUsdPerToken: null },
    },
    complete: async ({ messages }) => ({
      kind: 'reply',
      reply: {
        ...{ text: answer(messages.at(-1)?.content ?? ''), reasoning: null, toolCalls: [], finish: 'stop' },
        ...{ usage: { inputTokens: 1, cacheTokens: 0, outputTokens: 1 }, costUsd: null, tokens: null, latencyMs: 1 },
      },
    }),
    countTokens: () => ({ tokens: 1, exact: false }),
  }
}
