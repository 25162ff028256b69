import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { readDatasetRows } from './dataset-rows.ts'

test('a file that is no parquet is refused in one line', async () => {
  const file = join(await makeTempDir(), 'rows.parquet')
  writeFileSync(file, 'no parquet at all')
  await expect(readDatasetRows([file], (all) => all)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(/^[^\n]*rows\.parquet: expected rows of traces, got [^\n]+$/),
  })
})
