import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
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

test('a packed trial with thousands of names, and the next one with the same and others, give their own files', async () => {
  const some = (extra: string) => (dir: string) => {
    for (let n = 0; n < 1100; n++) write(dir, `agent/${n}.json`, String(n))
    write(dir, `agent/${extra}.json`, extra)
    write(dir, `steps/${extra}/verifier/0.json`, extra)
  }
  const names = async (extra: string) =>
    (await read('packed', some(extra))).map(([step, folder, name, text]) => `${step} ${folder} ${name} ${text}`)
  const shared = Array.from({ length: 1100 }, (_, n) => `null agent ${n}.json ${n}`)
  for (const extra of ['one', 'two'])
    expect((await names(extra)).sort()).toEqual(
      [...shared, `null agent ${extra}.json ${extra}`, `${extra} verifier 0.json ${extra}`].sort(),
    )
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

describe('many packed trials', () => {
  const files = (n: number) => (dir: string) => {
    write(dir, 'agent/trajectory.json', String(n).repeat(n % 7))
    write(dir, 'trial.log', 'x'.repeat(97 * n))
    write(dir, 'verifier/reward.txt', String(n))
  }
  const names = Array.from({ length: 40 }, (_, n) => `trial-${n}`)
  const expected = (n: number) => [
    ['verifier', String(n)],
    [
      'agent',
      String(n)
        .repeat(n % 7)
        .slice(0, 10),
    ],
  ]

  async function makeJob(): Promise<string> {
    const job = join(await makeTempDir(), 'job')
    const trials = names.map((name, n) => ({ record: agentRecord({ name, id: name }), files: files(n) }))
    await storeJob(job, trials, 'packed')
    return job
  }

  async function readAll(job: string, order: readonly number[]): Promise<unknown[]> {
    const store = await openForReading(job, 'packed')
    const read = async (n: number) => {
      const found = await store.readFiles(`trial-${n}`, limitOf)
      return found.map(({ folder, bytes }) => [folder, Buffer.from(bytes).toString()])
    }
    try {
      const all: unknown[] = []
      for (const n of order) all.push(await read(n).catch((error: Error) => error.name))
      return all
    } finally {
      await store.close()
    }
  }
  const inOrder = names.map((_, n) => n)

  test('are the same in whatever order they are read', async () => {
    const job = await makeJob()
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.nat({ max: 39 }), fc.constantFrom('next', 'after next')), { maxLength: 60 }),
        async (steps) => {
          let at = 0
          const order = steps.map((step) => {
            at = typeof step === 'number' ? step : (at + (step === 'next' ? 1 : 2)) % 40
            return at
          })
          expect(await readAll(job, order)).toEqual(order.map(expected))
        },
      ),
      { numRuns: 30 },
    )
    expect(await readAll(job, inOrder)).toEqual(inOrder.map(expected))
  })

  /** Changes the bytes of one member in a job's segment and writes the segment back. */
  async function changeMember(job: string, nth: number, change: (bytes: Buffer) => Buffer): Promise<void> {
    const [segment, index] = ['segment-00000.tar.gz', 'index.jsonl'].map((name) => join(job, 'packed', name))
    const bytes = readFileSync(segment ?? '')
    const [head = '', ...lines] = readFileSync(index ?? '', 'utf8')
      .trimEnd()
      .split('\n')
    const parts: Buffer[] = []
    let offset = 0
    const changed = lines.map((line, i) => {
      const parsed = JSON.parse(line)
      const part = bytes.subarray(parsed.offset, parsed.offset + parsed.length)
      const now = i === nth ? change(part) : part
      parts.push(now)
      const sha256 = createHash('sha256').update(now).digest('hex')
      const { record, ...member } = { ...parsed, offset, length: now.length, sha256 }
      offset += now.length
      return JSON.stringify({ ...member, batch: 0, record })
    })
    writeFileSync(segment ?? '', Buffer.concat(parts))
    writeFileSync(index ?? '', `${[head, ...changed].join('\n')}\n`)
  }

  test('are read although one among them is gzip in two parts, or no gzip at all', async () => {
    const job = await makeJob()
    await changeMember(job, 7, (bytes) => {
      const tar = gunzipSync(bytes)
      return Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))])
    })
    await changeMember(job, 21, (bytes) => gunzipSync(bytes))
    expect(await readAll(job, inOrder)).toEqual(inOrder.map(expected))
  })

  test('are read although one among them is damaged, which is the store’s failure', async () => {
    const job = await makeJob()
    const store = await openForReading(job, 'packed')
    await store.close()
    const line = readFileSync(join(job, 'packed/index.jsonl'), 'utf8').split('\n')[10] ?? ''
    const { offset, length } = JSON.parse(line)
    const segment = join(job, 'packed/segment-00000.tar.gz')
    writeFileSync(segment, readFileSync(segment).fill(7, offset + 20, offset + length - 20))
    const found = await readAll(job, inOrder)
    expect(found[9]).toBe('BoundaryError')
    expect(found.filter((_, n) => n !== 9)).toEqual(inOrder.filter((n) => n !== 9).map(expected))
  })
})

test('a segment that was away for a moment is read when it is back', async () => {
  const job = join(await makeTempDir(), 'job')
  const record = agentRecord()
  await storeJob(job, [{ record, files: (dir) => write(dir, 'agent/trajectory.json', '{}') }], 'packed')
  const segment = join(job, 'packed/segment-00000.tar.gz')
  const store = await openForReading(job, 'packed')
  renameSync(segment, `${segment}.away`)
  await expect(store.readFiles(record.name, limitOf)).rejects.toThrow('ENOENT')
  renameSync(`${segment}.away`, segment)
  expect(await store.readFiles(record.name, limitOf)).toMatchObject([{ name: 'trajectory.json' }])
  await store.close()
})
