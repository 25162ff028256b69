import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { findProgram, systemPath } from './programs.ts'

test('a program of the user is found by PATH, and not when only system directories are searched', () => {
  const dir = mkdtempSync(join(tmpdir(), 'programs-'))
  const program = join(dir, 'of-the-user')
  writeFileSync(program, '#!/bin/sh\n')
  chmodSync(program, 0o755)
  vi.stubEnv('PATH', dir)
  expect(findProgram('of-the-user')).toBe(program)
  expect(findProgram('sh')).toMatch(/\/sh$/)
  expect(findProgram('of-the-user', systemPath)).toBeNull()
  vi.unstubAllEnvs()
})
