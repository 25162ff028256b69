import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { registry } from '../src/plugins/table.ts'

/** Who may import whom. Every room may import itself. */
const table: Record<string, readonly string[]> = {
  core: [],
  lib: [],
  formats: ['core', 'lib'],
  stages: ['core', 'lib', 'formats', 'stats'],
  agents: ['core', 'lib', 'formats'],
  sandboxes: ['core', 'lib', 'formats'],
  engines: ['core', 'lib', 'formats'],
  schedulers: ['core', 'lib', 'formats'],
  stats: ['core'],
  store: ['core', 'lib', 'formats'],
  registry: ['core', 'lib', 'formats'],
  run: ['core', 'lib', 'store', 'stats'],
  server: ['app', 'core', 'lib', 'formats', 'store', 'stats', 'run', 'plugins'],
  app: ['core', 'lib', 'formats', 'stages', 'stats', 'store', 'registry', 'run', 'plugins'],
  plugins: ['core', 'lib', 'formats', 'run', 'agents', 'sandboxes', 'engines', 'schedulers', 'stages'],
  cli: ['app', 'core', 'lib', 'server'],
  'index.ts': ['app', 'core', 'lib', 'formats', 'stages', 'store', 'stats', 'run', 'plugins'],
  web: ['core', 'stats'],
}

/**
 * The same one level deeper: which folders of a room a folder may import. Files directly in a room belong to no folder;
 * they and the folders may import each other. Rooms of plug-ins have no entry, because one rule holds for all of them:
 * see below.
 */
const folders: Record<string, Record<string, readonly string[]>> = {
  app: {
    ablate: ['eval', 'recipe'],
    'agent-test': ['engine', 'job'],
    analysis: ['engine'],
    check: ['job'],
    datasets: [],
    doctor: [],
    engine: [],
    eval: ['datasets', 'job'],
    flags: ['job'],
    generate: ['engine', 'hub', 'job'],
    hub: [],
    job: ['datasets', 'engine'],
    jobs: ['job'],
    listen: ['job', 'launch', 'registry', 'serve'],
    launch: ['flags', 'generate', 'job', 'recipe'],
    pin: ['check', 'job', 'tasks'],
    recipe: ['check', 'engine', 'generate', 'job', 'replay', 'traces'],
    registry: [],
    replay: ['job'],
    serve: ['job'],
    sweep: ['engine', 'job', 'serve'],
    tasks: ['check', 'job'],
    traces: ['jobs'],
    view: ['eval', 'jobs', 'registry'],
  },
  formats: {
    'anthropic-messages': [],
    atif: ['dialect-server'],
    benchmark: ['harbor-job', 'harbor-task', 'hub', 'records', 'task-parquet', 'terminal-bench'],
    compose: ['dockerfile'],
    conversations: ['records', 'sft-dataset', 'task-parquet'],
    'dialect-server': [],
    dockerfile: [],
    exchanges: ['atif'],
    'gemini-generate': [],
    github: [],
    'harbor-job': [],
    'harbor-task': ['dockerfile'],
    hub: ['task-parquet'],
    'imported-traces': ['conversations', 'harbor-job', 'records', 'traces'],
    llamafactory: ['sft-dataset'],
    'openai-chat': [],
    records: ['task-parquet'],
    'sft-dataset': ['hub', 'task-parquet'],
    skyrl: [],
    'task-parquet': [],
    'terminal-bench': ['harbor-task'],
    traces: ['atif', 'exchanges', 'harbor-job', 'task-parquet'],
  },
  lib: { terminal: [] },
  plugins: { 'user-modules': [] },
  registry: { migrations: [] },
  run: {
    check: ['trial'],
    concurrency: [],
    job: ['replay', 'trial'],
    launch: [],
    pipeline: ['recipe'],
    prefetch: ['trial'],
    recipe: ['traces'],
    replay: ['job', 'trial'],
    rescore: ['trial'],
    traces: [],
    trial: ['replay'],
  },
  server: { routes: [], view: [] },
  store: { packed: [], rows: [] },
}

/** Rooms whose folders are not in the table: commands use each other's parts. */
const withoutFolders = ['cli']

/** What the plug-ins of a kind share. */
const sharedFolders = [
  'agents/shared',
  'engines/shared',
  'sandboxes/cloud',
  'sandboxes/common',
  'sandboxes/containers',
  'sandboxes/namespaces',
  'schedulers/shared',
  'stages/shared',
]

/** Written by users of the package, or as if by them: they use only its public API. */
const outside = ['examples', 'recipes', 'data', 'ablations']

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

