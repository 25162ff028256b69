import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { buildStarter, hashes, hashName, kinds, nameOf, prebuilt, whyNotBuilt } from '../scripts/build-starter.mjs'

const dir = mkdtempSync(join(tmpdir(), 'ot-built-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('the programs that start sandboxes exist for x64 and arm64, are small, and were built from the sources next to them', () => {
  expect(readFileSync(join(prebuilt, hashName), 'utf8')).toBe(hashes())
  const machines = kinds.map((kind) => {
    const file = join(prebuilt, nameOf(kind))
    expect(statSync(file).mode & 0o111).toBe(0o111)
    expect(statSync(file).size).toBeLessThan(200_000)
    return readFileSync(file).readUInt16LE(18)
  })
  // ELF's machine numbers.
  expect(machines).toEqual([62, 183])
})

describe.each(kinds)('the program for %s', (kind) => {
  const why = whyNotBuilt(kind)
  test('is what its source gives', { skip: why !== null, meta: why === null ? {} : { skipReason: why } }, () => {
    buildStarter(kind, dir)
    expect(readFileSync(join(dir, nameOf(kind))).equals(readFileSync(join(prebuilt, nameOf(kind))))).toBe(true)
  })
})
