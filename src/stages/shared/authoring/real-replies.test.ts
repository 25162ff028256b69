import { expect, test } from 'vitest'
import mine from '../../../../data/dclm-mine/mine.ts'
import judged from '../../../../data/llm-verifier/judged.ts'
import { asDockerfile } from '../../../../data/perturbed-docker/environment/write-dockerfile.ts'
import selfInstruct from '../../../../data/self-instruct/self-instruct.ts'
import traceTests from '../../../../data/trace-to-tests/trace-tests.ts'
import { runStage } from '../../../../test/contracts/stage.ts'
import { provider, withSandboxes } from '../../../../test/e2e/kit.ts'
import { realReply, recordedReply } from '../../../../test/fakes/real-replies.ts'
import { clientThat, replies } from '../../../../test/fakes/told-client.ts'
import type { RawRow } from '../../../core/row.ts'
import type { SandboxProvider } from '../../../core/sandbox.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = <T>(
  plugin: { options: { parse(given: object): T }; make(options: T, at: typeof context): unknown },
  more = {},
) => plugin.make(plugin.options.parse({ pipeline: 'p', ...more }), context) as never
const row = (fields: Record<string, unknown>): RawRow => ({ id: 'r', source: 'test', fields })

test('a reply that says neither yes nor no drops the row, and the reason shows the reply', async () => {
  const model = clientThat(realReply('classifyDocument'))
  const text = `${'It is a long one. '.repeat(20)}\n\`\`\`sh\n$ wc -l < file | tr -d " " > out\n\`\`\``
  expect(await runStage(make(mine), [row({ text })], { model })).toEqual([
    {
      drop: 'bad-reply',
      detail: expect.stringMatching(/YES or NO.*reply 3 of 3 begins "This is a secret recipe/),
      id: 'r',
    },
  ])
  expect(model.asked).toHaveLength(3)
})

test('an idea that repeats a shown example is no idea', async () => {
  const example = {
    name: 'merge-logs',
    description:
      'Three log files are each sorted by time but written in different time zones. Merge them into one file in UTC, sorted, without duplicates. Done when every line is there once and in order.',
    difficulty: 'medium',
  }
  const model = clientThat(realReply('ideaCopied'))
  const given = await runStage(make(selfInstruct, { examples: [example] }), [row({ text: 'Rivers.' })], { model })
  expect(given).toMatchObject([{ drop: 'bad-reply', detail: /an idea of its own.*merge-sorted-logs/, id: 'r' }])
  expect(model.asked).toHaveLength(3)
})

withSandboxes('tests that test nothing', () => {
  test('are tried once: a repair that changes nothing ends the row', async () => {
    let leases = 0
    const counting: SandboxProvider = Object.create(provider, {
      lease: {
        value: (request: Parameters<SandboxProvider['lease']>[0]) => {
          leases++
          return provider.lease(request)
        },
      },
    })
    const fields = {
      instruction: 'Write 3 to /app/count.txt.',
      solution: '#!/bin/sh\necho 3 > /app/count.txt\n',
      dockerfile: 'FROM debian:12-slim\nWORKDIR /app\n',
    }
    const model = clientThat(realReply('testsWithoutATest'))
    const given = await runStage(make(traceTests, { repairs: 3 }), [row(fields)], { model, sandboxes: counting })
    expect(given).toMatchObject([
      { drop: 'not-proven', detail: /^The repair is what was tried before.*no reward/, id: 'r' },
    ])
    expect({ leases, asked: model.asked.length }).toEqual({ leases: 1, asked: 2 })
  })
})

test('criteria that a model repeats make no judged task', async () => {
  const { text } = recordedReply('criteriaRepeated')
  // Only its paths are fixed, so that nothing but the criteria is wrong.
  const mended = text.replaceAll(/("results":\[)[^\]]*\]/g, '$1"/app/report.md"]')
  const model = clientThat(replies(mended))
  const given = await runStage(make(judged), [row({ instruction: 'Write a report about rivers.' })], { model })
  expect(given).toMatchObject([{ drop: 'bad-reply', detail: /different names and texts/, id: 'r' }])
})

test('commands of a shell are no Dockerfile', () => {
  expect(() => asDockerfile.read(recordedReply('dockerfileOfCommands').text)).toThrow(
    /got "docker create a_image_name"/,
  )
  expect(() => asDockerfile.read('From the task it follows that Debian will do.')).toThrow(/only instructions/)
  const good =
    'ARG V=12\nFROM debian:$V-slim AS base\n# Tools\nRUN apt-get update && \\\n  apt-get install -y jq\n\nRUN <<EOF\nmkdir /app\nEOF\nCOPY a /app/'
  expect(asDockerfile.read(`\`\`\`dockerfile\n${good}\n\`\`\``)).toBe(`${good}\n`)
})
