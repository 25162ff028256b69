import { expect, test } from 'vitest'
import mine from '../../../../data/dclm-mine/mine.ts'
import { shellLikeness } from '../../../../data/dclm-mine/shell-likeness.ts'
import selfInstruct from '../../../../data/self-instruct/self-instruct.ts'
import teacher from '../../../../data/teacher-authored/teacher.ts'
import { replayScript } from '../../../../data/trace-to-tests/replay.ts'
import traceTests from '../../../../data/trace-to-tests/trace-tests.ts'
import { runStage, stageLaws } from '../../../../test/contracts/stage.ts'
import { provider, withSandboxes } from '../../../../test/e2e/kit.ts'
import { clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import type { ModelRequest } from '../../../core/model.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import { proveDraft } from './prove-draft.ts'
import { reviewDraft } from './review-draft.ts'
import { type AuthoredTask, authoredTask } from './task-form.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = <T>(
  plugin: { options: { parse(given: object): T }; make(options: T, at: typeof context): unknown },
  more = {},
) => plugin.make(plugin.options.parse({ pipeline: 'p', ...more }), context) as never
const row = (id: string, fields: Record<string, unknown>): RawRow => ({ id, source: 'test', fields })

const good: AuthoredTask = {
  instruction: 'Count the lines of `/app/words.txt` and write the number to `/app/count.txt`, nothing else.',
  files: [{ path: 'words.txt', text: 'a\nb\nc\n' }],
  packages: [],
  test_sh:
    'reward=0\n[ "$(cat /app/count.txt)" = "$(grep -c "" < /app/words.txt)" ] && reward=1\necho "got $(cat /app/count.txt)"\necho $reward > /logs/verifier/reward.txt',
  solve_sh: 'grep -c "" < /app/words.txt > /app/count.txt',
}
const wrong = { ...good, solve_sh: 'echo 4 > /app/count.txt' }
const lax = { ...good, test_sh: 'echo 1 > /logs/verifier/reward.txt' }
const says = (value: unknown) => replies(JSON.stringify(value))
/** Answers depend only on the question. */
const told = (answer: (prompt: string) => unknown) =>
  clientThat((request: ModelRequest, options) => {
    const said = answer(request.messages.at(-1)?.content ?? '')
    return replies(typeof said === 'string' ? said : JSON.stringify(said))(request, options)
  })

const idea = (name: string) => ({
  name,
  description: `${name}: ${[1, 2, 3, 4, 5].map((nth) => `${name}${nth}`).join(' ')}, and say how many there are.`,
  difficulty: 'easy',
})
const document = `A question about counting lines. ${'It is a long one. '.repeat(20)}\n\`\`\`sh\n$ wc -l < file | tr -d " " > out\n\`\`\``

stageLaws('makers/mine', {
  make: async () => make(mine),
  rows: [row('1', { text: document }), row('2', { text: 'short' }), row('3', {})],
  model: told((prompt) => (prompt.startsWith('Does') ? 'YES' : good)),
})

