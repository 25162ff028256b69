import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { findPacks, loadPacks, missingPacks } from './find-packs.ts'
import { makePack } from './pack.ts'
import { renderPack } from './pack-file.ts'

const texts = [{ id: 'a', instruction: 'Count the lines of every file below the folder and write the sum to a file.' }]
const about = { title: 't', source: 's', licence: 'l' }

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await makeTempDir()
  for (const [name, benchmark] of Object.entries(files))
    await writeFile(join(dir, name), renderPack(makePack(benchmark, texts, 8), about))
  return dir
}

test('a pack is found by name or by path, in the folder that is named first', async () => {
  const packs = await folderWith({ 'gaia.pack': 'gaia', 'bfcl.pack': 'bfcl', 'mine.pack': 'mine' })
  const ask = { packs, benchmarks: ['gaia', 'bfcl', 'terminal-bench-2', join(packs, 'mine.pack')], words: 8 }
  const { packs: loaded, waived } = await loadPacks({ ...ask, waive: ['gaia'] })
  expect(loaded.map(({ benchmark, pack }) => [benchmark, pack.tasks.length])).toEqual([
    ['gaia', 1],
    ['bfcl', 1],
    ['terminal-bench-2', 89],
    ['mine', 1],
  ])
  expect(waived).toEqual([])
})

test('what is missing is reported before a run, with the command that provides it, unless waived', async () => {
  const packs = await folderWith({})
  const benchmarks = ['gaia', 'my-own', './packs/other.pack', 'tb2']
  expect(await missingPacks({ packs, benchmarks, waive: ['gaia'] })).toMatchObject([
    { benchmark: 'my-own', command: 'ot-agent benchmarks pack my-own --from TASKS' },
    { benchmark: './packs/other.pack', command: 'ot-agent benchmarks pack NAME --from TASKS -o ./packs/other.pack' },
  ])
  expect((await findPacks({ packs, benchmarks, waive: ['gaia'] })).waived).toEqual(['gaia'])
  await expect(loadPacks({ packs, benchmarks: ['gaia'], words: 8 })).rejects.toMatchObject({
    message: expect.stringMatching(
      /^decontamination: expected a pack of gaia, found none \(gated: .*looked for .*gaia\.pack/,
    ),
    hint: "build it with ot-agent benchmarks pack gaia, or skip this benchmark explicitly with waive: ['gaia']",
  })
})

test('a pack of another benchmark is refused', async () => {
  const packs = await folderWith({ 'gaia.pack': 'bfcl' })
  for (const look of [
    () => missingPacks({ packs, benchmarks: ['gaia'] }),
    () => loadPacks({ packs, benchmarks: ['gaia'], words: 8 }),
  ])
    await expect(look()).rejects.toThrow(/expected a pack of gaia, found one of bfcl/)
})

test('a stage cannot ask for fewer words in a row than a pack has runs of', async () => {
  const packs = await folderWith({ 'gaia.pack': 'gaia' })
  await expect(loadPacks({ packs, benchmarks: ['gaia'], words: 5 })).rejects.toThrow(
    /expected sequences of 5 words, found sequences of 8/,
  )
})

test('plain texts are hashed on the fly, and invalid lines are refused', async () => {
  const packs = await folderWith({})
  await writeFile(join(packs, 'own.jsonl'), `${JSON.stringify(texts[0])}\n`)
  const { packs: loaded } = await loadPacks({ packs, benchmarks: ['own'], words: 5 })
  expect(loaded[0]?.pack).toEqual(makePack('own', texts, 5))
  await writeFile(join(packs, 'own.jsonl'), '{"id": "a"}\n')
  await expect(loadPacks({ packs, benchmarks: ['own'], words: 5 })).rejects.toThrow(/line 1 is not a benchmark task/)
  await writeFile(join(packs, 'own.jsonl'), '\n')
  await expect(loadPacks({ packs, benchmarks: ['own'], words: 5 })).rejects.toThrow('expected tasks, found none')
})
