import { Flags, type InstructionText, parseCommand, parseList } from './flags.ts'
import type { Argument, Dockerfile, Instruction, RunMount, Stage } from './instruction.ts'
import { parseHeredocMark, readLines } from './lines.ts'
import { dockerfileError, parseJsonStrings, splitPlain, splitRaw } from './words.ts'

/** Real files have fewer, and each stage is compared with all earlier ones. */
const maxStages = 1000

/** Parses a Dockerfile into stages of instructions; errors name the line. `file` is for messages. */
export function parseDockerfile(text: string, file: string): Dockerfile {
  const nul = text.indexOf('\0')
  if (nul >= 0) throw dockerfileError({ file, line: text.slice(0, nul).split('\n').length }, 'there is a NUL character')
  const { escapeChar, syntax, lines } = readLines(text, file)
  if (syntax !== null && !/^(docker\.io\/)?docker\/dockerfile(-upstream)?([:@].*)?$/.test(syntax)) {
    throw dockerfileError(
      { file, line: 1 },
      `the syntax ${JSON.stringify(syntax)} is not known, expected docker/dockerfile`,
    )
  }
  const globalArgs: Dockerfile['globalArgs'][number][] = []
  const stages: (Stage & { instructions: Instruction[] })[] = []
  for (const source of lines) {
    const at = { file, line: source.line }
    const flags = new Flags(source.flags, at, source.name)
    const stage = stages.at(-1)
    if (source.name === 'FROM' && stages.length === maxStages)
      throw dockerfileError(at, `more than ${maxStages} stages`)
    if (source.name === 'FROM') stages.push(parseFrom({ at, source, flags, escapeChar }))
    else if (stage) stage.instructions.push(parseInstruction({ at, source, flags, escapeChar }))
    else if (source.name === 'ARG')
      globalArgs.push({ line: source.line, args: parseArgs({ at, source, flags, escapeChar }) })
    else throw dockerfileError(at, `expected FROM or ARG first, got ${source.name}`)
    flags.end()
  }
  if (stages.length === 0) throw dockerfileError({ file, line: 1 }, 'there is no FROM instruction')
  return { file, escapeChar, globalArgs, stages }
}

function parseFrom({ at, source, flags }: InstructionText): Stage & { instructions: Instruction[] } {
  const words = splitPlain(source.rest)
  const [image, as, name] = words
  const named = words.length === 3 && as?.toUpperCase() === 'AS'
  if (image === undefined || !(words.length === 1 || named)) {
    throw dockerfileError(at, `expected FROM image or FROM image AS name, got ${JSON.stringify(source.rest)}`)
  }
  if (name !== undefined && !/^[a-z][a-z0-9-_.]*$/i.test(name)) {
    throw dockerfileError(at, `${JSON.stringify(name)} cannot name a stage: expected letters, digits, - _ or .`)
  }
  return { line: at.line, name: name?.toLowerCase() ?? null, image, platform: flags.one('platform'), instructions: [] }
}

function parseInstruction(text: InstructionText): Instruction {
  const { at, source } = text
  const line = at.line
  if (source.rest === '' && source.name !== 'CMD') throw dockerfileError(at, `${source.name} needs an argument`)
  switch (source.name) {
    case 'RUN':
      return parseRun(text)
    case 'COPY':
    case 'ADD':
      return parseCopy(text, source.name)
    case 'HEALTHCHECK':
      return parseHealthcheck(text)
    case 'ENV':
      return { kind: 'env', line, pairs: parsePairs(text) }
    case 'ARG':
      return { kind: 'arg', line, args: parseArgs(text) }
    case 'WORKDIR':
      return { kind: 'workdir', line, path: source.rest }
    case 'USER':
      return { kind: 'user', line, user: source.rest }
    case 'SHELL':
      return { kind: 'shell', line, argv: parseShell(text) }
    case 'ENTRYPOINT':
      return { kind: 'entrypoint', line, command: parseCommand(source.rest, at) }
    case 'CMD':
      return { kind: 'cmd', line, command: parseCommand(source.rest, at) }
    case 'VOLUME':
      return { kind: 'volume', line, paths: parseList(source.rest, at) }
    case 'EXPOSE':
    case 'LABEL':
    case 'MAINTAINER':
    case 'STOPSIGNAL':
      return { kind: 'label', line }
    case 'ONBUILD':
      return { kind: 'refused', line, reason: 'ONBUILD is not supported: nothing is built from this image' }
    default:
      throw dockerfileError(at, `unknown instruction ${JSON.stringify(source.name)}`)
  }
}

function parseShell({ at, source }: InstructionText): readonly string[] {
  const argv = parseJsonStrings(source.rest)
  if (argv === null || argv === 'mixed' || argv.length === 0) {
    throw dockerfileError(at, `SHELL expects a JSON array of strings, got ${source.rest}`)
  }
  return argv
}

/** `a=1 b="x y"`, or the old form `name everything else`. */
function parsePairs({ at, source, escapeChar }: InstructionText): (readonly [string, string])[] {
  const { words } = splitRaw(source.rest, escapeChar)
  if (!words[0]?.includes('=')) {
    const [, name, value] = /^(\S+)\s+(.+)$/s.exec(source.rest) ?? []
    if (name === undefined || value === undefined)
      throw dockerfileError(at, `${source.name} expects name=value, got ${source.rest}`)
    return [[name, value]]
  }
  return words.map((word) => {
    const end = word.indexOf('=')
    if (end <= 0) throw dockerfileError(at, `${source.name} expects name=value, got ${word}`)
    return [word.slice(0, end), word.slice(end + 1)] as const
  })
}

function parseArgs({ at, source, escapeChar }: InstructionText): Argument[] {
  const { words } = splitRaw(source.rest, escapeChar)
  if (words.length === 0) throw dockerfileError(at, 'ARG needs a name')
  return words.map((word) => {
    const end = word.indexOf('=')
    const name = end < 0 ? word : word.slice(0, end)
    if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))
      throw dockerfileError(at, `ARG expects a name, got ${JSON.stringify(name)}`)
    return { name, value: end < 0 ? null : word.slice(end + 1) }
  })
}

/** Reads COPY and ADD: sources, destination and options. */
function parseCopy({ at, source, flags }: InstructionText, name: 'COPY' | 'ADD'): Instruction {
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

/** Reads HEALTHCHECK; the defaults are Docker's. */
function parseHealthcheck({ at, source, flags }: InstructionText): Instruction {
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

const unitSec: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 }

/** Seconds of `1m30s`, `500ms` or `0`; null for anything else. */
export function parseDurationSec(text: string): number | null {
  if (text === '0') return 0
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text)) return null
  let total = 0
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)) {
    total += Number(number) * (unitSec[unit ?? ''] ?? 0)
  }
  return total
}

const mountTypes = ['bind', 'cache', 'tmpfs', 'secret', 'ssh']

/** Parses RUN with its options; secrets, ssh agents and extra privileges are refused. */
function parseRun({ at, source, flags }: InstructionText): Instruction {
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
