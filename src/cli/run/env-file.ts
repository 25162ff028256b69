import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { orUserError } from '../../formats/harbor-task/read.ts'

/** Adds a file's variables to this process, where templates and plug-ins look for them; what is already set stays. */
export async function loadEnvFile(path: string): Promise<void> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
}
