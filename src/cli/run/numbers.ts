import { InvalidArgumentError } from '@commander-js/extra-typings'

/** Parses an option that stretches a time: any number above 0. */
export function factor(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value
  throw new InvalidArgumentError(`expected a number above 0, got ${JSON.stringify(text)}`)
}

/** Parses `i/n`: the share of work that is ours. */
export function parseShare(text: string): { index: number; of: number } {
  const [, index, of] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  if (of === undefined || Number(of) < 1 || Number(index) >= Number(of))
    throw new InvalidArgumentError(`expected i/n with i from 0 to n - 1, got ${JSON.stringify(text)}`)
  return { index: Number(index), of: Number(of) }
}
