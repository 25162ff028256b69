import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { PluginContext } from '../../core/plugin.ts'
import type { Reaped, ReapOptions, SandboxAbilities, SandboxFacts, SandboxRequest } from '../../core/sandbox.ts'
import { ControlGroups, type Limits } from '../../lib/control-group.ts'
import { exists, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { ownersDirOf } from '../../lib/process-identity.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { lazily } from '../../lib/shared-work.ts'
import type { Lease } from '../common/lease.ts'
import type { LeaseProvider } from '../namespaces/allowlist.ts'
import { forgetLease, isAbandoned, loadLease, newId, saveLease } from '../namespaces/lease-file.ts'
import { stopArgs } from './commands.ts'
import { fetchImage, findImage, type Image, imageFile } from './image.ts'
import { Instance, nameFile } from './instance.ts'
import { ApptainerBody } from './lease.ts'
import { type Apptainer, findApptainer, runProgram } from './program.ts'
import { seccompProfile } from './seccomp.ts'

export interface ApptainerOptions {
  readonly program?: string | undefined
  readonly image?: string | undefined
  readonly pids: number
}

const can: SandboxAbilities = {
  gpu: false,
  compose: false,
  images: true,
  windows: false,
  network: ['public', 'no-network'],
  networkPerPhase: false,
  toolDirs: true,
}

/** Where instances of one state directory are created and removed. */
interface Place {
  readonly apptainer: Apptainer
  readonly home: string
  readonly ownersDir: string
  readonly groups: ControlGroups
}

export function makeApptainer(options: ApptainerOptions, context: PluginContext): LeaseProvider {
  const home = join(context.stateDir, 'apptainer')
  const open = lazily(async (): Promise<Place> => {
    const apptainer = findApptainer(context.stateDir, options.program)
    if (/[,:\s]/.test(home))
      throw new UserError(
        `the state directory ${JSON.stringify(home)} has a comma, colon or space in its path`,
        'set XDG_CACHE_HOME to a plain path',
      )
    for (const name of ['config', 'images', 'sandboxes']) await mkdir(join(home, name), { recursive: true })
    // A program inside may leave set-user-id files in its overlay, so no other user of the host may reach them.
    await chmod(home, 0o700)
    await writeAtomic(apptainer.seccompFile, JSON.stringify(seccompProfile()))
    const digest = createHash('sha256').update(home).digest('hex').slice(0, 8)
    const ownersDir = ownersDirOf(context.stateDir)
    return { apptainer, home, ownersDir, groups: ControlGroups.find(`ot-agent-${digest}`) }
  })
  const imagesDir = join(home, 'images')
  return {
    name: 'apptainer',
    can,
    dirs: [context.stateDir],
    preflight: async () => void findApptainer(context.stateDir, options.program),
    prepare: async (environment, how = {}) => {
      const { source } = await findImage(environment, options.image)
      await fetchImage((await open()).apptainer, imagesDir, source, how)
    },
    isPrepared: async (environment) => {
      const { source } = await findImage(environment, options.image)
      return exists('path' in source ? source.path : imageFile(imagesDir, source.registry))
    },
    lease: async (request) => lease(await open(), options, request),
    reap: async (how = {}) => ((await exists(home)) ? reap(await open(), how) : []),
  }
}

async function lease(place: Place, options: ApptainerOptions, request: SandboxRequest): Promise<Lease> {
  const { apptainer, home, groups } = place
  const { environment, owner, signal } = request
  signal?.throwIfAborted()
  const image = await findImage(environment, options.image)
  const path = await fetchImage(apptainer, join(home, 'images'), image.source, request)
  signal?.throwIfAborted()
  const id = newId(place.ownersDir)
  const dir = join(home, 'sandboxes', id)
  await mkdir(dir, { recursive: true })
  saveLease(dir, id, owner, null)
  const limits: Limits = {
    ...(environment.cpus && { cpus: environment.cpus }),
    ...(environment.memoryMb && { memoryMb: environment.memoryMb }),
    pids: options.pids,
  }
  const network = environment.network.mode === 'public' ? 'host' : 'none'
  const workdir = environment.workdir ?? image.workdir
  const isOurs = Object.values(groups.enforces).some(Boolean)
  const instance = new Instance({
    apptainer,
    name: id,
    dir,
    image: path,
    env: { ...image.env, ...environment.env, ...request.env },
    workdir,
    user: image.user,
    group: isOurs ? groups.create(id, limits) : null,
    limits: isOurs ? {} : limits,
    network,
    tools: request.toolDirs ?? [],
  })
  let disposing: Promise<void> | undefined
  const dispose = () => {
    disposing ??= instance.stop().then(() => discard(place, id, dir))
    return disposing
  }
  try {
    const facts = factsOf(groups, image)
    return await ApptainerBody.open(
      instance,
      { id, dir, workdir, network, facts, healthcheck: image.healthcheck, dispose },
      signal,
    )
  } catch (error) {
    await dispose()
    throw error
  }
}

async function discard({ groups }: Place, id: string, dir: string): Promise<void> {
  await groups.at(id).remove()
  await removeTree(dir)
  if (forgetLease(dir) === 0) groups.removeParent()
}

function factsOf({ enforces }: ControlGroups, { source }: Image): SandboxFacts {
  const missing = Object.entries(enforces).flatMap(([name, on]) => (on ? [] : [name]))
  const warning = missing.length > 0 ? [`limits that cannot be enforced on this machine: ${missing.join(', ')}`] : []
  const from = 'path' in source ? source.path : source.registry
  return { provider: 'apptainer', limits: { ...enforces, storage: false }, notes: [`starts from ${from}`, ...warning] }
}

/** Stops and removes what owners known to be dead left behind; nothing else is ever touched. */
async function reap(place: Place, options: ReapOptions): Promise<readonly Reaped[]> {
  const reaped: Reaped[] = []
  for (const id of await readdir(join(place.home, 'sandboxes'))) {
    const dir = join(place.home, 'sandboxes', id)
    const lease = loadLease(dir)
    const what = lease ? `left by process ${lease.process.pid}` : 'without a lease'
    const found = { id, owner: lease?.owner ?? { job: '', trial: '' }, what }
    if (!isAbandoned(found, lease, { dir, ownersDir: place.ownersDir }, options)) continue
    if (!options.dryRun) {
      const name = await readTextIfExists(nameFile(dir))
      if (name) await runProgram(place.apptainer, stopArgs(name)).catch(() => {})
      await discard(place, id, dir)
    }
    reaped.push(found)
  }
  return reaped
}
