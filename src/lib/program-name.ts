import { basename, delimiter, dirname, join, relative, sep } from 'node:path'
import { shellQuote } from './shell.ts'

interface Started {
  /** The file passed to Node, links not followed. */
  readonly script?: string | undefined
  readonly cwd?: string
  readonly path?: string | undefined
}

/** How a reader starts this program from the working directory: a hint with this name can be copied into a shell. */
export function programName({
  script = process.argv[1],
  cwd = process.cwd(),
  path = process.env.PATH,
}: Started = {}): string {
  const installed = 'npx ot-agent'
  // A caller other than the command line uses the library, so the package is installed.
  if (script === undefined || !/^ot-agent(\.js)?$/.test(basename(script))) return installed
  // npx puts its own folder on the PATH, but only for this process.
  if (script.split(sep).includes('node_modules')) return installed
  const dir = dirname(script)
  const own = join(basename(script) === 'ot-agent' ? dir : dirname(dir), 'ot-agent')
  if (path?.split(delimiter).includes(dirname(own))) return 'ot-agent'
  const below = relative(cwd, own)
  return shellQuote(below.startsWith('..') ? own : `./${below}`)
}
