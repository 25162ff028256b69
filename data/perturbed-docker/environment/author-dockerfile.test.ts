import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RawRow, TaskDraft } from '../../../src/core/row.ts'
import { runStage } from '../../../test/contracts/stage.ts'
import { provider, withSandboxes } from '../../../test/e2e/kit.ts'
import { clientThat, replies } from '../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import environment from './index.ts'

const make = (more: object) =>
  environment.make(environment.options.parse({ pipeline: 'p', strategy: 'agent', ...more }), {
    ...{ env: {}, stateDir: '/nonexistent' },
  }) as never

const fields = {
  instruction: 'Count the lines of `/app/data.txt` and write the number to `/app/count.txt`.',
  files: {
    'environment/data.txt': 'a\nb\nc\n',
    'tests/test.sh':
      '#!/bin/sh\nreward=0\n[ "$(cat /app/count.txt)" = 3 ] && reward=1\necho $reward > /logs/verifier/reward.txt\n',
    'solution/solve.sh': '#!/bin/sh\ngrep -c "" < /app/data.txt > /app/count.txt\n',
  },
}
const row = (more = {}): RawRow => ({ id: 'r', source: 'test', fields: { ...fields, ...more } })
const says = (...lines: string[]) => replies(`\`\`\`dockerfile\nFROM debian:12-slim\n${lines.join('\n')}\n\`\`\``)
const good = says('WORKDIR /app', 'COPY data.txt /app/')

withSandboxes('a Dockerfile that a model writes', () => {
  test('is returned until it builds, does no part of the task, and lets the solution pass', async () => {
    const mark = join(await makeTempDir(), 'escaped')
    const model = clientThat(
      says('WORKDIR /app', `RUN mkdir -p ${mark} && exit 7`),
      says('WORKDIR /app', 'COPY data.txt /app/', 'RUN echo 3 > /app/count.txt'),
      says('WORKDIR /app'),
      good,
    )
    const [draft] = await runStage(make({}), [row()], { model, sandboxes: provider })
    expect(draft).toMatchObject({ name: 'p-r', lineage: { strategy: 'environment-agent', model: 'fake/model' } })
    expect((draft as TaskDraft).files['environment/Dockerfile']?.data).toBe(
      'FROM debian:12-slim\nWORKDIR /app\nCOPY data.txt /app/\n',
    )
    const prompts = model.asked.map(({ messages }) => messages[0]?.content ?? '')
    expect(prompts[0]).toContain('- data.txt')
    expect(prompts[0]).not.toContain('grep -c')
    expect(prompts[1]).toMatch(/cannot be made.*exit 7/s)
    expect(prompts[2]).toContain('full reward although nothing was done')
    expect(prompts[3]).toContain('do not accept the solution')
    expect(existsSync(mark)).toBe(false)
  })

  test('is dropped with its last reason if it never works', async () => {
    const model = clientThat(says('RUN exit 7'))
    const given = await runStage(make({ repairs: 1 }), [row()], { model, sandboxes: provider })
    expect(given).toMatchObject([{ drop: 'not-proven', detail: expect.stringContaining('exit 7'), id: 'r' }])
    expect(model.asked).toHaveLength(2)
  })

  test('can be for a repository, whose files the model is shown', async () => {
    const root = await makeTempDir()
    mkdirSync(join(root, 'tool'))
    writeFileSync(join(root, 'tool', 'Makefile'), 'count:\n\tgrep -c "" data.txt\n')
    writeFileSync(join(root, 'tool', 'data.txt'), '1\n2\n3\n')
    const files = { ...fields.files, 'environment/data.txt': '' }
    const model = clientThat(says('COPY repo /app'))
    const [draft] = await runStage(make({ root }), [row({ repo: './tool', files })], { model, sandboxes: provider })
    expect((draft as TaskDraft).files['environment/repo/data.txt']).toBeDefined()
    expect(model.asked[0]?.messages[0]?.content).toMatch(/- repo\/data\.txt[\s\S]*--- repo\/Makefile\ncount:/)
  })
})

test('needs a sandbox, and rows with tests', async () => {
  await expect(runStage(make({}), [row()], { model: clientThat(good) })).rejects.toMatchObject({ name: 'UserError' })
  const given = await runStage(make({}), [row({ files: undefined })], { model: clientThat(good) })
  expect(given).toMatchObject([{ drop: 'missing-field', id: 'r' }])
  const nowhere = [row({ repo: '/nonexistent/repository' })]
  expect(await runStage(make({}), nowhere, { model: clientThat(good), sandboxes: provider })).toMatchObject([
    { drop: 'bad-repository', id: 'r' },
  ])
})
