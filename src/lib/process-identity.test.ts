import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import {
  holdMark,
  identify,
  isEnding,
  livenessOf,
  markedOurselves,
  markName,
  markState,
  ourselves,
  parseMarkName,
} from './process-identity.ts'

const ownersDir = mkdtempSync(join(tmpdir(), 'ot-owners-'))
afterAll(() => rmSync(ownersDir, { recursive: true, force: true }))

const here = ourselves()
const elsewhere = { ...here, pid: 7, startTicks: '1', pidNs: '4026599999' }

test('a process of this PID namespace is alive until it is gone', async () => {
  const child = spawn('sleep', ['60'])
  const who = identify(child.pid!)!
  expect([livenessOf(who), isEnding(who.pid)]).toEqual(['alive', false])
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect([livenessOf(who), isEnding(who.pid)]).toEqual(['dead', true])
})

test('a pid of another PID namespace says nothing: without a mark its process may be alive', () => {
  expect(livenessOf({ ...here, pidNs: '4026599999' }, { ownersDir })).toBe('unknown')
  expect(livenessOf(elsewhere, { ownersDir })).toBe('unknown')
  expect(livenessOf(elsewhere, { ownersDir, sameState: true })).toBe('dead')
})

test('the mark of a process in another PID namespace tells whether it is alive', () => {
  const name = markName(elsewhere)
  holdMark(ownersDir, name)
  expect(livenessOf(elsewhere, { ownersDir })).toBe('alive')
  const dead = { ...elsewhere, pid: 8 }
  spawnSync('mkfifo', [join(ownersDir, markName(dead))])
  expect(livenessOf(dead, { ownersDir })).toBe('dead')
})

test('a process holds one mark, which no other process inherits', () => {
  const name = markName(markedOurselves(ownersDir))
  markedOurselves(ownersDir)
  expect(readdirSync(ownersDir).filter((file) => file.includes(name))).toEqual([name])
  expect(statSync(join(ownersDir, name)).mode & 0o777).toBe(0o600)
  expect(markState(ownersDir, name)).toBe('alive')
  expect(parseMarkName(name)).toEqual(here)
})

test('a process of another machine is never presumed dead; one of an earlier run of this machine is, once it is silent', () => {
  expect(livenessOf({ ...elsewhere, bootId: 'another', host: 'elsewhere' }, { ownersDir, sameState: true })).toBe(
    'unknown',
  )
  const before = { ...elsewhere, bootId: '00000000-another' }
  expect(livenessOf(before, { ownersDir })).toBe('dead')
  const mark = join(ownersDir, markName(before))
  spawnSync('mkfifo', [mark])
  expect(livenessOf(before, { ownersDir })).toBe('unknown')
  utimesSync(mark, new Date(0), new Date(0))
  expect(livenessOf(before, { ownersDir })).toBe('dead')
})

test('identities of earlier versions, which name no PID namespace, mean the same as before', () => {
  const { pidNs: _, ...old } = here
  expect(livenessOf(old)).toBe('alive')
  expect(livenessOf({ ...old, startTicks: '1' })).toBe('dead')
  expect(livenessOf({ ...old, host: 'a-container' })).toBe('unknown')
  expect(livenessOf({ ...old, bootId: 'another' })).toBe('dead')
  expect(old.host).toBe(hostname())
})
