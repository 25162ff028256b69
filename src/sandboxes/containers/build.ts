import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import { type PrepareOptions, type SandboxFacts, standInNote } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import { BuildContext, type ContextEntry, ContextError, readInside } from '../../formats/dockerfile/context.ts'
import { parseDockerfile } from '../../formats/dockerfile/parse.ts'
import { basesOf } from '../../formats/dockerfile/plan.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { blockBytes, paddingOf, renderHeader } from '../../lib/tar-format.ts'
import type { ContainerEngine } from './container-engine.ts'
import { environmentLabel } from './labels.ts'
import { droppedCapabilities } from './rights.ts'
import type { EngineServer } from './server.ts'

/** What is sent to the engine. */
export interface LoadedBuild {
  readonly dockerfile: string
  /** Where the Dockerfile was read from, for messages. */
  readonly file: string
  /** The external images that it starts from. */
  readonly bases: readonly string[]
  /** Its name as sent to the engine. */
  readonly name: string
  readonly args: Readonly<Record<string, string>>
  readonly target: string | undefined
  readonly entries: readonly ContextEntry[]
  readonly notes: readonly string[]
}

/** Where a build is: the directory it may copy from, and its Dockerfile in there. */
export interface BuildPlace {
  readonly context: string
  readonly dockerfile: string
  readonly args: Readonly<Record<string, string>>
  readonly target: string | undefined
}

/**
 * Reads a Dockerfile and the files it may copy; `standIn` names another image for a base that is not available here.
 */
export async function loadBuild(
  { context: dir, dockerfile: file, args, target }: BuildPlace,
  standIn: ((image: string) => Promise<string | null>) | null,
): Promise<LoadedBuild> {
  try {
    const text = await readInside(dir, file)
    if (text === null) throw new ContextError(`there is no ${file}`)
    const lines = text.split('\n')
    const notes: string[] = []
    const bases = new Set<string>()
    const path = join(dir, file)
    for (const { line, written, image } of basesOf(parseDockerfile(text, path), args)) {
      const other = await standIn?.(image)
      bases.add(other ?? image)
      if (!other) continue
      lines[line - 1] = (lines[line - 1] ?? '').replace(written, other)
      notes.push(standInNote(image, other))
    }
    const [all] = await (await BuildContext.open(dir)).select('.')
    const name = file === dockerfileName ? file : otherName
    const entries = all?.entries ?? []
    const dockerfile = lines.join('\n')
    return { dockerfile, file: path, bases: [...bases], name, args, target, entries, notes: [...new Set(notes)] }
  } catch (error) {
    if (error instanceof ContextError)
      throw new BoundaryError('task', `${dir}: ${error.message}`, { code: 'EnvironmentBuildError', retryable: false })
    throw error
  }
}

const dockerfileName = 'Dockerfile'
/** For a Dockerfile with a different name, next to which there may be a plain one to copy. */
const otherName = '.ot-agent.Dockerfile'

export interface BuildRequest {
  readonly tag: string
  readonly digest: string
  readonly build: LoadedBuild
  readonly server: EngineServer
  /** `none`, `host`, or one of the engine's networks. */
  readonly network: string
  readonly limits: BuildLimits
  readonly seccompProfile: string | null
}

export interface BuildLimits {
  readonly memoryMb?: number
  readonly cpus?: number
}

/** Less is not enough for a compiler, whatever the task requests later. */
const leastBuildMemoryMb = 4096

/** What a build may use. Neither engine's builder can limit the number of processes, but each process takes memory. */
export function buildLimits({ memoryMb = 0, cpus }: Environment, can: SandboxFacts['limits']): BuildLimits {
  return {
    ...(can.memory && { memoryMb: Math.max(memoryMb, leastBuildMemoryMb) }),
    ...(can.cpu && cpus && { cpus }),
  }
}

const tailLines = 40
/** Signs that a base image could not be fetched: an infrastructure failure, not the task's. */
const unreachable =
  /no such host|dial tcp|i\/o timeout|connection refused|TLS handshake|pinging container registry|server misbehaving/i

const offlineHint =
  '(built without network; --ek buildNetwork=public gives builds network access even if the task has none)'

