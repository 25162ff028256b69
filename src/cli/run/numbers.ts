import { InvalidArgumentError } from '@commander-js/extra-typings'

/** Parses an option that stretches a time: any number above 0. */
export function factor(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value
  throw new InvalidArgumentError(`expected a number above 0, got ${JSON.stringify(text)}`)
}