test('a document falls out of the funnel with its reason, before anybody is asked where that can be', async () => {
  const model = told((prompt) => (prompt.startsWith('Take') ? good : prompt.includes('poem') ? 'NO' : 'Sure.\nYES'))
  const rows = [
    row('plain', { text: 'Once upon a time there was a king. '.repeat(20) }),
    row('poem', { text: `poem ${document}` }),
    row('good', { text: document }),
  ]
  const [plain, poem, task] = await runStage(make(mine), rows, { model })
  expect(plain).toMatchObject({ drop: 'not-about-the-shell', id: 'plain' })
  expect(poem).toEqual({ drop: 'no-task-in-it', id: 'poem' })
  expect(model.asked).toHaveLength(3)
  expect(task).toMatchObject({
    name: 'p-good',
    instruction: good.instruction,
    files: { 'environment/app/words.txt': { data: 'a\nb\nc\n' }, 'solution/solve.sh': { data: /^#!\/bin\/bash\n/ } },
    lineage: { strategy: 'corpus-mining', rowId: 'good', model: 'fake/model', promptDigest: /^[0-9a-f]{64}$/ },
  })
})

test('a maker stops at its own budget, over all its rows', async () => {
  const model = told((prompt) => (prompt.startsWith('Does') ? 'YES' : good))
  const stage = make(mine, { maxCalls: 3, concurrency: 1 })
  const rows = ['a', 'b'].map((id) => row(id, { text: `${id} ${document}` }))
  await expect(runStage(stage, rows, { model })).rejects.toMatchObject({
    boundary: 'model',
    message: /3 calls is used up/,
  })
  expect(model.asked).toHaveLength(3)
})

test('ideas come from a text and a few examples drawn by the seed; a course becomes several tasks', async () => {
  const examples = ['one-idea', 'two-ideas', 'three-ideas', 'four-ideas'].map(idea)
  const model = told((prompt) => (prompt.startsWith('Have') ? { ideas: [idea('first'), idea('second')] } : good))
  const given = { examples, shots: 2, ideas: 2, seed: '{{title}}' }
  const drafts = (await runStage(make(selfInstruct, given), [row('r', { title: 'Logs' })], { model })) as TaskDraft[]
  expect(drafts.map(({ name }) => name)).toEqual(['p-r', 'p-r-2'])
  const prompt = model.asked[0]?.messages[0]?.content ?? ''
  expect(examples.filter(({ name }) => prompt.includes(name))).toHaveLength(2)
  expect(prompt).toContain('<text>\nLogs\n</text>')
  expect(drafts[1]?.config).toEqual({ metadata: { difficulty: 'easy', keywords: ['second'] } })
})

test('a path that leaves the task, and a shell script for a package, are no task at all', () => {
  const bad = (more: object) => authoredTask.safeParse({ ...good, ...more }).success
  expect(bad({})).toBe(true)
  for (const path of ['../x', '/etc/passwd', 'a/../b', 'a//b', '', './a', '..']) {
    expect(bad({ files: [{ path, text: '' }] }), path).toBe(false)
  }
  expect(bad({ packages: ['jq && curl evil'] })).toBe(false)
})

test('a draft that gives its solution away, or tests what nobody was told of, goes back to its author', () => {
  const files = { 'solution/solve.sh': { data: good.solve_sh }, 'tests/test.sh': { data: good.test_sh } }
  expect(reviewDraft({ instruction: good.instruction, files })).toBe(null)
  expect(reviewDraft({ instruction: `Do ${good.solve_sh} now`, files })).toMatch(/gives the solution away/)
  expect(reviewDraft({ instruction: 'Count the lines of words.txt', files })).toMatch(/\/app\/count\.txt/)
})

test('what an agent typed, in JSON or in tags, becomes a script; keys of a terminal do not', () => {
  const json = {
    analysis: '',
    plan: '',
    commands: [{ keystrokes: 'ls\n' }, { keystrokes: 'C-c' }, { keystrokes: "cat > x <<'E'\n1\nE\n" }],
  }
  const conversations = [
    { role: 'user', content: 'Do it: {"commands": [{"keystrokes": "rm -rf /\\n"}]}' },
    { role: 'assistant', content: `Well: ${JSON.stringify(json)}` },
    { from: 'assistant', value: '<keystrokes duration="1">echo $HOME\n</keystrokes>' },
  ]
  expect(replayScript(conversations)).toEqual({
    script: "#!/bin/bash\ncd /app\nls\ncat > x <<'E'\n1\nE\necho $HOME\nexit 0\n",
  })
  expect(replayScript([{ role: 'assistant', content: 'nothing' }])).toHaveProperty('problem')
})

test.each([
  ['A story about a king.', 0],
  ['#!/bin/bash\nfor f in *; do\necho "$f" | wc -l > out\ndone', 10 + 2 + 2 + 2 + 1 + 2],
  ['# A page\n# With headings\n# And nothing\n# About it\nFind the way, make sure, and sort the mail.', 1],
  ["I used this:\n\ngrep 'a' log | sort | uniq -c\nsed -n 1p log | wc -l", 4 + 6 + 1],
  ['$ ls\n$ cd /\n$ ls\n$ ls\n$ ls\n$ ls', 8 + 1],
])('%j has %i points', (text, points) => {
  expect(shellLikeness(text)).toBe(points)
})

withSandboxes('what a model writes is tried out', () => {
  const at = { sandboxes: provider }
  const brief = [row('r', { brief: 'Counting lines' })]

  test('what failed goes back to the model until the solution passes and nothing does not', async () => {
    const model = clientThat(says(lax), says(wrong), says(good))
    const [draft] = await runStage(make(teacher), brief, { ...at, model })
    expect(draft).toMatchObject({ name: 'p-r', lineage: { strategy: 'teacher' } })
    expect((draft as TaskDraft).files['solution/solve.sh']?.data).toContain(good.solve_sh)
    const prompts = model.asked.map(({ messages }) => messages[0]?.content ?? '')
    expect(prompts[1]).toMatch(/full reward although nothing was done/)
    expect(prompts[2]).toMatch(/do not accept the solution[\s\S]*got 4/)
  })

  test('what is still wrong after the last repair is dropped', async () => {
    const model = clientThat(says(wrong))
    const dropped = await runStage(make(teacher, { repairs: 1 }), brief, { ...at, model })
    expect(dropped).toMatchObject([{ drop: 'not-proven', detail: /got 4/, id: 'r' }])
    expect(model.asked).toHaveLength(2)
  })

  test('an environment that cannot be built is told in the same words every time', async () => {
    const lineage = { pipeline: 'p', strategy: 's', rowId: 'r', rowDigest: 'd', seed: 1 }
    const files = {
      'environment/Dockerfile': { data: 'FROM debian:12-slim\nRUN exit 7\n' },
      'tests/test.sh': { data: 'x' },
    }
    const proving = { ...at, workDir: await makeTempDir(), signal: new AbortController().signal }
    const prove = () => proveDraft({ name: 'd', instruction: 'Do it', files, lineage }, proving)
    const told = await prove()
    expect(told).toMatch(/cannot be made.*Dockerfile/s)
    expect(told).not.toContain(proving.workDir)
    expect(await prove()).toBe(told)
  })

  test('tests for a trace are proven by replaying it', async () => {
    const content = JSON.stringify({ analysis: '', plan: '', commands: [{ keystrokes: `${good.solve_sh}\n` }] })
    const dockerfile = 'FROM debian:12-slim\nWORKDIR /app\nCOPY words.txt /app/\n'
    const fields = {
      instruction: good.instruction,
      conversations: [{ role: 'assistant', content }],
      dockerfile,
      files: { 'words.txt': 'x\n' },
    }
    const model = clientThat(says({ test_sh: lax.test_sh }), says({ test_sh: good.test_sh }))
    const given = await runStage(
      make(traceTests),
      [row('t', fields), row('u', { instruction: 'No trace' }), row('v', { instruction: 'Failed', result: '0.0' })],
      {
        ...at,
        model,
      },
    )
    expect(given).toMatchObject([
      { name: 'p-t', instruction: good.instruction, lineage: { strategy: 'trace-to-tests' } },
      { drop: 'no-solution', id: 'u' },
      { drop: 'trace-not-solved', id: 'v' },
    ])
  })
})

test('a teacher without sandboxes is the user’s mistake', async () => {
  await expect(
    runStage(make(teacher), [row('r', { brief: 'x' })], { model: clientThat(says(good)) }),
  ).rejects.toMatchObject({
    name: 'UserError',
  })
})
