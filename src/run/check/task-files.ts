import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import type { Task } from '../../core/task.ts'
import {
  environmentDir,
  instructionFile,
  solutionDir,
  solveScript,
  testScript,
  testsDir,
} from '../../core/task-paths.ts'
import { codeOf, exists, isMissing } from '../../lib/files.ts'
import { walkTree } from '../../lib/tree.ts'

/** A small text file of a task, as lints read it. */
export interface TextFile {
  /** Relative to the task's directory. */
  readonly path: string
  /** Relative to the `tests`, `solution` or `environment` folder it is in. */
  readonly name: string
  readonly text: string
  /** Permission bits. */
  readonly mode: number
}

/** The files of one round of solving and verifying: a whole single-step task, or one step. */
export interface RoundFiles {
  /** Null for a single-step task. */
  readonly step: string | null
  readonly instruction: TextFile | null
  /** What ends up in /tests: a step's own files override the task's files of the same name. */
  readonly tests: readonly TextFile[]
  readonly testScript: TextFile | null
  readonly solution: readonly TextFile[]
  readonly solveScript: TextFile | null
}

export interface TaskFiles {
  readonly rounds: readonly RoundFiles[]
  readonly environment: readonly TextFile[]
}

/** Larger files are data, not hand-written text. */
const fileLimitBytes = 512 * 1024
const totalLimitBytes = 32 * 1024 * 1024

/** Reads the files that lints look at: only small text files, and none through a link. */
export async function loadTaskFiles(task: Task): Promise<TaskFiles> {
  const budget = { leftBytes: totalLimitBytes }
  const read = (dir: string) => readTexts(task.dir, dir, budget)
  const environment = await read(environmentDir(task.dir))
  const shared = await read(testsDir(task.dir))
  const rounds: RoundFiles[] = []
  const places = task.steps.length > 0 ? task.steps : [{ name: null, dir: task.dir }]
  for (const { name, dir } of places) {
    const tests = name === null ? shared : overlay(shared, await read(testsDir(dir)))
    const solution = await read(solutionDir(dir))
    const file = instructionFile(dir)
    rounds.push({
      step: name,
      instruction: await readText(task.dir, file, basename(file)),
      tests,
      testScript: named(tests, testScript(task.environment.os)),
      solution,
      solveScript: named(solution, solveScript(task.environment.os)),
    })
  }
  return { rounds, environment }
}

function overlay(under: readonly TextFile[], over: readonly TextFile[]): TextFile[] {
  return [...under.filter((file) => named(over, file.name) === null), ...over]
}

function named(files: readonly TextFile[], name: string): TextFile | null {
  return files.find((file) => file.name === name) ?? null
}

async function readTexts(root: string, dir: string, budget: { leftBytes: number }): Promise<TextFile[]> {
  if (!(await exists(dir))) return []
  const files: TextFile[] = []
  for await (const entry of walkTree(dir)) {
    if (entry.kind !== 'file' || entry.size > budget.leftBytes) continue
    const file = await readText(root, join(dir, entry.path), entry.path)
    if (!file) continue
    budget.leftBytes -= entry.size
    files.push(file)
  }
  return files
}

async function readText(root: string, path: string, name: string): Promise<TextFile | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error) => {
    if (isMissing(error) || codeOf(error) === 'ELOOP') return null
    throw error
  })
  if (file === null) return null
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > fileLimitBytes) return null
    const text = await file.readFile('utf8')
    return text.includes('\0') ? null : { path: relative(root, path), name, text, mode: stats.mode & 0o7777 }
  } finally {
    await file.close()
  }
}
