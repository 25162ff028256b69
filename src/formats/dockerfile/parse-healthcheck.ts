import { parseDurationSec } from './durations.ts'
import { dockerfileError } from './error.ts'
import type { Instruction } from './instruction.ts'
import { type InstructionText, parseCommand } from './instruction-text.ts'

/** Reads HEALTHCHECK; the defaults are Docker's. */
export function parseHealthcheck({ at, source, flags }: InstructionText): Instruction {
  const seconds = (name: string, fallback: number) => {
    const text = flags.one(name)
    if (text === null) return fallback
    const value = parseDurationSec(text)
    if (value === null) throw dockerfileError(at, `HEALTHCHECK --${name}: expected a duration such as 30s, got ${text}`)
    // Zero means the default, as it does for Docker.
    return value === 0 ? fallback : value
  }
  const timing = {
    intervalSec: seconds('interval', 30),
    timeoutSec: seconds('timeout', 30),
    startPeriodSec: seconds('start-period', 0),
    startIntervalSec: seconds('start-interval', 5),
  }
  const retries = Number(flags.one('retries') ?? 3)
  if (!Number.isInteger(retries) || retries < 0)
    throw dockerfileError(at, 'HEALTHCHECK --retries: expected a whole number')
  const [, kind = '', rest = ''] = /^(\S+)\s*(.*)$/s.exec(source.rest) ?? []
  if (kind.toUpperCase() === 'CMD' && rest === '') throw dockerfileError(at, 'HEALTHCHECK CMD needs a command')
  if (kind.toUpperCase() !== 'CMD' && kind.toUpperCase() !== 'NONE') {
    throw dockerfileError(at, `HEALTHCHECK expects CMD or NONE, got ${JSON.stringify(kind)}`)
  }
  const command = kind.toUpperCase() === 'CMD' ? parseCommand(rest, at) : null
  return { kind: 'healthcheck', line: at.line, command, ...timing, retries: retries === 0 ? 3 : retries }
}
