import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { readTraceFile } from './read-parquet.ts'

type Column = Parameters<typeof parquetWriteBuffer>[0]['columnData'][number]

async function factsOf(columnData: Column[], options: { gzip?: boolean } = {}) {
  const path = join(await makeTempDir(), 'x.parquet')
  const gzip = options.gzip
    ? ({ codec: 'GZIP', compressors: { GZIP: (bytes: Uint8Array) => gzipSync(bytes) } } as const)
    : {}
  await writeFile(path, Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 2, ...gzip })))
  const facts = []
  for await (const each of readTraceFile(path)) facts.push(each.facts)
  return facts
}

const turns = (...roles: string[]) => roles.map((role) => ({ role, content: 'x' }))

test('a Harbor dataset is read: turns are counted, the result determines the end', async () => {
  const facts = await factsOf([
    {
      name: 'conversations',
      data: [turns('user', 'assistant', 'user', 'assistant'), turns('user', 'assistant'), turns('user'), turns('user')],
    },
    { name: 'trial_name', data: ['a', 'b', 'c', 'd'], type: 'STRING' },
    { name: 'task', data: ['t', 't', 't', 'u'], type: 'STRING' },
    { name: 'result', data: ['1.0', 'AgentTimeoutError', 'EnvironmentStartTimeoutError', null], type: 'STRING' },
  ])
  expect(
    facts.map(({ trial, turns, reward, end, exit, boundary }) => [trial, turns, reward, end, exit, boundary]),
  ).toEqual([
    ['a', 2, 1, 'scored', null, null],
    ['b', 1, null, 'scored', 'time', null],
    ['c', 0, null, 'failed', null, 'sandbox'],
    ['d', 0, null, 'scored', null, null],
  ])
})

test('rows of a recipe’s dataset name their trial in their id', async () => {
  const ids = ['job/a__1/main/episode-4', 'job/a__1/main/episode-5', 'job/b__2/main/episode-1', 'mine']
  const facts = await factsOf([
    { name: 'id', data: ids, type: 'STRING' },
    { name: 'conversations', data: ids.map(() => turns('user', 'assistant')) },
  ])
  expect(facts.map(({ trial }) => trial)).toEqual(['job/a__1', 'job/a__1', 'job/b__2', 'mine'])
})

test('other codecs than ours are read', async () => {
  const columns: Column[] = [
    { name: 'trial_name', data: ['a'], type: 'STRING' },
    { name: 'turns', data: [7], type: 'INT32' },
    { name: 'step', data: ['one'], type: 'STRING' },
  ]
  expect(await factsOf(columns, { gzip: true })).toMatchObject([{ trial: 'a', turns: 7, step: 'one' }])
})

test('a parquet file of something else is the user’s error', async () => {
  await expect(factsOf([{ name: 'path', data: ['a'], type: 'STRING' }])).rejects.toMatchObject({ name: 'UserError' })
  await expect(factsOf([{ name: 'trial_name', data: [1], type: 'INT32' }])).rejects.toThrow('column trial_name')
})
