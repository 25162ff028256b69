import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import { sleep } from '../../lib/deadline.ts'
import { type ContainerEngine, url } from './container-engine.ts'
import type { EngineServer } from './server.ts'

export interface NetworkSpec {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /**
   * Whether its containers can only reach each other: neither other machines nor the host, which has no address there.
   */
  readonly closed: boolean
}

const gatewaySchema = z.object({ subnets: z.array(z.object({ gateway: z.string().nullish() })).nullish() })
const noAddresses = /address pool|predefined address pools|free subnet|available subnet|no available network/i
const taken = /overlaps|already used|is being used|conflicts with/i
const attempts = 50

/**
 * Makes a network for one sandbox. Engines have a few dozen address ranges; when those run out, the network gets a
 * small range of ours.
 */
export async function makeNetwork(engine: ContainerEngine, server: EngineServer, spec: NetworkSpec): Promise<void> {
  if (spec.closed && server.cannotClose !== null)
    throw new BoundaryError('sandbox', `a compose file without network is refused: ${server.cannotClose}`, {
      code: 'UnsupportedEnvironmentError',
      retryable: false,
    })
  if (server.isPodman && spec.closed) return makeClosedPodmanNetwork(engine, server, spec)
  let refusal = await create(engine, spec, null)
  if (refusal === null) return
  if (!noAddresses.test(refusal)) throw failed(engine, spec, refusal)
  const routes = await hostRoutes()
  for (let attempt = 0; attempt < attempts && refusal !== null; attempt++) {
    const subnet = randomSubnet()
    if (routes.some((route) => overlaps(route, subnet))) continue
    refusal = await create(engine, spec, subnet)
    if (refusal !== null && !taken.test(refusal) && !noAddresses.test(refusal)) break
  }
  if (refusal === null) return
  const cure = 'remove unneeded networks, or set the option network to one that sandboxes share'
  throw failed(engine, spec, `${refusal}\n${cure}`)
}

/** Removes a network; one that does not exist is fine. A container that is being removed may hold it for a moment. */
export async function removeNetwork(engine: ContainerEngine, name: string, tries = 20): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const path = url`/networks/${name}`
    const { status } = await engine.ask({ method: 'DELETE', path, accept: [403, 404, 409, 500] })
    if (status < 400 || status === 404) return
    if (attempt >= tries)
      throw new BoundaryError('sandbox', `${engine.name} could not remove network ${name} (${status})`)
    await sleep(50 * attempt)
  }
}

/** Null on success, otherwise the engine's error. */
async function create(engine: ContainerEngine, spec: NetworkSpec, subnet: string | null): Promise<string | null> {
  const json = {
    Name: spec.name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Labels: spec.labels,
    Internal: spec.closed,
    // Without this the bridge has an address of the host, where every service that listens on all addresses answers.
    Options: spec.closed ? { 'com.docker.network.bridge.inhibit_ipv4': 'true' } : {},
    ...(subnet !== null && { IPAM: { Config: [{ Subnet: subnet }] } }),
  }
  const accept = [400, 403, 404, 409, 500]
  const { status, body } = await engine.ask({ method: 'POST', path: '/networks/create', json, accept })
  if (status < 400) return null
  return z.object({ message: z.string() }).safeParse(body).data?.message ?? `status ${status}`
}

/** Docker's interface would enable name resolution, which answers at an address of the host. */
async function makeClosedPodmanNetwork(
  engine: ContainerEngine,
  server: EngineServer,
  spec: NetworkSpec,
): Promise<void> {
  const { name, labels } = spec
  const json = { name, labels, driver: 'bridge', internal: true, dns_enabled: false, options: { isolate: 'true' } }
  await engine.ask({ method: 'POST', path: '/libpod/networks/create', json })
  const { body } = await engine.ask({ method: 'GET', path: url`/libpod/networks/${name}/json` })
  if (!gatewaySchema.parse(body).subnets?.some(({ gateway }) => gateway)) return
  await removeNetwork(engine, name)
  const why = `${server.name} gives a network without a way out an address of the host`
  throw new BoundaryError('sandbox', `a compose file without network is refused: ${why}`, { retryable: false })
}

function failed(engine: ContainerEngine, { name }: NetworkSpec, why: string): BoundaryError {
  return new BoundaryError('sandbox', `${engine.name} could not create network ${name}: ${why}`, {
    code: 'NoNetworkError',
  })
}

/** Sixteen addresses from a range reserved for benchmarking, which is never routed. */
function randomSubnet(): string {
  return `198.19.${randomInt(256)}.${16 * randomInt(16)}/28`
}

/** The ranges for which this machine has a specific route. */
async function hostRoutes(): Promise<string[]> {
  const text = await readFile('/proc/net/route', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [, to = '', , , , , , mask = ''] = line.split('\t')
    if (!/^[0-9A-F]{8}$/.test(to) || !/^[0-9A-F]{8}$/.test(mask) || /^0+$/.test(mask)) return []
    const bits = [...Number.parseInt(mask, 16).toString(2)].filter((bit) => bit === '1').length
    return [`${Buffer.from(to, 'hex').reverse().join('.')}/${bits}`]
  })
}

function overlaps(a: string, b: string): boolean {
  const [[first, firstBits], [second, secondBits]] = [rangeOf(a), rangeOf(b)]
  const shift = 32 - Math.min(firstBits, secondBits)
  return first >>> shift === second >>> shift
}

function rangeOf(range: string): [number, number] {
  const [address = '', bits] = range.split('/')
  return [address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) >>> 0, Number(bits)]
}