test('every import inside a room follows the table of its folders, and every line of that table is used', () => {
  const known = Object.entries(folders).flatMap(([room, table]) =>
    Object.entries(table).flatMap(([folder, others]) => others.map((other) => `${room}: ${folder} -> ${other}`)),
  )
  const found = sources
    .flatMap((path) => importsOf(path).map((target) => [path, target] as const))
    .filter(([path, target]) => roomOf(path) === roomOf(target) && Object.hasOwn(folders, roomOf(path)))
    .map(([path, target]) => [roomOf(path), folderOf(path), folderOf(target)] as const)
    .filter(([, from, to]) => from !== null && to !== null && from !== to)
    .map(([room, from, to]) => `${room}: ${from} -> ${to}`)
  expect([...new Set(found)].sort()).toEqual(known.sort())
})

test('every folder of a room is in the table, unless the room holds plug-ins', () => {
  const rooms = [...new Set(sources.map(roomOf))].filter(
    (room) => !isPlugInRoom(room) && !withoutFolders.includes(room),
  )
  const found = rooms.flatMap((room) => {
    const inside = sources.filter((path) => roomOf(path) === room).map(folderOf)
    return [...new Set(inside)].filter((folder) => folder !== null).map((folder) => `${room}/${folder}`)
  })
  const known = Object.entries(folders).flatMap(([room, table]) => Object.keys(table).map((name) => `${room}/${name}`))
  expect(found.sort()).toEqual(known.sort())
})

test('a plug-in imports no other plug-in of its kind, only what they share', () => {
  const breaches = sources
    .filter((path) => isPlugInRoom(roomOf(path)))
    .flatMap((path) => importsOf(path).map((target) => [path, target] as const))
    .filter(([path, target]) => roomOf(path) === roomOf(target))
    .filter(([path, target]) => !isShared(target) && ownerOf(path) !== ownerOf(target))
    .map(([path, target]) => `${path} -> ${target}`)
  expect(breaches).toEqual([])
})

test('every file in a room of plug-ins belongs to one of them, or is shared', () => {
  const lost = sources.filter((path) => isPlugInRoom(roomOf(path)) && !isShared(path) && ownerOf(path) === null)
  expect(lost).toEqual([])
})

test('index.ts is the entry of a plug-in’s folder and of nothing else', () => {
  const indexes = sources.filter((path) => path.endsWith('/index.ts') && path !== 'src/index.ts')
  const entries = Object.entries(registry).flatMap(([room, plugIns]) =>
    Object.keys(plugIns).map((name) => `src/${room}/${name}/index.ts`),
  )
  expect(indexes.length).toBeGreaterThan(0)
  expect(indexes.filter((path) => !entries.includes(path))).toEqual([])
})

test('no file only passes on what another exports, but the public face', () => {
  const passedOn = /^(?:import|export)\s[^'=(]*from '[^']+'$/gm
  const passing = sources.filter((path) => withoutComments(path).replaceAll(passedOn, '').trim() === '')
  expect(passing).toEqual(['src/index.ts'])
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
  // What waits for a program to end reports itself that the program could not be started.
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
  return from === to || (table[from] ?? []).includes(to)
}

/** Files of this checkout that a file imports: statically, dynamically or for types only. */
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

/** A file as it is at run time, without type imports. */
function withoutTypes(path: string): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext, verbatimModuleSyntax: true }
  return ts.transpileModule(readFileSync(path, 'utf8'), { compilerOptions }).outputText
}

function withoutComments(path: string): string {
  return readFileSync(path, 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
}

/**
 * `src/core/task.ts` is in `core`, `src/index.ts` is a room of its own, `web/page.ts` is in `web`; the rest of the
 * checkout is not a room.
 */
function roomOf(path: string): string {
  const [top = path, next = path] = path.split('/')
  return top === 'src' ? next : top
}

/** `src/run/trial/grade.ts` is in the folder `trial`; a file directly in its room is in none. */
function folderOf(path: string): string | null {
  const [, , folder = null, ...rest] = path.split('/')
  return rest.length > 0 ? folder : null
}

function isPlugInRoom(room: string): room is keyof typeof registry {
  return Object.hasOwn(registry, room)
}

function isShared(path: string): boolean {
  return sharedFolders.some((folder) => path.startsWith(`src/${folder}/`))
}

/** The plug-in that a file belongs to: `NAME.ts`, or anything in the folder `NAME`. */
function ownerOf(path: string): string | null {
  const room = roomOf(path)
  const names = isPlugInRoom(room) ? Object.keys(registry[room]) : []
  return names.find((name) => [`${name}.ts`, `${name}/`].some((own) => path.startsWith(`src/${room}/${own}`))) ?? null
}

function listSources(root: string): string[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[mc]?tsx?$/.test(name) && !/\.test\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(root, name))
    .sort()
}