/** Builds an image in the engine. A Dockerfile that fails is the task's failure. */
export async function buildImage(engine: ContainerEngine, request: BuildRequest, how: PrepareOptions): Promise<void> {
  const { tag, build, digest } = request
  how.log?.(`building ${tag}`)
  const stream = await engine.stream({
    method: 'POST',
    path: '/build',
    query: {
      t: tag,
      dockerfile: build.name,
      buildargs: JSON.stringify(build.args),
      target: build.target,
      rm: true,
      forcerm: true,
      nocache: how.forceBuild ?? false,
      ...boundsOf(request),
      labels: JSON.stringify({ [environmentLabel]: digest }),
    },
    tar: tarContext(build),
    ...(how.signal && { signal: how.signal }),
  })
  const tail: string[] = []
  const { error } = await readProgress(stream, (line) => {
    how.log?.(line)
    if (tail.push(line) > tailLines) tail.shift()
  })
  how.signal?.throwIfAborted()
  if (error === null) return
  const blame = unreachable.test(error) ? ('sandbox' as const) : ('task' as const)
  const hint = request.network === 'none' ? `\n${offlineHint}` : ''
  const message =
    `the image could not be built: ${error.trim().slice(0, 500)}\n${tail.join('\n').slice(-1500)}`.trim() + hint
  throw new BoundaryError(blame, message, { code: 'EnvironmentBuildError', retryable: blame === 'sandbox' })
}

const cpuPeriodMicros = 100_000

/**
 * Podman takes the network as a namespace, and ignores Docker's option for it: its builds would use the host's network.
 */
function boundsOf({ server, network, limits: { memoryMb, cpus }, seccompProfile }: BuildRequest) {
  const limits = {
    ...(memoryMb !== undefined && { memory: memoryMb * 2 ** 20, memswap: memoryMb * 2 ** 20 }),
    ...(cpus !== undefined && { cpuperiod: cpuPeriodMicros, cpuquota: Math.round(cpus * cpuPeriodMicros) }),
  }
  if (!server.isPodman) return { ...limits, networkmode: network }
  const isPlain = network === 'none' || network === 'host'
  const namespace = { Name: 'network', Host: network === 'host', ...(!isPlain && { Path: network }) }
  return {
    ...limits,
    nsoptions: JSON.stringify([namespace]),
    networkmode: network === 'none' ? networkOff : networkOn,
    dropcaps: JSON.stringify(droppedCapabilities.map((name) => `CAP_${name}`)),
    httpproxy: false,
    ...(seccompProfile !== null && { seccomp: seccompProfile }),
  }
}

/** Buildah's codes for whether it sets up a network. */
const networkOff = 1
const networkOn = 2

async function* tarContext({ dockerfile, name, entries }: LoadedBuild): AsyncGenerator<Uint8Array, void, void> {
  const text = Buffer.from(dockerfile)
  yield renderHeader({ name, kind: 'file', mode: 0o644, size: text.length, link: '' })
  yield Buffer.concat([text, new Uint8Array(paddingOf(text.length))])
  for (const entry of entries) {
    if (entry.path === name) continue
    const { kind, mode, size, target: link, modifiedSec } = entry
    yield renderHeader({ name: `${entry.path}${kind === 'dir' ? '/' : ''}`, kind, mode, size, link, modifiedSec })
    if (kind === 'file') yield* contentOf(entry)
  }
  yield new Uint8Array(2 * blockBytes)
}

async function* contentOf({ source, size, path }: ContextEntry): AsyncGenerator<Uint8Array, void, void> {
  const file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    for (let left = size; left > 0; ) {
      const buffer = Buffer.allocUnsafe(Math.min(left, 256 << 10))
      const { bytesRead } = await file.read(buffer, 0, buffer.length)
      if (bytesRead === 0) throw new ContextError(`${path} changed while it was sent`)
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
  yield new Uint8Array(paddingOf(size))
}

const progressSchema = z.object({ stream: z.string().nullish(), error: z.string().nullish() })
/** A build may print a lot; the log keeps the beginning. */
const loggedLines = 5000
const lineLimit = 2000

/** Reads what an engine reports while it builds or pulls: a sequence of JSON objects. */
export async function readProgress(stream: Readable, log: (line: string) => void): Promise<{ error: string | null }> {
  let error: string | null = null
  let pending = ''
  let open = ''
  let count = 0
  const say = (line: string) => {
    if (line.trim() !== '' && ++count <= loggedLines) log(line.slice(0, lineLimit))
  }
  const take = (line: string) => {
    const said = progressSchema.safeParse(parseJson(line))
    if (!said.success) return
    if (said.data.error) error = said.data.error
    const parts = (open + (said.data.stream ?? '')).split(/\r\n|[\r\n]/)
    open = (parts.pop() ?? '').slice(-lineLimit)
    for (const part of parts) say(part)
  }
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (pending + String(chunk)).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
  take(pending)
  say(open)
  return { error }
}
