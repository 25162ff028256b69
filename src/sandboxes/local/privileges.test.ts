import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { needs } from '../../../test/needs.ts'

// The result is cached, and other tests share this process: this one gets its own copy of the module.
const own = './privileges.ts?own'
const { findPrivileges }: typeof import('./privileges.ts') = await import(/* @vite-ignore */ own)
const home = mkdtempSync(join(tmpdir(), 'home-'))

afterEach(() => {
  vi.unstubAllEnvs()
})

test(
  'a machine that refuses user namespaces is told so, with what the system said',
  needs('bwrap', 'unshare'),
  async () => {
    const bin = mkdtempSync(join(tmpdir(), 'bin-'))
    writeFileSync(join(bin, 'unshare'), '#!/bin/sh\necho unshare failed: Operation not permitted >&2\nexit 1\n')
    chmodSync(join(bin, 'unshare'), 0o755)
    vi.stubEnv('PATH', `${bin}:${process.env.PATH}`)
    await expect(findPrivileges(home, { ids: 'host' })).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(/^user namespaces are not .*Operation not permitted/),
    })
  },
)

test('what was refused once is asked again', needs('bwrap', 'unshare'), async () => {
  await expect(findPrivileges(home, { ids: 'host' })).resolves.toMatchObject({
    mode: process.getuid?.() === 0 ? 'root' : 'user',
  })
})
