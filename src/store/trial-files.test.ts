import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { agentRecord, storeJob } from '../../test/traces.ts'
import { openForReading } from './trial-files.ts'

const limitOf = (folder: string, name: string) => (folder === 'verifier' || name.endsWith('.json') ? 10 : null)

function write(dir: string, path: string, text: string): void {
  mkdirSync(join(dir, path, '..'), { recursive: true })
  writeFileSync(join(dir, path), text)
}

async function read(layout: 'harbor' | 'packed', fill: (dir: string) => void) {
  const job = join(await makeTempDir(), 'job')
  const record = agentRecord()
  await storeJob(job, [{ record, files: fill }], layout)
  const store = await openForReading(job, layout)
  try {
    const files = await store.readFiles(record.name, limitOf)
    return files
      .map(({ step, folder, name, bytes, size }) => [step, folder, name, Buffer.from(bytes).toString(), size])
      .sort((a, b) => (String(a) < String(b) ? -1 : 1))
  } finally {
    await store.close()
  }
}

describe.each(['harbor', 'packed'] as const)('%s layout', (layout) => {
  test('reads the wanted files of a trial and its steps, as far as the limit', async () => {
    const files = await read(layout, (dir) => {
      write(dir, 'agent/trajectory.json', '{}')
      write(dir, 'agent/big.json', 'x'.repeat(100))
      write(dir, 'agent/empty.json', '')
      write(dir, 'agent/other.txt', 'no')
      write(dir, 'agent/deep/trajectory.json', 'no')
      write(dir, 'verifier/test-stdout.txt', 'passed')
      write(dir, 'artifacts/a.json', 'no')
      write(dir, 'steps/one/agent/trajectory.json', '[1]')
    })
    expect(files).toEqual([
      [null, 'agent', 'big.json', 'x'.repeat(10), 100],
      [null, 'agent', 'empty.json', '', 0],
      [null, 'agent', 'trajectory.json', '{}', 2],
      [null, 'verifier', 'test-stdout.txt', 'passed', 6],
      ['one', 'agent', 'trajectory.json', '[1]', 3],
    ])
  })

  test('follows no link, to a file or to a directory, and waits for no pipe', async () => {
    const outside = await makeTempDir()
    write(outside, 'trajectory.json', 'secret')
    write(outside, 'agent/trajectory.json', 'secret')
    const files = await read(layout, (dir) => {
      mkdirSync(join(dir, 'agent'))
      symlinkSync(join(outside, 'trajectory.json'), join(dir, 'agent/trajectory.json'))
      execFileSync('mkfifo', [join(dir, 'agent/pipe.json')])
      symlinkSync(outside, join(dir, 'verifier'))
      mkdirSync(join(dir, 'steps'))
      symlinkSync(outside, join(dir, 'steps/agent'))
      symlinkSync(outside, join(dir, 'steps/one'))
    })
    expect(files).toEqual([])
  })
})

test('a packed trial of more than a megabyte is read as a stream', async () => {
  const noise = Array.from({ length: 60_000 }, (_, i) => Math.sin(i).toString(36)).join('')
  const files = await read('packed', (dir) => {
    write(dir, 'agent/aaa.txt', noise.repeat(3))
    write(dir, 'agent/trajectory.json', '{}')
  })
  expect(files).toEqual([[null, 'agent', 'trajectory.json', '{}', 2]])
})

test('damaged bytes of a packed trial are the store’s failure', async () => {
  const job = join(await makeTempDir(), 'job')
  const record = agentRecord()
  await storeJob(job, [{ record, files: (dir) => write(dir, 'agent/trajectory.json', '{}') }], 'packed')
  const segment = join(job, 'packed/segment-00000.tar.gz')
  const store = await openForReading(job, 'packed')
  writeFileSync(segment, readFileSync(segment).fill(7, 20, 40))
  await expect(store.readFiles(record.name, limitOf)).rejects.toMatchObject({
    name: 'BoundaryError',
    boundary: 'store',
  })
  await store.close()
})

test('a name that leads out of the job gives nothing', async () => {
  const dir = await makeTempDir()
  write(dir, 'other/agent/trajectory.json', '{}')
  mkdirSync(join(dir, 'job'))
  const store = await openForReading(join(dir, 'job'), 'harbor')
  expect(await store.readFiles('../other', limitOf)).toEqual([])
})
