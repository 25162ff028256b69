import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../lib/files.ts'
import { GenerationError, InputValidationError } from './errors.ts'

/** Moves a dataset to its place and gives that; an empty one goes nowhere, and nothing is put among what is there. */
export async function finalizeDataset(sourceDir: string, outputDir: string | null): Promise<string> {
  const names = await readdir(sourceDir)
  if (names.length === 0)
    throw new GenerationError(`${sourceDir}: expected a dataset, found it empty`, {
      stage: 'postprocess',
      retryable: false,
    })
  if (outputDir === null) return sourceDir
  const there = await readdir(outputDir).catch((error: unknown): string[] => {
    if (isMissing(error)) return []
    throw error
  })
  if (there.length > 0)
    throw new InputValidationError(
      `${outputDir}: expected a new or empty folder, found ${there.length} things`,
      'name another folder',
    )
  await mkdir(outputDir, { recursive: true })
  for (const name of names) await rename(join(sourceDir, name), join(outputDir, name))
  return outputDir
}
