import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { UserError } from '../../core/errors.ts'
import type { DraftFile, TaskDraft, TaskLineage } from '../../core/row.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { overlay } from '../../lib/overlay.ts'
import { defined } from './environment.ts'
import { toSettings } from './from-toml.ts'
import { renderTaskToml } from './render.ts'
import { makeTaskDir } from './save.ts'
import { refuseIn, refuseIssue, taskTomlSchema } from './schema.ts'

/** The Dockerfile of a draft that does not specify its environment: small, and identical on all architectures. */
const defaultDockerfile = 'FROM debian:12-slim\n\nWORKDIR /app\n'

type Table = Readonly<Record<string, unknown>>

const defaultToml: Table = {
  schema_version: '1.4',
  metadata: { difficulty: 'medium' },
  verifier: { timeout_sec: 720 },
  agent: { timeout_sec: 900 },
  environment: { cpus: 1, memory_mb: 2048, storage_mb: 10240 },
}

const dockerfile = 'environment/Dockerfile'

/** Writes a draft as a Harbor task in `parentDir`, whole or not at all, and returns its directory. */
export async function saveTaskDraft(draft: TaskDraft, parentDir: string): Promise<string> {
  const files = draftFiles(draft)
  const dir = join(parentDir, safeTaskName(draft.name))
  await makeTaskDir(dir, (temporary) => writeDraftFiles(files, temporary))
  return dir
}

/**
 * Writes a task's files into a folder that nothing else reads yet. For many small files, dispatching each to a thread
 * takes far longer than writing it, so they are written synchronously, yielding every few files.
 */
export async function writeDraftFiles(files: Readonly<Record<string, DraftFile>>, dir: string): Promise<void> {
  const made = new Set<string>()
  let nth = 0
  for (const [path, file] of Object.entries(files)) {
    if (++nth % filesAtOnce === 0) await setImmediate()
    writeDraftFile(dir, path, file, made)
  }
}

const filesAtOnce = 32

/** Every file of the task by path, including task.toml and instruction.md; an invalid draft is a UserError. */
export function draftFiles(draft: TaskDraft): Readonly<Record<string, DraftFile>> {
  const named = `task ${JSON.stringify(draft.name)}`
  if (draft.instruction.trim() === '')
    throw new UserError(`${named}: expected an instruction, got an empty one`, 'drop the row, or write an instruction')
  for (const path of Object.keys(draft.files)) checkPath(path, named)
  const hasImage = tableAt(draft.config, 'environment').docker_image !== undefined
  const isBuilt = hasImage || Object.hasOwn(draft.files, dockerfile) || hasCompose(draft)
  return {
    [taskFileName]: { data: renderDraftToml(draft) },
    'instruction.md': { data: draft.instruction.endsWith('\n') ? draft.instruction : `${draft.instruction}\n` },
    ...(isBuilt ? {} : { [dockerfile]: { data: defaultDockerfile } }),
    ...draft.files,
  }
}

/** A draft's task.toml: its config over the defaults, and its lineage in `[metadata.lineage]`. */
export function renderDraftToml({ name, config = {}, lineage }: TaskDraft): string {
  const file = `task ${JSON.stringify(name)}: ${taskFileName}`
  const raw = overlay(overlay(defaultToml, config), { metadata: { lineage: lineageTable(lineage) } })
  const parsed = taskTomlSchema.safeParse(raw)
  const refuse = refuseIn(file)
  return renderTaskToml(parsed.success ? toSettings(parsed.data, refuse) : refuseIssue(parsed.error, raw, refuse))
}

/** Parses the lineage in a task's metadata; null if it is missing or incomplete. */
export function parseLineage(metadata: Table): TaskLineage | null {
  const table = tableAt(metadata, 'lineage')
  const { pipeline, strategy, row_id, row_digest, seed, prompt_digest, model, parents } = table
  if (typeof pipeline !== 'string' || typeof strategy !== 'string') return null
  if (typeof row_id !== 'string' || typeof row_digest !== 'string' || typeof seed !== 'number') return null
  return {
    ...{ pipeline, strategy, rowId: row_id, rowDigest: row_digest, seed },
    ...(typeof prompt_digest === 'string' && { promptDigest: prompt_digest }),
    ...(typeof model === 'string' && { model }),
    ...(Array.isArray(parents) && { parents: parents.filter((parent) => typeof parent === 'string') }),
  }
}

/**
 * Makes a name a valid directory name everywhere: letters, digits, dots, dashes and underscores, at most 80. A changed
 * name gets some digits of its digest, so that two names never collide.
 */
export function safeTaskName(name: string): string {
  const plain = name.normalize('NFKD').replace(/[^A-Za-z0-9._-]+/g, '-')
  const trimmed = plain.replace(/^[-.]+|(?<![-.])[-.]+$/g, '').slice(0, 80)
  if (trimmed === name && name !== '') return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8)
  const short = trimmed.slice(0, 71).replace(/(?<![-.])[-.]+$/, '')
  return short === '' ? `task-${digest}` : `${short}-${digest}`
}

/** A lineage in the format of `[metadata.lineage]` in a task.toml. */
export function lineageTable(lineage: TaskLineage): Table {
  const { pipeline, strategy, rowId, rowDigest, seed, promptDigest, model, parents } = lineage
  const row = { row_id: rowId, row_digest: rowDigest }
  return defined({ pipeline, strategy, ...row, seed, prompt_digest: promptDigest, model, parents })
}

function checkPath(path: string, named: string): void {
  const parts = path.split('/')
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]/.test(part))
  if (isPlain && path !== taskFileName && path !== 'instruction.md' && Buffer.byteLength(path) < 1000) return
  throw new UserError(
    `${named}: expected a path inside the task, got ${JSON.stringify(path.slice(0, 200))}`,
    'paths look like tests/test.sh; the instruction and task.toml come from the draft’s instruction and config',
  )
}

function writeDraftFile(dir: string, path: string, file: DraftFile, made: Set<string>): void {
  const target = resolve(dir, path)
  const folder = dirname(target)
  if (!made.has(folder)) {
    mkdirSync(folder, { recursive: true })
    made.add(folder)
  }
  writeFileSync(target, file.data)
  // Use chmod, because the umask limits the mode given to writeFile.
  if (file.executable ?? path.endsWith('.sh')) chmodSync(target, 0o755)
}

function hasCompose({ files }: TaskDraft): boolean {
  return Object.keys(files).some((path) => /^environment\/docker-compose\.ya?ml$/.test(path))
}

function tableAt(table: Table | undefined, key: string): Table {
  const value = table?.[key]
  return isTable(value) ? value : {}
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
