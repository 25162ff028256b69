import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { unpackCells } from './pack.ts'

const idOf = (nth: number) => nth.toString(16).padStart(20, '0')
const [first, second] = [idOf(0), idOf(1)]

/** A pack of unfinished cells that say that they have the same dataset. */
async function makePack(
  files: Readonly<Record<string, string>>,
  count = 2,
): Promise<{ readonly file: string; readonly to: string }> {
  const dir = await makeTempDir()
  const ids = Array.from({ length: count }, (_, i) => idOf(i))
  const cells = ids.map((id, i) => ({ variant: `v${i}`, factors: {}, seed: null, id }))
  const cell = { schema: 'ablate-cell/1', label: 'v', data: 'x', commands: [['true']], result: ['r'] }
  await writeTree(join(dir, 'pack'), {
    'cells.json': JSON.stringify({ schema: 'ablate-index/1', cells }),
    ...Object.fromEntries(ids.map((id) => [`cells/${id}/cell.json`, JSON.stringify({ ...cell, id })])),
    ...files,
  })
  const file = join(dir, 'cells.tar.gz')
  writeFileSync(file, execFileSync('tar', ['-cz', '-C', join(dir, 'pack'), '.']))
  return { file, to: join(dir, 'there') }
}

test('cells that share a dataset get it, whichever of them carries it', async () => {
  const { file, to } = await makePack({ [`cells/${second}/dataset/train/rows.jsonl`]: 'rows' })
  expect(await unpackCells(file, to)).toEqual({ finished: 0, ready: 2 })
  for (const id of [first, second])
    expect(await readFile(join(to, 'cells', id, 'dataset/train/rows.jsonl'), 'utf8')).toBe('rows')
})

test('a pack whose dataset is a file is refused', async () => {
  const { file, to } = await makePack({ [`cells/${first}/dataset`]: 'no folder' })
  await expect(unpackCells(file, to)).rejects.toThrow('expected a folder')
})

test('a small pack that would become very many files is refused', async () => {
  const files = Array.from({ length: 2600 }, (_, i) => [`cells/${first}/dataset/${i}`, ''])
  const { file, to } = await makePack(Object.fromEntries(files), 200)
  await expect(unpackCells(file, to)).rejects.toThrow('expected cells with at most 500000 files together, got 517400')
  expect(readdirSync(to)).toEqual([])
})
