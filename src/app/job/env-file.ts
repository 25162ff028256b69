import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { orUserError } from '../../formats/harbor-task/read.ts'

/** Adds a file's variables to this process, where templates and plug-ins look for them; what is already set stays. Returns their names. */
export async function loadEnvFile(path: string): Promise<string[]> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const variables = Object.entries(parseEnv(text))
  for (const [name, value] of variables) process.env[name] ??= value
  return variables.map(([name]) => name)
}
