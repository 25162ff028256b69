import { createHash, createHmac, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mask } from '../../core/redact.ts'
import { draftBeside } from '../../lib/drafts.ts'

/** A mark that changes when a hidden value changes, and from which the value cannot be guessed. */
export type Fingerprint = (name: string, value: string) => string

/** Marks nothing: hidden values are not compared. */
export const noFingerprint: Fingerprint = () => mask

/**
 * Fingerprints under a key that never leaves this user's state directory: a plain digest in a job's files would let a reader
 * try out passwords. Without a usable state directory, hidden values are not compared.
 */
export function fingerprintsIn(stateDir: string): Fingerprint {
  let key: Buffer
  try {
    key = readOrMakeKey(stateDir)
  } catch {
    return noFingerprint
  }
  const keyId = createHash('sha256').update('id').update(key).digest('hex').slice(0, 8)
  return (name, value) => {
    const code = createHmac('sha256', key)
      .update(JSON.stringify([name, value]))
      .digest('hex')
    return `${mask}${keyId}:${code.slice(0, 16)}`
  }
}

/** Which key made a mark; `''` for one made without a key, null for a value that is no mark. */
export function keyOfMark(value: string): string | null {
  const match = /^\*{4}(?:([0-9a-f]{8}):[0-9a-f]{16})?$/.exec(value)
  return match && (match[1] ?? '')
}

function readOrMakeKey(stateDir: string): Buffer {
  const path = join(stateDir, 'fingerprint.key')
  try {
    return readKey(path)
  } catch {
    mkdirSync(stateDir, { recursive: true })
    const draft = draftBeside(path)
    writeFileSync(draft, randomBytes(32), { mode: 0o600, flag: 'wx' })
    try {
      // Of two processes that make a key at once, the second takes the first one's.
      linkSync(draft, path)
    } catch {
      // It is there by now, or reading it fails below.
    } finally {
      rmSync(draft, { force: true })
    }
    return readKey(path)
  }
}

function readKey(path: string): Buffer {
  const key = readFileSync(path)
  if (key.length < 32) throw new Error(`${path}: expected a key of 32 bytes, got ${key.length}`)
  return key
}
