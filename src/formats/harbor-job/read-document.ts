import { UserError } from '../../core/errors.ts'
import { readYaml } from '../../lib/read-yaml.ts'
import { badSyntax, readJsonDocument } from './read-config.ts'

/** The document in a config file; `format` is told by the file's name unless given. A job without such a file does not load what reads YAML. */
export function readDocument(text: string, path: string, format = formatOf(path)): unknown {
  if (format === 'json') return readJsonDocument(text, path)
  try {
    // Harbor reads YAML 1.1, where `no` is false.
    return readYaml(text, { version: '1.1', prettyErrors: true })
  } catch (error) {
    throw badSyntax(path, 'YAML', error)
  }
}

function formatOf(path: string): 'yaml' | 'json' {
  if (/\.ya?ml$/i.test(path)) return 'yaml'
  if (/\.json$/i.test(path)) return 'json'
  throw new UserError(`${path}: expected a .yaml, .yml or .json file`, 'rename the config file to end in one of these')
}
