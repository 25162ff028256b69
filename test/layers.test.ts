import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
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
  board: ['core'],
  store: ['core', 'lib', 'formats'],
  run: ['core', 'lib', 'store', 'board'],
  generation: ['core', 'lib', 'store', 'board', 'run'],
  server: ['core', 'lib', 'formats', 'store', 'board', 'run', 'generation', 'registry.ts'],
  'registry.ts': ['core', 'agents', 'sandboxes', 'engines', 'schedulers', 'stages'],
  cli: ['core', 'lib', 'formats', 'store', 'board', 'run', 'generation', 'server', 'registry.ts', 'index.ts'],
  'index.ts': ['core', 'lib', 'formats', 'store', 'board', 'run', 'generation', 'registry.ts'],
}

const sources = listSources('src').filter((path) => !path.endsWith('.test.ts'))

test('every import follows the layer table', () => {
  const breaches = sources.flatMap((path) => importsOf(path).filter((target) => !allowed(path, target)).map((t) => `${path} -> ${t}`))
  expect(breaches).toEqual([])
})

test('every room is in the table', () => {
  const rooms = new Set(sources.map(roomOf))
  expect([...rooms].filter((room) => !(room in table))).toEqual([])
})

test('core imports no package but zod', () => {
  const foreign = sources
    .filter((path) => roomOf(path) === 'core')
    .flatMap((path) => packagesOf(path).filter((name) => name !== 'zod').map((name) => `${path} -> ${name}`))
  expect(foreign).toEqual([])
})

function allowed(path: string, target: string): boolean {
  const from = roomOf(path)
  const to = roomOf(target)
  return from === to || (table[from]?.includes(to) ?? false)
}

function importsOf(path: string): string[] {
  return specifiersOf(path)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => normalize(join(dirname(path), specifier)))
    .filter((target) => target.startsWith('src/'))
}

function packagesOf(path: string): string[] {
  return specifiersOf(path).filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
}

function specifiersOf(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  return [...text.matchAll(/(?:from\s+|import\s*\(\s*|import\s+)'([^']+)'/g)].map((match) => match[1] as string)
}

function roomOf(path: string): string {
  return path.split('/')[1] ?? path
}

function listSources(root: string): string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.ts')).map((name) => join(root, name)).sort()
}
