import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../../test/contracts/stage.ts'
import { alternatives, provider, scratch, withSandboxes } from '../../../../test/e2e/kit.ts'
import { recordedReply } from '../../../../test/fakes/real-replies.ts'
import { writeTask } from '../../../../test/fakes/tasks.ts'
import { clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import type { ModelRequest } from '../../../core/model.ts'
import type { TaskRow } from '../../../core/row.ts'
import { loadTask } from '../../../formats/harbor-task/load.ts'
import { makeAgent } from '../../../plugins/make.ts'
import { checkTask } from '../../../run/check/check-task.ts'
import constrain from '../../augment/constrain.ts'
import harden from '../../augment/harden.ts'
import newContext from '../../augment/new-context.ts'
import rewrite from '../../augment/rewrite.ts'
import { placeTask } from '../rolling/place-tasks.ts'
import { taskRowOf } from '../task-row.ts'
import { bindingDetails, lostDetails } from './details.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (plugin: typeof rewrite, more = {}) => plugin.make(plugin.options.parse(more), context) as never
const told = (answer: (prompt: string) => string) =>
  clientThat((request: ModelRequest, options) => replies(answer(request.messages[0]?.content ?? ''))(request, options))

const files = {
  'tests/test.sh':
    '#!/bin/bash\nreward=0\n[ "$(cat /app/answer.txt)" = 42 ] && reward=1\necho $reward > /logs/verifier/reward.txt\n',
  'solution/solve.sh': '#!/bin/bash\nmkdir -p /app\nprintf "%s\\n" "$((6 * 7))" > /app/answer.txt\n',
  'environment/Dockerfile': 'FROM debian:12-slim\n\nWORKDIR /app\n',
  'instruction.md': 'Multiply 6 by 7 with care and write the product to `/app/answer.txt`, as a plain number.\n',
}
const dir = await writeTask(scratch, 'multiply', {
  files,
  toml: 'schema_version = "1.4"\n\n[task]\nname = "org/multiply"\n',
})
const row = (await taskRowOf(dir, 'sums')) as TaskRow
const good = 'The product of 6 and 7 belongs into `/app/answer.txt`, as a number and no more.'

stageLaws('augment/rewrite', { make: async () => make(rewrite), rows: [row], model: told(() => good) })

test('a task is rewritten: its files stay, its parent and the prompt are in its lineage', async () => {
  const [made] = (await runStage(make(rewrite), [row], {
    model: told(() => `<instruction>\n${good}\n</instruction>`),
  })) as [TaskRow]
  expect(made).toMatchObject({
    id: 'sums.multiply-rewrite',
    name: 'multiply-rewrite',
    source: 'sums',
    instruction: expect.stringContaining(good),
  })
  expect(made.digest).not.toBe(row.digest)
  expect(made.lineage).toMatchObject({
    ...{ strategy: 'rewrite', pipeline: 'sums', rowId: row.id, rowDigest: row.digest, parents: [row.digest] },
    ...{ model: 'fake/model', promptDigest: expect.stringMatching(/^[0-9a-f]{64}$/) },
  })
  const place = await makeTempDir()
  expect(await placeTask(made, place, 'task')).toBe(null)
  expect((await loadTask(join(place, 'task'))).name).toBe('org/multiply-rewrite')
})

test('a telling that loses what the tests look at, or gives the solution away, is sent back with what is wrong', async () => {
  const model = clientThat(
    replies('Put the product of 6 and 7 somewhere.'),
    replies(`${good} For example: printf "%s\\n" "$((6 * 7))" > /app/answer.txt`),
    replies(good),
  )
  expect(await runStage(make(harden), [row], { model })).toMatchObject([{ name: 'multiply-harden' }])
  expect(model.asked[1]?.messages.at(-1)?.content).toContain('it lost "/app/answer.txt"')
  expect(model.asked[2]?.messages.at(-1)?.content).toContain('gives the solution away')
  const stubborn = told(() => 'Never.')
  expect(await runStage(make(harden), [row], { model: stubborn })).toMatchObject([{ drop: 'bad-reply', id: row.id }])
})

test('a telling that repeats the question is sent back, even with every detail in it', async () => {
  const { text } = recordedReply('rewriteOfThePrompt')
  const model = clientThat(replies(`${text}\n${good}`))
  expect(await runStage(make(rewrite), [row], { model })).toMatchObject([
    { drop: 'bad-reply', detail: /^it repeats the question; reply 3 of 3 begins "In other words/, id: row.id },
  ])
})

test('several tellings of a task differ, and the old one may go on before them', async () => {
  const model = told((prompt) => `${good} ${prompt.includes('telling number 2') ? 'Second.' : 'First.'}`)
  const given = (await runStage(make(newContext, { variants: 2, keepOriginal: true }), [row], { model })) as TaskRow[]
  expect(given.map(({ name }) => name)).toEqual(['multiply', 'multiply-new-context', 'multiply-new-context-2'])
  expect(new Set(given.map(({ digest }) => digest)).size).toBe(3)
})

test('the solution is shown only for adding a constraint', async () => {
  const seen: string[] = []
  const model = told((prompt) => {
    seen.push(prompt)
    return good
  })
  await runStage(make(constrain), [row], { model })
  await runStage(make(harden), [row], { model })
  expect(seen.map((prompt) => prompt.includes('6 * 7'))).toEqual([true, false])
})

test('an archive that is another task than its row says is dropped', async () => {
  const forged = { ...row, digest: '0'.repeat(64) }
  expect(await runStage(make(rewrite), [forged], { model: told(() => good) })).toMatchObject([
    { drop: 'digest-mismatch' },
  ])
})

test('whatever is quoted and looked at by the tests is binding, and its loss is seen', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9_-]{2,12}$/)
  fc.assert(
    fc.property(word, word, (name, other) => {
      const task = {
        instruction: `Name it \`${name}\` in /srv/${other}. Be quick.`,
        tests: `grep ${name}`,
        solution: '',
      }
      expect(bindingDetails(task)).toEqual([`/srv/${other}`, name])
      expect(lostDetails(bindingDetails(task), `${name} in /srv/${other}`)).toEqual([])
      expect(lostDetails(bindingDetails(task), '?')).toEqual([`/srv/${other}`, name])
    }),
  )
})

withSandboxes('a task that was told anew', () => {
  test('passes the spine as the old one does', async () => {
    const [made] = (await runStage(make(rewrite), [row], { model: told(() => good) })) as [TaskRow]
    const place = await makeTempDir()
    await placeTask(made, place, 'task')
    const request = {
      ...{ provider, sandboxOptions: {}, makeAgent, alternatives, hostEnv: {}, repeats: 1, lintOnly: false },
      signal: new AbortController().signal,
    }
    const report = await checkTask(await loadTask(join(place, 'task')), request, await makeTempDir())
    expect(report.verdict, JSON.stringify(report.checks)).toBe('accepted')
  })
})
