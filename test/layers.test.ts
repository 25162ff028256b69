import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** Who may import whom. Every room may import itself. */
const table: Record<string, readonly string[]> = {
  core: [],
  lib: [],
  formats: ['core', 'lib'],
  stages: ['core', 'lib', 'formats'],
  agents: ['core', 'lib', 'formats'],
  sandboxes: ['core', 'lib', 'formats'],
  engines: ['core', 'lib', 'formats'],
  schedulers: ['core', 'lib', 'formats'],
  stats: ['core'],
  store: ['core', 'lib', 'formats'],
  run: ['core', 'lib', 'store', 'stats'],
  generation: ['core', 'lib', 'store', 'stats', 'run'],
  server: ['core', 'lib', 'formats', 'store', 'stats', 'run', 'generation', 'plugins'],
  plugins: ['core', 'lib', 'formats', 'run', 'agents', 'sandboxes', 'engines', 'schedulers', 'stages'],
  cli: ['core', 'lib', 'formats', 'store', 'stats', 'run', 'generation', 'server', 'plugins', 'index.ts'],
  'index.ts': ['core', 'lib', 'formats', 'stages', 'store', 'stats', 'run', 'generation', 'plugins'],
  web: ['core', 'stats'],
}

/** Written by users of the package, or as if by one: they know its public face only. */
const outside = ['examples', 'recipes', 'data']

const sources = [...listSources('src'), ...listSources('web')]

test('every import follows the layer table', () => {
  const breaches = sources.flatMap((path) =>
    importsOf(path)
      .filter((target) => !allowed(path, target))
      .map((target) => `${path} -> ${target}`),
  )
  expect(breaches).toEqual([])
})

test('every room is in the table', () => {
  expect(sources.length).toBeGreaterThan(0)
  expect([...new Set(sources.map(roomOf))].filter((room) => !Object.hasOwn(table, room))).toEqual([])
})

test('no file imports itself over others, not even for its types', () => {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, way: readonly string[]) => {
    const met = way.indexOf(path)
    if (met >= 0) circles.push([...way.slice(met), path].join(' -> '))
    if (met >= 0 || done.has(path) || !existsSync(path)) return
    for (const target of importsOf(path)) visit(target, [...way, path])
    done.add(path)
  }
  for (const path of sources) visit(path, [])
  expect(circles).toEqual([])
})

test('core does no input or output: when it runs, it needs of packages only zod and of Node only paths', () => {
  const foreign = sources
    .filter((path) => roomOf(path) === 'core')
    .flatMap((path) => specifiersIn(withoutTypes(path)).map((specifier) => [path, specifier] as const))
    .filter(([, specifier]) => !specifier.startsWith('.') && !['zod', 'node:path'].includes(specifier))
  expect(foreign).toEqual([])
})

test('one file of the sources starts processes and no other: it knows what to do when none can be started', () => {
  const importing = sources.filter((path) => specifiersOf(path).some((name) => /^(node:)?child_process$/.test(name)))
  // What waits for a program to end says by itself that it could not be started.
  const starters = importing.filter((path) => /\b(spawn|fork|exec|execFile)\b.*child_process/s.test(withoutTypes(path)))
  expect(starters).toEqual(['src/lib/spawn-process.ts'])
})

test('sources import only packages that are installed with ours', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const known = Object.keys({ ...dependencies, ...peerDependencies })
  const inSrc = packageImports(sources.filter((path) => path.startsWith('src/')))
  expect(inSrc.filter(([, name]) => !known.includes(name))).toEqual([])
})

test('only plug-ins of users are imported from a computed path', () => {
  const computed = sources.filter((path) => /\bimport\s*\(\s*[^'"\s)]/.test(withoutComments(path)))
  expect(computed.filter((path) => roomOf(path) !== 'plugins')).toEqual([])
})

test('examples, recipes and data know only the public face of the package', () => {
  const reaches = outside
    .flatMap(listSources)
    .filter((path) => !path.startsWith('examples/tasks/'))
    .flatMap((path) => importsOf(path).map((target) => [path, target] as const))
    .filter(([, target]) => !outside.includes(target.split('/')[0] ?? ''))
  expect(reaches).toEqual([])
})

function allowed(path: string, target: string): boolean {
  const from = roomOf(path)
  const to = roomOf(target)
  return from === to || (table[from]?.includes(to) ?? false)
}

/** Files of this checkout that a file imports: statically, dynamically or for their types only. */
function importsOf(path: string): string[] {
  return specifiersOf(path)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => normalize(join(dirname(path), specifier)))
}

function packageImports(paths: readonly string[]): [path: string, name: string][] {
  return paths.flatMap((path) =>
    specifiersOf(path)
      .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
      .map((specifier): [string, string] => [path, packageOf(specifier)]),
  )
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function specifiersOf(path: string): string[] {
  return specifiersIn(readFileSync(path, 'utf8'))
}

function specifiersIn(text: string): string[] {
  return ts.preProcessFile(text, true, true).importedFiles.map((file) => file.fileName)
}

/** What is left of a file when it runs: imports of types are gone. */
function withoutTypes(path: string): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext, verbatimModuleSyntax: true }
  return ts.transpileModule(readFileSync(path, 'utf8'), { compilerOptions }).outputText
}

function withoutComments(path: string): string {
  return readFileSync(path, 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
}

/** `src/core/task.ts` is in `core`, `src/index.ts` is a room of its own, `web/page.ts` is in `web`; the rest of the checkout is no room. */
function roomOf(path: string): string {
  const [top = path, next = path] = path.split('/')
  return top === 'src' ? next : top
}

function listSources(root: string): string[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[mc]?tsx?$/.test(name) && !/\.test\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(root, name))
    .sort()
}
