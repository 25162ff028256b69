import { UserError } from '../../../core/errors.ts'
import type { Need } from '../../../core/stage.ts'
import { digestFiles, inputFiles, recordFiles } from '../../../formats/input-files.ts'
import { readAllRecords } from '../../../formats/records/read-records.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import { needsOfFiles } from '../records/needs-of-files.ts'

const provide = 'each record has the text `instruction`'

/** The instructions in files of examples, for filters that learn from them. */
export async function loadExamples(path: string): Promise<readonly string[]> {
  const texts: string[] = []
  for await (const read of readAllRecords(await inputFiles(path, recordFiles))) {
    const text = 'fields' in read ? read.fields.instruction : undefined
    if (typeof text !== 'string' || text === '')
      throw new UserError(`${path}: ${read.where} has no instruction`, provide)
    texts.push(text)
  }
  if (texts.length === 0) throw new UserError(`${path}: expected examples, found none`, provide)
  return texts
}

/** The example files that a filter requires. */
export async function needsOfExamples(paths: readonly string[]): Promise<readonly Need[]> {
  const needs = paths.map((path) => needsOfFiles(path, recordFiles, 'examples to learn from'))
  return (await Promise.all(needs)).flat()
}

/** A digest of the examples, which determine what a filter keeps. */
export async function digestExamples(paths: readonly string[]): Promise<string> {
  const digests = paths.map(async (path) => digestFiles(await inputFiles(path, recordFiles)))
  return digestJson(await Promise.all(digests))
}
