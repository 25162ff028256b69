import { dockerfileError } from './error.ts'
import type { Instruction, RunMount } from './instruction.ts'
import { type InstructionText, parseCommand } from './instruction-text.ts'

const mountTypes = ['bind', 'cache', 'tmpfs', 'secret', 'ssh']

/** Reads RUN with its options; secrets, agents' keys and extra rights are refused. */
export function parseRun({ at, source, flags }: InstructionText): Instruction {
  const line = at.line
  const mounts = flags.all('mount').map(parseMount)
  const network = flags.one('network') ?? 'default'
  const security = flags.one('security') ?? 'sandbox'
  const hasDevice = flags.all('device').length > 0
  const unknown = mounts.find(({ type }) => !mountTypes.includes(type))
  if (unknown) throw dockerfileError(at, `RUN --mount=type=${unknown.type}: expected one of ${mountTypes.join(', ')}`)
  if (!['default', 'none', 'host'].includes(network)) {
    throw dockerfileError(at, `RUN --network=${network}: expected default, none or host`)
  }
  const secret = mounts.find(({ type }) => type === 'secret' || type === 'ssh')
  if (secret) return { kind: 'refused', line, reason: `RUN --mount=type=${secret.type}: a build has no secrets here` }
  if (security !== 'sandbox')
    return { kind: 'refused', line, reason: `RUN --security=${security} would need extra rights` }
  if (hasDevice) return { kind: 'refused', line, reason: 'RUN --device: a build has no devices here' }
  return {
    kind: 'run',
    line,
    command: parseCommand(source.rest, at),
    heredocs: source.heredocs,
    mounts,
    network: network === 'none' ? 'none' : 'host',
  }
}

/** `type=cache,target=/x`; a key without a value is a switch. */
function parseMount(text: string): RunMount {
  const pairs = text.split(',').map((part): [string, string] => {
    const end = part.indexOf('=')
    return end < 0 ? [part.toLowerCase(), 'true'] : [part.slice(0, end).toLowerCase(), part.slice(end + 1)]
  })
  const options = Object.fromEntries(pairs)
  const { type = 'bind', ...others } = options
  return { type, options: others }
}
