import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A task's files by path; null leaves out one of the usual ones. */
export type TaskTree = Readonly<Record<string, string | null>>

const usual: TaskTree = {
  'task.toml': 'version = "1.0"\n[environment]\nallow_internet = false\n',
  'instruction.md': 'Write the word done to /app/done.txt.\n',
  'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\n',
  'tests/test.sh':
    '#!/bin/sh\ngrep -qx done /app/done.txt && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n',
  'solution/solve.sh': '#!/bin/sh\necho done > /app/done.txt\n',
}

/** An empty directory, removed after the test. */
export async function makeTempDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'ot-agent-task-'))
  // Tests that act as another user must be able to get here.
  await chmod(dir, 0o755)
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** A small task, removed after the test: the usual files, overlaid with `tree`. */
export async function makeTask(tree: TaskTree = {}, name = 'done'): Promise<string> {
  const dir = join(await makeTempDir(), name)
  await writeTree(dir, { ...usual, ...tree })
  return dir
}

/** Writes files, making scripts executable; null writes none. */
export async function writeTree(dir: string, tree: TaskTree): Promise<void> {
  await mkdir(dir, { recursive: true })
  for (const [path, text] of Object.entries(tree)) {
    if (text === null) continue
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text, { mode: path.endsWith('.sh') ? 0o755 : 0o644 })
  }
}
