import { z } from 'zod'
import type { Reaped, ReapOptions } from '../../core/sandbox.ts'
import { removeContainer, removeImage, removeVolume } from './container.ts'
import type { ContainerEngine } from './container-engine.ts'
import { frozenRepo, isAbandoned, type LabelledOwner, ownedLabel, parseLabels, stateMark } from './labels.ts'
import { removeNetwork } from './networks.ts'

const labels = z.record(z.string(), z.string()).nullish()
const containersSchema = z.array(z.object({ Id: z.string(), Names: z.array(z.string()).nullish(), Labels: labels }))
const volumesSchema = z.object({ Volumes: z.array(z.object({ Name: z.string(), Labels: labels })).nullish() })
const networksSchema = z.array(z.object({ Id: z.string(), Name: z.string(), Labels: labels }))
const imagesSchema = z.array(z.object({ Id: z.string(), RepoTags: z.array(z.string()).nullish(), Labels: labels }))

interface Found {
  readonly what: string
  readonly owner: LabelledOwner
  readonly remove: () => Promise<void>
}

/**
 * Removes containers, volumes, networks and images that dead owners of one state directory left behind. A live owner's
 * things are never touched, nor are things that others made and that carry our labels: a container of a kept image
 * inherits them.
 */
export async function reap(
  engine: ContainerEngine,
  stateDir: string,
  { dryRun = false, left }: ReapOptions = {},
): Promise<readonly Reaped[]> {
  const mark = stateMark(stateDir)
  const reaped: Reaped[] = []
  for (const list of lists) {
    for (const { what, owner, remove } of await list(engine)) {
      if (owner.stateMark !== mark) continue
      const abandoned = isAbandoned(owner)
      const where = abandoned === 'unknown' ? ` on ${owner.process.host}, which may be running` : ''
      const whose = `${what} left by process ${owner.process.pid}${where}`
      const found = { id: owner.sandbox, owner: owner.owner, what: whose }
      if (abandoned === 'unknown') left?.(found)
      if (abandoned !== true) continue
      if (!dryRun) await remove()
      reaped.push(found)
    }
  }
  return reaped
}

/** Removes everything that a sandbox of this process has, by name, including what appears in the meantime. */
export async function removeSandbox(engine: ContainerEngine, id: string): Promise<void> {
  for (let attempt = 1; attempt <= 10; attempt++) {
    let found = 0
    for (const list of lists) {
      const own = (await list(engine)).filter(({ owner }) => owner.sandbox === id)
      found += own.length
      for (const { remove } of own) await remove()
    }
    if (found === 0) return
  }
}

const query = { all: true, filters: JSON.stringify({ label: [ownedLabel] }) }

async function listContainers(engine: ContainerEngine): Promise<Found[]> {
  const { body } = await engine.ask({ method: 'GET', path: '/containers/json', query })
  return containersSchema.parse(body).flatMap(({ Id, Names, Labels }) => {
    const name = Names?.[0]?.replace(/^\//, '') ?? Id.slice(0, 12)
    return owned(Labels, 'container', name, () => removeContainer(engine, Id))
  })
}

async function listVolumes(engine: ContainerEngine): Promise<Found[]> {
  const { body } = await engine.ask({ method: 'GET', path: '/volumes', query: { filters: query.filters } })
  return (volumesSchema.parse(body).Volumes ?? []).flatMap(({ Name, Labels }) =>
    owned(Labels, 'volume', Name, () => removeVolume(engine, Name)),
  )
}

/** A network that another user's container uses stays. */
async function listNetworks(engine: ContainerEngine): Promise<Found[]> {
  const { body } = await engine.ask({ method: 'GET', path: '/networks', query: { filters: query.filters } })
  return networksSchema
    .parse(body)
    .flatMap(({ Id, Name, Labels }) =>
      owned(Labels, 'network', Name, () => removeNetwork(engine, Id, 3).catch(() => {})),
    )
}

async function listImages(engine: ContainerEngine): Promise<Found[]> {
  const { body } = await engine.ask({ method: 'GET', path: '/images/json', query: { filters: query.filters } })
  // A later freeze is based on an earlier one, so the newest comes first.
  return imagesSchema.parse(body).flatMap(({ RepoTags, Labels }) =>
    (RepoTags ?? []).flatMap((tag) => {
      const [, name] = frozenTag.exec(tag) ?? []
      // Another tag of the same image belongs to its owner: the image stays under that tag.
      return name === undefined ? [] : owned(Labels, `image ${frozenRepo}`, name, () => removeImage(engine, tag))
    }),
  )
}

/** In this order: an image can be removed only when no container needs it. */
const lists = [listContainers, listVolumes, listNetworks, listImages]

/** Podman puts a host in front of the name. */
const frozenTag = new RegExp(`^(?:[\\w.]+/)?${frozenRepo}:(.+)$`)

/** Ours are things with all of our labels and a name that we gave: the sandbox's name, plus a suffix. */
function owned(
  labels: Readonly<Record<string, string>> | null | undefined,
  kind: string,
  name: string,
  remove: () => Promise<void>,
): Found[] {
  const owner = parseLabels(labels)
  if (owner === null || !name.startsWith(owner.sandbox) || !/^[-_]/.test(name.slice(owner.sandbox.length))) return []
  return [{ what: `${kind} ${name}`, owner, remove }]
}
