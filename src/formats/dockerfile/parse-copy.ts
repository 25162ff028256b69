import { dockerfileError } from './error.ts'
import type { Instruction } from './instruction.ts'
import { type InstructionText, parseList } from './instruction-text.ts'
import { parseHeredocMark } from './lines.ts'

/** Reads COPY and ADD: sources, destination and options. */
export function parseCopy({ at, source, flags }: InstructionText, name: 'COPY' | 'ADD'): Instruction {
  const line = at.line
  const from = name === 'COPY' ? flags.one('from') : null
  const chown = flags.one('chown')
  const chmod = flags.one('chmod')
  const unpack = name === 'ADD' && flags.switch('unpack', true)
  // Only a hint about how layers are stacked; the files are the same.
  flags.switch('link', false)
  const refused = ['parents', 'exclude', ...(name === 'ADD' ? ['checksum', 'keep-git-dir'] : [])].find((flag) =>
    flags.has(flag),
  )
  if (refused !== undefined) {
    flags.all(refused)
    return { kind: 'refused', line, reason: `${name} --${refused} cannot be replayed` }
  }
  const words = parseList(source.rest, at)
  const dest = words.at(-1)
  if (dest === undefined || words.length < 2) throw dockerfileError(at, `${name} needs a source and a destination`)
  const heredocs = [...source.heredocs]
  const sources = words
    .slice(0, -1)
    .map((word) => (heredocs.length > 0 && parseHeredocMark(word) ? (heredocs.shift() ?? word) : word))
  return { kind: 'copy', line, name, sources, dest, from, chown, chmod, unpack }
}
