import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface TaskFiles {
  /** Lines of task.toml. */
  readonly toml?: string
  readonly solve?: string
  readonly test?: string
  /** More files by path in the task, null to leave one out; `.sh` files become executable. */
  readonly files?: Readonly<Record<string, string | null>>
}

export const passingTest =
  '[ "$(cat /answer)" = 42 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt'
export const passingSolve = 'echo 42 > /answer; echo solved'

/** Writes a small task: its solution writes 42 to /answer, where its tests look for it. Returns its directory. */
export async function writeTask(root: string, name: string, task: TaskFiles = {}): Promise<string> {
  const dir = join(root, name)
  const files: Record<string, string | null> = {
    'task.toml': task.toml ?? 'schema_version = "1.2"\n[environment]\nallow_internet = false\n',
    'instruction.md': 'Write 42 to /answer.\n',
    'environment/.keep': '',
    'solution/solve.sh': `#!/bin/bash\n${task.solve ?? passingSolve}\n`,
    'tests/test.sh': `#!/bin/bash\n${task.test ?? passingTest}\n`,
    ...task.files,
  }
  for (const [path, text] of Object.entries(files)) {
    if (text === null) continue
    const target = join(dir, path)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, text)
    if (path.endsWith('.sh')) await chmod(target, 0o755)
  }
  return dir
}
