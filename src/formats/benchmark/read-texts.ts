import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import type { Columns } from '../../core/benchmark.ts'
import { UserError } from '../../core/errors.ts'
import { instructionFile } from '../../core/task-paths.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { kindAt, namesIn } from '../../lib/files.ts'
import { isGlob, parseGlob } from '../../lib/path-glob.ts'
import { compareBytes } from '../../lib/tree.ts'
import { readTaskText, stripCanary } from '../harbor-task/read.ts'
import { inputFiles, recordFiles } from '../input-files.ts'
import { type FileRow, readRecords } from '../records/read-records.ts'
import { unpackTasks } from '../task-parquet/unpack-tasks.ts'
import { parseTaskYaml } from '../terminal-bench/task-yaml.ts'
import type { BenchmarkText } from './pack.ts'

/** Which files of a folder to read, and which columns hold a row's parts. */
export interface TextsChoice extends Columns {
  readonly files?: readonly string[] | undefined
}

/**
 * The texts at a path: a folder of Harbor or Terminal-Bench tasks, or files of rows or packed tasks. Finding none is a
 * UserError.
 */
export async function readBenchmarkTexts(path: string, choice: TextsChoice = {}): Promise<readonly BenchmarkText[]> {
  const kind = await kindAt(path)
  if (kind !== 'file' && kind !== 'dir' && !isGlob(path))
    throw new UserError(`${path}: expected tasks or rows, found nothing there`, 'check the path after --from')
  const texts = kind === 'dir' ? await readFolder(path, choice) : await readFiles(path, choice)
  if (texts.length > 0) return texts
  throw new UserError(
    `${path}: expected tasks, found none`,
    `a folder of tasks, or files of rows that end in ${recordFiles.endings}`,
  )
}

async function readFiles(path: string, choice: TextsChoice): Promise<readonly BenchmarkText[]> {
  const texts: BenchmarkText[] = []
  for (const file of await inputFiles(path, recordFiles)) texts.push(...(await readFileTexts(file, choice)))
  return texts
}

/** How many tasks a folder holds in its subfolders. */
export async function countTaskFolders(dir: string): Promise<number> {
  return (await readTaskFolders(dir)).length
}

async function readFolder(dir: string, choice: TextsChoice): Promise<readonly BenchmarkText[]> {
  const tasks = choice.files === undefined ? await readTaskFolders(dir) : []
  if (tasks.length > 0) return tasks
  const tests = choice.files?.map(parseGlob)
  const names = (await readdir(dir, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .filter((name) => recordFiles.pattern.test(name) && !basename(name).startsWith('.'))
    .filter((name) => tests?.some((test) => test.test(name)) ?? true)
  const texts: BenchmarkText[] = []
  for (const name of names.sort(compareBytes)) texts.push(...(await readFileTexts(join(dir, name), choice)))
  return texts
}

/** Reads the tasks in a folder or one level below; a folder with an instruction is a task. */
async function readTaskFolders(path: string): Promise<readonly BenchmarkText[]> {
  const dir = resolve(path)
  const own = await instructionOf(dir)
  if (own !== null) return [{ id: basename(dir), instruction: own }]
  const texts: BenchmarkText[] = []
  for (const id of [...(await namesIn(dir))].sort(compareBytes)) {
    const instruction = await instructionOf(join(dir, id))
    if (instruction !== null) texts.push({ id, instruction })
  }
  return texts
}

async function instructionOf(dir: string): Promise<string | null> {
  if ((await kindAt(dir)) !== 'dir') return null
  const whole = await readTaskText(dir, instructionFile(dir))
  if (whole !== null) return stripCanary(whole)
  const yaml = await readTaskText(dir, join(dir, 'task.yaml'))
  if (yaml !== null) return stripCanary(parseTaskYaml(yaml, join(dir, 'task.yaml')).instruction)
  const steps = [...(await namesIn(join(dir, 'steps')))].sort(compareBytes)
  const parts = await Promise.all(steps.map((step) => readTaskText(dir, instructionFile(join(dir, 'steps', step)))))
  const told = parts.filter((part) => part !== null)
  return told.length > 0 ? told.map(stripCanary).join('\n') : null
}

async function readFileTexts(file: string, choice: TextsChoice): Promise<readonly BenchmarkText[]> {
  const texts: BenchmarkText[] = []
  let nth = 0
  for await (const row of readRecords(file)) {
    nth++
    if ('problem' in row)
      throw new UserError(`${file}: ${row.where}: ${row.problem}`, 'check that the file is complete')
    if (nth === 1 && choice.text === undefined && Object.hasOwn(row.fields, 'task_binary')) return readPackedTasks(file)
    texts.push(toText(row, nth, file, choice))
  }
  return texts
}

async function readPackedTasks(file: string): Promise<readonly BenchmarkText[]> {
  const dir = await makeScratchDir(join(tmpdir(), 'ot-agent-benchmark-'))
  try {
    await unpackTasks(file, join(dir, 'tasks'))
    return await readTaskFolders(join(dir, 'tasks'))
  } finally {
    await removeDraft(dir)
  }
}

const usual = {
  id: ['id', 'task_id', 'instance_id', 'question_id', 'name'],
  text: ['instruction', 'problem_statement', 'question', 'Question', 'prompt', 'text'],
} as const

function toText(row: Extract<FileRow, { fields: unknown }>, nth: number, file: string, choice: Columns): BenchmarkText {
  const { fields, where } = row
  const textColumn = choice.text ?? usual.text.find((name) => Object.hasOwn(fields, name))
  const idColumn = choice.id ?? usual.id.find((name) => Object.hasOwn(fields, name))
  for (const [asked, option] of [
    [textColumn, '--text-column'],
    [choice.id, '--id-column'],
  ] as const)
    if (asked === undefined ? option === '--text-column' : !Object.hasOwn(fields, asked))
      throw new UserError(
        `${file}: ${where}: expected ${asked === undefined ? 'a column with the text of a task' : `the column ${asked}`}, found ${Object.keys(fields).slice(0, 20).join(', ') || 'none'}`,
        `pass its name with ${option}`,
      )
  const instruction = spoken(fields[textColumn ?? ''])
  if (instruction.trim() === '')
    throw new UserError(`${file}: ${where}: the column ${textColumn} holds no text`, 'check --text-column')
  const id = idColumn === undefined ? undefined : fields[idColumn]
  const isName = typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
  return { id: isName ? String(id) : String(nth).padStart(4, '0'), instruction: stripCanary(instruction) }
}

/** The user's part of a value: a plain text, or messages of a conversation at any depth. */
function spoken(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(spoken).filter(Boolean).join('\n')
  if (typeof value !== 'object' || value === null) return ''
  const { role = 'user', content } = value as { role?: unknown; content?: unknown }
  return role === 'user' ? spoken(content) : ''
}
