import { z } from 'zod'
import type { ContainerEngine } from './container-engine.ts'

const versionSchema = z.object({
  Version: z.string().nullish(),
  Components: z.array(z.object({ Name: z.string(), Version: z.string().nullish() })).nullish(),
})
const infoSchema = z.object({ host: z.object({ buildahVersion: z.string().nullish() }) })

/**
 * From this version on, Buildah keeps bind and cache mounts of a build within its containers (CVE-2024-11218 was the
 * last bug).
 */
const holdingBuildah = '1.38.1'
const heredocBuildah = '1.33.0'
/** From this version on, Docker can make a network on which the host has no address. */
const closingDocker = '20.10.0'

/** The program behind a socket, and what its version can contain. */
export interface EngineServer {
  /** For messages, for example `podman 4.3.1 with Buildah 1.28.2`. */
  readonly name: string
  /** Whether it is Podman, which also serves Docker's interface, whatever the socket is called. */
  readonly isPodman: boolean
  /** Whether its builder reads heredocs. */
  readonly readsHeredocs: boolean
  /** Whether `RUN --mount` of files stays within the build. */
  readonly holdsMounts: boolean
  /** Why services of a compose file cannot be isolated from the host when they have no network; null if they can. */
  readonly cannotClose: string | null
  /** What is refused because of the version, one line each. */
  readonly refused: readonly string[]
}

/** Asks an engine what it is. */
export async function findServer(engine: ContainerEngine): Promise<EngineServer> {
  const { Version, Components } = versionSchema.parse((await engine.ask({ method: 'GET', path: '/version' })).body)
  const podman = Components?.find(({ Name }) => Name === 'Podman Engine')
  if (!podman) return dockerServer(Version ?? 'unknown')
  const info = await engine.ask({ method: 'GET', path: '/libpod/info', accept: [404, 500] })
  return podmanServer(
    podman.Version ?? 'unknown',
    infoSchema.safeParse(info.body).data?.host.buildahVersion ?? 'unknown',
  )
}

/** Describes Docker; its builder is the classic one, which supports neither mounts nor heredocs. */
export function dockerServer(version: string): EngineServer {
  const closes = isAtLeast(version, closingDocker)
  const cannotClose = closes
    ? null
    : `docker ${version} gives every network an address of the host; docker ${closingDocker} and later need not`
  return {
    name: `docker ${version}`,
    isPodman: false,
    readsHeredocs: false,
    holdsMounts: false,
    cannotClose,
    refused: [
      'RUN --mount of files and heredocs, which its builder does not have',
      ...(closes ? [] : ['compose files without network']),
    ],
  }
}

export function podmanServer(version: string, buildah: string): EngineServer {
  const [holdsMounts, readsHeredocs] = [isAtLeast(buildah, holdingBuildah), isAtLeast(buildah, heredocBuildah)]
  return {
    name: `podman ${version} with Buildah ${buildah}`,
    isPodman: true,
    readsHeredocs,
    holdsMounts,
    cannotClose: null,
    refused: [
      ...(holdsMounts ? [] : [`RUN --mount of files, which Buildah contains from ${holdingBuildah} on`]),
      ...(readsHeredocs ? [] : [`heredocs, which Buildah reads from ${heredocBuildah} on`]),
    ],
  }
}

/** A version that cannot be parsed counts as old. */
function isAtLeast(version: string, wanted: string): boolean {
  const [, ...numbers] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(version) ?? []
  if (numbers.length === 0) return false
  for (const [index, least] of wanted.split('.').map(Number).entries()) {
    const number = Number(numbers[index] ?? 0)
    if (number !== least) return number > least
  }
  // A release candidate is older than its release.
  return !/^v?[\d.]+-(rc|dev|alpha|beta)/.test(version)
}
