import { createHash } from 'node:crypto'
import { link, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { UserError } from '../core/errors.ts'
import { beginDraft, draftBeside, endDraft, removeDraft, renameDraft } from '../lib/drafts.ts'
import { codeOf, namesIn, readTextIfExists } from '../lib/files.ts'
import { removeDeadDrafts } from '../lib/new-dir.ts'
import { readJson } from '../lib/parse-json.ts'
import {
  identitySchema,
  type Liveness,
  livenessOf,
  markedOurselves,
  type ProcessIdentity,
} from '../lib/process-identity.ts'

export interface JobOwner {
  readonly process: ProcessIdentity
  readonly liveness: Liveness
}

/** The process that runs a job, according to its owner.json; null when there is none. */
export async function readOwner(jobDir: string): Promise<JobOwner | null> {
  const process = await readIdentity(join(jobDir, 'owner.json'))
  return process && { process, liveness: livenessHere(process) }
}

/**
 * Makes this process the only one that runs the job, and returns a function that releases it. A dead owner is replaced;
 * a live one, or one on another machine, is a UserError. If several processes try at once, exactly one wins. It also
 * removes what dead processes left unfinished in the directory.
 */
export async function acquireOwner(jobDir: string): Promise<() => Promise<void>> {
  const me = markedOurselves()
  const path = join(jobDir, 'owner.json')
  beginDraft(resolve(path))
  await claim(path, me, jobDir).catch((error: unknown) => {
    endDraft(resolve(path))
    throw error
  })
  await removeDeadDrafts(jobDir)
  return async () => {
    const owner = await readIdentity(path)
    if (owner !== null && isSame(owner, me)) await rm(path, { force: true })
    endDraft(resolve(path))
  }
}

/** The files with which a process claims the job in a directory, or the place of the job's dead owner. */
export async function claimsIn(jobDir: string, of: ProcessIdentity): Promise<readonly string[]> {
  const names = await namesIn(jobDir).catch((): string[] => [])
  const files = names.filter((name) => name === 'owner.json' || /^\.owner-after-[0-9a-f]{16}\.json$/.test(name))
  const claims: string[] = []
  for (const path of files.map((name) => join(jobDir, name))) {
    const holder = await readIdentity(path).catch(() => null)
    if (holder !== null && isSame(holder, of)) claims.push(path)
  }
  return claims
}

/**
 * Writes `me` into the file at `path`, which at most one living process holds. Creating it is atomic. To replace a dead
 * holder, a process must first hold the claim file named after exactly that holder and then check again. So two
 * processes that saw the same dead holder cannot both replace it, and a claim whose own holder died is taken over in
 * the same way.
 */
async function claim(path: string, me: ProcessIdentity, jobDir: string): Promise<void> {
  for (;;) {
    if (await createWhole(path, me)) return
    const holder = await readIdentity(path)
    if (holder === null) {
      await refuseBroken(path)
      continue
    }
    refuseLiving(holder, jobDir)
    const succession = join(dirname(path), `.owner-after-${nameOf(holder)}.json`)
    await claim(succession, me, jobDir)
    const now = await readIdentity(path)
    const mine = now !== null && isSame(now, holder)
    if (mine) await replace(path, me)
    await rm(succession, { force: true })
    if (mine) return
  }
}

/** True if the file did not exist and now holds `me`; it is complete from the first moment. */
async function createWhole(path: string, me: ProcessIdentity): Promise<boolean> {
  const temporary = await writeBeside(path, me)
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    await removeDraft(temporary)
  }
}

async function replace(path: string, me: ProcessIdentity): Promise<void> {
  await renameDraft(await writeBeside(path, me), path)
}

async function writeBeside(path: string, me: ProcessIdentity): Promise<string> {
  const temporary = draftBeside(path)
  await writeFile(temporary, `${JSON.stringify(me)}\n`, { flag: 'wx' })
  return temporary
}

async function readIdentity(path: string): Promise<ProcessIdentity | null> {
  const text = await readTextIfExists(path)
  if (text === null) return null
  try {
    return identitySchema.parse(readJson(text))
  } catch {
    return null
  }
}

/** Files appear here whole, so no process leaves a broken one; a full disk or a person may. */
async function refuseBroken(path: string): Promise<void> {
  const text = await readTextIfExists(path)
  if (text !== null && (await readIdentity(path)) === null) {
    throw new UserError(
      `${path}: expected the identity of a process, got ${JSON.stringify(text.slice(0, 40))}`,
      'remove the file if no process runs this job',
    )
  }
}

function refuseLiving(holder: ProcessIdentity, jobDir: string): void {
  const liveness = livenessHere(holder)
  if (liveness === 'dead') return
  const isHere = holder.host === hostname()
  const where = liveness === 'alive' ? '' : ` ${isHere ? 'in another container' : `on ${holder.host}`}`
  const hint =
    liveness === 'alive'
      ? 'wait until it ends, or stop it first'
      : `if nothing runs there any longer, remove ${join(jobDir, 'owner.json')}`
  throw new UserError(`${jobDir}: process ${holder.pid}${where} is already running this job`, hint)
}

function livenessHere(holder: ProcessIdentity): Liveness {
  const liveness = livenessOf(holder)
  // A cluster job that restarts on another host: its scheduler has made sure that the earlier run is gone.
  return liveness === 'unknown' && holder.host === process.env.OT_AGENT_REPLACED_HOST ? 'dead' : liveness
}

function nameOf(holder: ProcessIdentity): string {
  return createHash('sha256')
    .update(JSON.stringify([holder.pid, holder.startTicks, holder.bootId, holder.host]))
    .digest('hex')
    .slice(0, 16)
}

function isSame(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return nameOf(a) === nameOf(b)
}
