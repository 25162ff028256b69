import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { loadPipelineFile } from './load-pipeline.ts'

const whole = { name: 'quiz', summary: 's', source: { fixture: 'rows.csv', real: null } }

async function folderWith(pipeline: object): Promise<string> {
  const dir = await makeTempDir()
  await writeTree(dir, { 'generate.ts': `export default ${JSON.stringify(pipeline)}\n` })
  return dir
}

test.each<[string, object, string]>([
  ['a name with spaces', { name: 'My quiz' }, 'name: expected letters, digits'],
  ['no summary', { summary: undefined }, 'summary: expected one line'],
  ['a misspelled source', { source: { fixture: 'rows.csv', rael: null } }, 'source.real: expected a path'],
  ['no fixture', { source: { real: null } }, 'source.fixture: expected a path'],
  ['a maker that is not one', { make: { stage: 'x' } }, 'make: expected a function'],
])('a pipeline with %s is refused by what is wrong with it', async (_, changes, message) => {
  const file = join(await folderWith({ ...whole, ...changes }), 'generate.ts')
  await expect(loadPipelineFile(file)).rejects.toThrow(`generate.ts: ${message}`)
})

test('the folder of a pipeline stands for its file', async () => {
  const dir = await folderWith(whole)
  expect(await loadPipelineFile(dir)).toMatchObject({ pipeline: { name: 'quiz' }, dir })
})
