import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { codeOf, isMissing, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { identitySchema, livenessOf, markedOurselves, ownersDirOf } from '../../lib/process-identity.ts'
import { signalProcess } from '../../lib/spawn-process.ts'
import { pluginContext } from '../../plugins/make.ts'

/** The environment variable with a model server's id, inherited by everything the server starts. */
export const serverVariable = 'OT_AGENT_SERVER'

const noteSchema = z.object({
  schema: z.literal('server/1'),
  id: z.string().regex(/^[0-9a-f]{32}$/),
  /** The program's name, without arguments. */
  name: z.string(),
  /** The process that started the server and stops it. */
  owner: identitySchema,
})
type ServerNote = z.output<typeof noteSchema>

/** A server that outlived its owner. */
export interface OrphanServer {
  readonly id: string
  readonly name: string
  readonly ownerPid: number
  /** Its processes that were still running. */
  readonly pids: readonly number[]
}

/** How long a server has to exit. */
const graceMs = 30_000

/**
 * Records that this process is about to start a server, so that the server can be found if this process is killed.
 * Returns the server's id.
 */
export async function noteServer(name: string): Promise<string> {
  const { stateDir } = pluginContext()
  const id = randomBytes(16).toString('hex')
  try {
    const note: ServerNote = { schema: 'server/1', id, name, owner: markedOurselves(ownersDirOf(stateDir)) }
    await mkdir(notesDir(stateDir), { recursive: true })
    await writeAtomic(join(notesDir(stateDir), `${id}.json`), `${JSON.stringify(note)}\n`)
  } catch (error) {
    // If the home directory is not writable, the server still runs; only `clean` cannot find it.
    if (codeOf(error) === undefined) throw error
  }
  return id
}

async function forgetServer(id: string): Promise<void> {
  await rm(join(notesDir(pluginContext().stateDir), `${id}.json`), { force: true })
}

/** Kills what is left of a server, including workers that left its process group, and removes its note. */
export async function endServer(id: string): Promise<void> {
  for (const pid of await processesOf(id)) signalProcess(pid, 'SIGKILL')
  await forgetServer(id)
}

/** Stops servers whose owner is dead, with everything they started; `dryRun` only finds them. */
export async function stopOrphanServers({ dryRun = false } = {}): Promise<readonly OrphanServer[]> {
  const { stateDir } = pluginContext()
  const notes = (await readNotes(notesDir(stateDir))).filter(
    ({ owner }) => livenessOf(owner, { ownersDir: ownersDirOf(stateDir), sameState: true }) === 'dead',
  )
  const orphans: OrphanServer[] = []
  for (const { id, name, owner } of notes) {
    const pids = await processesOf(id)
    if (pids.length > 0) orphans.push({ id, name, ownerPid: owner.pid, pids })
    if (dryRun) continue
    if (pids.length > 0) await endAll(id)
    await forgetServer(id)
  }
  return orphans
}

async function readNotes(dir: string): Promise<ServerNote[]> {
  const names = await readdir(dir).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  const notes: ServerNote[] = []
  for (const name of names.filter((name) => name.endsWith('.json'))) {
    // Its owner may remove it at this moment.
    const text = await readTextIfExists(join(dir, name))
    const parsed = noteSchema.safeParse(parseJson(text ?? ''))
    if (parsed.success) notes.push(parsed.data)
  }
  return notes
}

async function endAll(id: string): Promise<void> {
  const deadline = performance.now() + graceMs
  for (const pid of await processesOf(id)) signalProcess(pid, 'SIGTERM')
  while (performance.now() < deadline) {
    if ((await processesOf(id)).length === 0) return
    await sleep(100)
  }
  for (const pid of await processesOf(id)) signalProcess(pid, 'SIGKILL')
}

/** The processes with a server's id in their environment. Ids are random, so no others match. */
async function processesOf(id: string): Promise<number[]> {
  const wanted = `${serverVariable}=${id}`
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Processes that have exited or belong to another user cannot be read.
      const text = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
      return text.split('\0').includes(wanted) ? [Number(pid)] : []
    }),
  )
  return found.flat()
}

function notesDir(stateDir: string): string {
  return join(stateDir, 'servers')
}
