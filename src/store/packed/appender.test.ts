import { readlinkSync } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { tempDir } from '../../../test/trees.ts'
import { Appender } from './appender.ts'
import { loadIndex } from './packed-index.ts'
import { collectPayload } from './payload.ts'

async function payloadOf(text: string, dir: string) {
  const bytes = async function* () {
    yield Buffer.from(text)
  }
  return collectPayload(bytes(), dir)
}

test('a batch that fills many segments is synced in all of them before the index speaks of it', async () => {
  const dir = await tempDir()
  const handle = await open(join(dir, 'any'), 'w')
  const prototype = Object.getPrototypeOf(handle) as typeof handle
  await handle.close()
  const synced: string[] = []
  const { datasync } = prototype
  prototype.datasync = async function (this: typeof handle) {
    synced.push(basename(readlinkSync(`/proc/self/fd/${this.fd}`)))
    return datasync.call(this)
  }
  try {
    const packed = await tempDir()
    const appender = new Appender(packed, await loadIndex(packed), 1)
    const trials = ['a', 'b', 'c', 'd', 'e']
    const payloads = await Promise.all(trials.map((trial) => payloadOf(`bytes of ${trial}`, dir)))
    const batch = trials.map((trial, i) => ({
      ...{ kind: 'failed-try' as const, trial, nth: 1 },
      payload: payloads[i] as (typeof payloads)[0],
    }))
    await appender.append(batch)
    await appender.close()
    const segments = (await readdir(packed)).filter((name) => name.startsWith('segment-')).sort()
    expect(segments).toHaveLength(5)
    expect(synced).toEqual([...segments, 'index.jsonl'])
    expect(await readFile(join(packed, segments[0] ?? ''), 'utf8')).toBe('bytes of a')
  } finally {
    prototype.datasync = datasync
  }
})
