import { InvalidArgumentError } from '@commander-js/extra-typings'

/** Parses a time multiplier: any number above 0. */
export function factor(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value
  throw new InvalidArgumentError(`expected a number above 0, got ${JSON.stringify(text)}`)
}

/** Parses `i/n`: which share of the work is ours. */
export function parseShare(text: string): { index: number; of: number } {
  const [, index, of] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  if (of === undefined || Number(of) < 1 || Number(index) >= Number(of))
    throw new InvalidArgumentError(`expected i/n with i from 0 to n - 1, got ${JSON.stringify(text)}`)
  return { index: Number(index), of: Number(of) }
}

/** Returns a parser for a whole number of at least `least`. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    const isWhole = /^\d+$/.test(text)
    const isTooLarge = isWhole && !Number.isSafeInteger(value)
    if (!isWhole || value < least || isTooLarge) {
      const bound = isTooLarge ? `at most ${Number.MAX_SAFE_INTEGER}` : `at least ${least}`
      throw new InvalidArgumentError(`expected a whole number of ${bound}, got ${JSON.stringify(text)}`)
    }
    return value
  }
}

/** Parses a port number; 0 picks a free port. */
export function portNumber(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError(`expected a number from 0 to 65535, got ${JSON.stringify(text)}`)
}

/** Collects the values of a repeatable option. */
export function several(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** The flag, with its help text, of every command whose tasks may ask for variables of this machine. */
export const passEnvFlag = [
  '--pass-env <name>',
  'pass this environment variable to tasks that ask for it; repeatable',
  several,
] as const

/** Joins the addresses of a repeatable option with commas. */
export function joinAddresses(address: string, before?: string): string {
  return before === undefined ? address : `${before},${address}`
}
