import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import { plainEnvironment } from './environment.ts'

/** The law for sandboxes that reach allowed hosts through our own gateway; clouds use their own firewall. */
export function allowlistLaw(makeProvider: () => SandboxProvider): void {
  test('lets programs reach the hosts of an allowlist and nothing else, after a freeze too', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-allowlist-'))
    const outside = createServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nfrom outside'))
    })
    try {
      await once(outside.listen(0, '0.0.0.0'), 'listening')
      const { port } = outside.address() as AddressInfo
      const network = { mode: 'allowlist', hosts: ['127.0.0.2'] } as const
      const environment = plainEnvironment(dir, { network })
      await using box = await makeProvider().lease({ owner: { job: 'contract', trial: 'allowlist' }, environment })
      const bash = (script: string) => box.exec(['bash', '-c', script])
      for (const moment of ['at first', 'after a freeze']) {
        expect((await bash(asked('127.0.0.2', port))).stdout, moment).toContain('from outside')
        expect((await bash(asked('127.0.0.3', port))).stdout, moment).toContain('403 Forbidden')
        expect((await bash(`exec 3<>/dev/tcp/127.0.0.2/${port}`)).exitCode, moment).not.toBe(0)
        await box.freeze()
      }
      await box.setNetwork({ mode: 'no-network' })
      expect((await bash('env | grep -ci _proxy=')).stdout).toBe('0\n')
    } finally {
      outside.close()
      rmSync(dir, { recursive: true, force: true })
    }
  })
}

/** A request as made by a program that uses a proxy, written in bash because images have no curl. */
function asked(host: string, port: number): string {
  const request = `GET http://${host}:${port}/ HTTP/1.0\\r\\n\\r\\n`
  return `p=\${http_proxy#http://}; exec 3<>/dev/tcp/\${p%:*}/\${p#*:}; printf '${request}' >&3; cat <&3`
}
