import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type LogicalLine, readLines } from '../../formats/dockerfile/lines.ts'
import { parseDockerfile } from '../../formats/dockerfile/parse.ts'
import { basesOf } from '../../formats/dockerfile/plan.ts'
import { dockerfileError, type Place, parseJsonStrings, splitPlain } from '../../formats/dockerfile/words.ts'
import { isInnerAddress } from '../namespaces/allowed-hosts.ts'
import { isImageName } from './image-name.ts'
import type { EngineServer } from './server.ts'

export interface BuildRules {
  readonly server: EngineServer
  /** Whether the build has a network. */
  readonly isPublic: boolean
  /** Values for the build's ARGs. */
  readonly args: Readonly<Record<string, string>>
}

/** The options each instruction may have; any other is refused, because an engine may give it a meaning. */
const options: Readonly<Record<string, readonly string[]>> = {
  FROM: ['platform'],
  RUN: ['mount', 'network', 'security'],
  COPY: ['from', 'chown', 'chmod', 'link', 'parents', 'exclude'],
  ADD: ['chown', 'chmod', 'link', 'checksum', 'keep-git-dir', 'unpack', 'exclude'],
  HEALTHCHECK: ['interval', 'timeout', 'start-period', 'start-interval', 'retries'],
}

/**
 * Refuses a Dockerfile whose build could reach outside its containers: mounts of the host's files, the host's network,
 * addresses that the engine itself would fetch. Anything a builder might read differently than we do is refused too.
 */
export async function checkDockerfile(text: string, file: string, rules: BuildRules): Promise<void> {
  for (const { line, image } of basesOf(parseDockerfile(text, file), rules.args))
    if (!isReference(image)) throw dockerfileError({ file, line }, `FROM ${image}: expected the name of an image`)
  const { lines, escapeChar } = readLines(text, file)
  const stages = new Set<string>()
  let count = 0
  for (const line of lines) {
    const at = { file, line: line.line }
    if (line.heredocs.length > 0 && !rules.server.readsHeredocs)
      throw dockerfileError(at, `heredocs are not read by ${rules.server.name}; use COPY, or RUN with printf`)
    const flags = readFlags(line, at)
    if (line.name === 'ONBUILD') throw dockerfileError(at, 'ONBUILD is not supported: nothing is built from this image')
    if (line.name === 'FROM') {
      const [, , name] = splitPlain(line.rest)
      stages.add(String(count++))
      if (name !== undefined) stages.add(name.toLowerCase())
    }
    if (line.name === 'RUN') checkRun(flags, at, rules, stages)
    if (line.name === 'COPY') for (const from of flags.get('from') ?? []) checkFrom('COPY --from', from, at, stages)
    if (line.name === 'ADD') await checkAdd(line, at, escapeChar, rules)
  }
}

function readFlags({ name, flags }: LogicalLine, at: Place): Map<string, string[]> {
  const read = new Map<string, string[]>()
  for (const flag of flags) {
    const [, option = '', value = ''] = /^--([^=]+)(?:=(.*))?$/s.exec(flag) ?? []
    if (!(options[name] ?? []).includes(option)) throw dockerfileError(at, `${name} ${flag} is not supported`)
    read.set(option, [...(read.get(option) ?? []), value])
  }
  return read
}

function checkRun(flags: Map<string, string[]>, at: Place, rules: BuildRules, stages: ReadonlySet<string>): void {
  for (const network of flags.get('network') ?? [])
    if (!['none', 'default'].includes(network))
      throw dockerfileError(at, `RUN --network=${network} is refused: a build has the task’s network or none`)
  for (const security of flags.get('security') ?? [])
    if (security !== 'sandbox') throw dockerfileError(at, `RUN --security=${security} would need extra rights`)
  for (const mount of flags.get('mount') ?? []) checkMount(mount, at, rules, stages)
}

const mountKeys = ['type', 'target', 'dst', 'destination', 'ro', 'readonly', 'rw', 'readwrite']
const moreKeys: Readonly<Record<string, readonly string[]>> = {
  tmpfs: ['size'],
  cache: ['id', 'sharing', 'mode', 'uid', 'gid'],
  bind: ['from', 'source', 'src'],
}

