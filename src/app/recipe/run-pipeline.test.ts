import { expect, test, vi } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { runPipeline } from './run-pipeline.ts'

test('an argument that a pipeline does not take is refused once, by the name of the pipeline', async () => {
  const outDir = await makeTempDir()
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const { signal } = new AbortController()
  const made = runPipeline({ pipeline: 'nl2bash', args: { nope: 3 }, outDir, signal })[Symbol.asyncIterator]()
  await expect(made.next()).rejects.toMatchObject({
    name: 'UserError',
    message: 'pipeline nl2bash: unknown argument "nope"',
    hint: expect.stringContaining('ot-agent generate data/nl2bash/generate.ts --help'),
  })
  expect(stderr).not.toHaveBeenCalled()
})
