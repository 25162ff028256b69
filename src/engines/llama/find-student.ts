import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type PluginContext, pathFrom } from '../../core/plugin.ts'
import { exists, namesIn } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'

/** Students shipped with this package, one folder each. */
const students = join(packageRoot, 'students')

/** The GGUF file that a name refers to: a path, or a student of this package. */
export async function findStudent(name: string, context: PluginContext): Promise<string> {
  if (name.endsWith('.gguf') || name.startsWith('.') || name.startsWith('/')) return pathFrom(context, name)
  const names = await namesIn(students)
  const file = join(students, name, 'student.gguf')
  if (names.includes(name) && (await exists(file))) return file
  const known = names.length > 0 ? `: ${[...names].sort().join(', ')}` : ''
  throw new UserError(
    `model ${name}: expected a GGUF file or a student of this package${known}`,
    'pass the path of a file that ends in .gguf',
  )
}
