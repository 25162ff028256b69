import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

/** A stand-in for an image registry on loopback: one image, in the parts that engines request when they pull. */
export interface TestRegistry extends AsyncDisposable {
  /** The image's name as a task would give it. */
  readonly image: string
  readonly address: string
  /** Requested paths, in order. */
  readonly asked: readonly string[]
}

/** Serves an image whose only layer is a tar archive. */
export async function startRegistry(layer: Buffer, settings: Record<string, unknown>): Promise<TestRegistry> {
  const { blobs, manifest } = makeImage(layer, settings)
  const asked: string[] = []
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? ''
    asked.push(path)
    const [, name, digest] = /^\/v2\/ot-agent\/ready\/(manifests|blobs)\/(.+)$/.exec(path) ?? []
    const body =
      name === 'manifests' && digest === 'one' ? manifest : digest === undefined ? undefined : blobs.get(digest)
    if (path === '/v2/') response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    else if (body === undefined) response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
    else {
      const type = body === manifest ? manifestType : 'application/octet-stream'
      const headers = { 'content-type': type, 'content-length': body.length, 'docker-content-digest': digestOf(body) }
      response.writeHead(200, headers).end(incoming.method === 'HEAD' ? undefined : body)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { image: `${address}/ot-agent/ready:one`, address, asked, [Symbol.asyncDispose]: close }
}

const manifestType = 'application/vnd.docker.distribution.manifest.v2+json'

function makeImage(layer: Buffer, settings: Record<string, unknown>) {
  const packed = gzipSync(layer)
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: settings,
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
      // Podman builds only on images that say where their layers came from.
      history: [{ created_by: 'test' }],
    }),
  )
  const part = (kind: string, data: Buffer) => ({ mediaType: kind, size: data.length, digest: digestOf(data) })
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: part('application/vnd.docker.container.image.v1+json', config),
      layers: [part('application/vnd.docker.image.rootfs.diff.tar.gzip', packed)],
    }),
  )
  const blobs = new Map([manifest, config, packed].map((data) => [digestOf(data), data]))
  return { blobs, manifest }
}

function digestOf(data: Buffer): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`
}
