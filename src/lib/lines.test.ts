import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLines } from './lines.ts'

test('lines of any length come with their places, from one byte to another', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'ot-lines-'))
  try {
    const lines = ['a', '', 'b'.repeat(5 << 20), 'c'.repeat((1 << 20) - 1), 'd', 'e'.repeat(3 << 20)]
    const path = join(dir, 'lines.txt')
    await writeFile(path, lines.join('\n'))
    const read = async (start?: number, end?: number) => {
      const found = []
      for await (const { at, bytes, whole } of readLines(path, start, end)) found.push([at, bytes.length, whole])
      return found
    }
    let next = 0
    const places = lines.map((line) => {
      const at = next
      next += line.length + 1
      return [at, line.length, line !== lines.at(-1)]
    })
    expect(await read()).toEqual(places)
    expect(await read(3)).toEqual(places.slice(2))
    expect(await read(3, 3 + (2 << 20))).toEqual([[3, 2 << 20, false]])
    expect(await read(0, 3)).toEqual(places.slice(0, 2))
  } finally {
    await rm(dir, { recursive: true })
  }
})
