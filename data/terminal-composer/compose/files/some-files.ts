import { nouns, plainWords } from '../words.ts'
import { type Draw, file, type Tree } from '../work.ts'

/** File name endings to draw from. */
export const endings = ['txt', 'log', 'csv', 'md', 'json', 'conf', 'bak', 'tmp']

/** Some lines of words. */
export function someText({ random }: Draw, lines = random.int(2, 8)): string {
  return Array.from({ length: lines }, () => `${random.few(plainWords, random.int(3, 9)).join(' ')}\n`).join('')
}

/** Files in folders up to three deep, some with spaces in their names. */
export function someFiles(draw: Draw, count: number): Record<string, string> {
  const { random, level } = draw
  const spaces = level === 'easy' ? 0 : 0.25
  const folders = ['', ...random.few(nouns, random.int(2, 4))]
  const deep = folders.flatMap((folder) => (folder === '' ? [''] : [folder, `${folder}/${random.pick(nouns)}`]))
  const files: Record<string, string> = {}
  while (Object.keys(files).length < count) {
    const folder = random.pick(deep)
    const name = `${random.few(plainWords, random.int(1, 2)).join(random.chance(spaces) ? ' ' : '-')}.${random.pick(endings)}`
    files[folder === '' ? name : `${folder}/${name}`] ??= someText(draw)
  }
  return files
}

/** Files by path, as entries of a tree. */
export const trees = (files: Readonly<Record<string, string>>): Tree =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path, file(text)]))
/** The last part of a path. */
export const base = (path: string) => path.slice(path.lastIndexOf('/') + 1)
/** What follows the last dot. */
export const endingOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)
/** Which difficulties the names have. */
export const nameFaults = (files: object) =>
  Object.keys(files).some((path) => path.includes(' ')) ? ['spaces-in-names'] : []
/** Compares in byte order. */
export const inBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The folders that contain these paths. */
export function folders(paths: readonly string[]): Tree {
  const all = paths.flatMap((path) =>
    path
      .split('/')
      .slice(0, -1)
      .map((_, at, parts) => parts.slice(0, at + 1).join('/')),
  )
  return Object.fromEntries(all.map((path) => [path, { kind: 'dir' }]))
}