function checkMount(text: string, at: Place, { server }: BuildRules, stages: ReadonlySet<string>): void {
  const no = (why: string) => dockerfileError(at, `RUN --mount=${text} is refused: ${why}`)
  if (/[$"'`\\\s]/.test(text)) throw no('variables are not allowed in it')
  const pairs = text.split(',').map((part) => /^([^=]*)=?(.*)$/s.exec(part)?.slice(1) ?? [])
  const types = pairs.flatMap(([key, value]) => (key?.toLowerCase() === 'type' ? [value ?? ''] : []))
  const type = types.length === 0 ? 'bind' : types.join()
  if (type === 'secret' || type === 'ssh') throw no('a build has no secrets here')
  const known = Object.hasOwn(moreKeys, type) ? moreKeys[type] : undefined
  if (!known) throw no(`${type} is not a type that is known`)
  if (type !== 'tmpfs' && !server.holdsMounts)
    throw no(`${server.name} cannot contain it; use COPY, or leave the mount out`)
  for (const [key = '', value = ''] of pairs) {
    const name = key.toLowerCase()
    if (![...mountKeys, ...known].includes(name)) throw no(`${key} could reach beyond the build`)
    if (value.split('/').includes('..')) throw no(`${key} leads out of its directory`)
    if (name === 'from') checkFrom('RUN --mount from', value, at, stages)
  }
}

/** Accepts a stage of this file, or an image by its plain name. */
function checkFrom(what: string, from: string, at: Place, stages: ReadonlySet<string>): void {
  if (stages.has(from.toLowerCase()) || isReference(from)) return
  throw dockerfileError(at, `${what}=${from}: expected a stage of this file or the name of an image, without variables`)
}

/** Prefixes by which Podman finds images in files and directories of the host. */
const transports =
  /^(dir|oci|oci-archive|docker-archive|docker-daemon|containers-storage|ostree|sif|tarball|atomic|openshift):/i

function isReference(text: string): boolean {
  return isImageName(text) && !transports.test(text)
}

async function checkAdd({ rest }: LogicalLine, at: Place, escapeChar: string, rules: BuildRules): Promise<void> {
  const list = parseJsonStrings(rest)
  // A builder removes quotes and escapes when it reads a word.
  const plain = (text: string) => text.replaceAll(escapeChar, '').replace(/[\\"']/g, '')
  const remote = (Array.isArray(list) ? list : splitPlain(rest)).map(plain).filter(isRemote)
  const isUnclear = remote.length === 0 && /:\/\/|git@/i.test(plain(rest))
  if (remote.length === 0 && !isUnclear) return
  if (!rules.isPublic)
    throw dockerfileError(at, `ADD ${rest} may need the network, which this build does not have; use COPY for files`)
  if (isUnclear)
    throw dockerfileError(
      at,
      `ADD ${rest}: what it fetches is not known before it runs; write the URL without variables`,
    )
  for (const source of remote) await checkRemote(source, at)
}

const beginnings = ['http://', 'https://', 'git://', 'ssh://', 'ftp://', 'git@']

/**
 * Whether the engine may fetch a source of ADD by itself, from the host's network. Variables may come from the base
 * image, so a word that begins with one may be anything.
 */
function isRemote(source: string): boolean {
  const [known = '', ...variables] = source.toLowerCase().split('$')
  const [first = ''] = known.split('/', 1)
  const at = first.indexOf('@')
  if (known.includes('://') || (at >= 0 && first.includes(':', at))) return true
  return variables.length > 0 && (known === '' || beginnings.some((beginning) => beginning.startsWith(known)))
}

/**
 * Refuses addresses of this machine, its neighbours or a cloud's metadata server. Redirects by a server are not checked
 * here.
 */
async function checkRemote(source: string, at: Place): Promise<void> {
  const no = (why: string) => dockerfileError(at, `ADD ${source} is refused: ${why}; use RUN with curl, or COPY`)
  const [, host] = /^https?:\/\/([^/?#]+)([/?#]|$)/i.exec(source) ?? []
  if (host === undefined) throw no('only http and https are fetched')
  if (host.includes('$')) throw no('the host must not contain variables')
  const name = hostOf(source)
  if (name === null) throw no('its host cannot be parsed')
  const isName = isIP(name) === 0
  if (isName && /(^|\.)(localhost|local|internal|localdomain|lan|home|corp)$|^[^.]+$/.test(name))
    throw no('its host is not on the internet')
  const addresses = isName ? await lookup(name, { all: true }).catch(() => []) : [{ address: name }]
  if (addresses.some(({ address }) => isInnerAddress(address))) throw no('its host is not on the internet')
}

/** The host as connections use it: numbers in any notation become an address. */
function hostOf(source: string): string | null {
  try {
    return new URL(source.split('$')[0] ?? '').hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  } catch {
    return null
  }
}
