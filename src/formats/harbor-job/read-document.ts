import { UserError } from '../../core/errors.ts'
import { readYaml } from '../../lib/read-yaml.ts'
import { badSyntax, readJsonDocument } from './read-config.ts'

/**
 * Parses a config file; `format` defaults to the one of the file's extension. Loads the YAML reader only when needed.
 */
export function readDocument(text: string, path: string, format = formatOf(path)): unknown {
  if (format === 'json') return readJsonDocument(text, path)
  try {
    // Harbor reads YAML 1.1, in which `no` is false.
    return readYaml(text, { version: '1.1', prettyErrors: true })
  } catch (error) {
    throw badSyntax(path, 'YAML', error)
  }
}

function formatOf(path: string): 'yaml' | 'json' {
  if (/\.ya?ml$/i.test(path)) return 'yaml'
  if (/\.json$/i.test(path)) return 'json'
  throw new UserError(
    `${path}: expected a .yaml, .yml or .json file`,
    'pass such a file, or rename this one if that is its format',
  )
}
