import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { usualFailedShare } from '../../app/eval/score-job.ts'

/** Shared by the commands that score jobs. */
export const maxFailedOption = () =>
  new Option(
    '--max-failed <percent>',
    `highest percentage of trials with infrastructure failures; above it a result is partial and not ranked (default: ${usualFailedShare * 100})`,
  ).argParser(percentage)

/** Parses a number from 0 to 100 into a share. */
export function percentage(text: string): number {
  const value = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || value > 100)
    throw new InvalidArgumentError(`expected a number from 0 to 100, got ${JSON.stringify(text)}`)
  return value / 100
}
