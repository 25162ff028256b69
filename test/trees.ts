import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { walkTree } from '../src/lib/tree.ts'

export { makeTempDir as tempDir } from './make-task.ts'

/** A file tree as plain data: each path maps to content, an empty directory or a link. */
export type Tree = Record<string, { content: string; mode: number } | { dir: true } | { link: string }>

/** Makes `dir` contain exactly the tree; contents are written as latin1, one byte per character. */
export async function writeTree(dir: string, tree: Tree): Promise<void> {
  await mkdir(dir, { recursive: true })
  for (const [path, node] of Object.entries(tree)) {
    const at = join(dir, path)
    await mkdir('dir' in node ? at : dirname(at), { recursive: true })
    if ('link' in node) await symlink(node.link, at)
    if (!('content' in node)) continue
    await writeFile(at, node.content, 'latin1')
    await chmod(at, node.mode)
  }
}

/** The content of `dir`; directories are listed only if empty. */
export async function readTree(dir: string): Promise<Tree> {
  const tree = new Map<string, Tree[string]>()
  for await (const entry of walkTree(dir)) {
    tree.delete(dirname(entry.path))
    if (entry.kind === 'dir') tree.set(entry.path, { dir: true })
    else if (entry.kind === 'symlink') tree.set(entry.path, { link: entry.target })
    else tree.set(entry.path, { content: await readFile(join(dir, entry.path), 'latin1'), mode: entry.mode & 0o777 })
  }
  return Object.fromEntries(tree)
}

const shortName = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const longName = fc.string({ unit: 'grapheme-ascii', minLength: 90, maxLength: 250 })
/** Any valid Linux file name without a backslash. */
export const fileName = fc
  .oneof({ weight: 4, arbitrary: shortName }, { weight: 1, arbitrary: longName })
  .map((name) => name.replaceAll(/[/\0\\]/g, '_'))
  .filter((name) => name !== '.' && name !== '..' && Buffer.byteLength(name) <= 255)

const content = fc.oneof(
  fc.constant(''),
  fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  fc.nat({ max: 700_000 }).map((size) => 'x'.repeat(size)),
)
const file = fc.record({ content, mode: fc.constantFrom(0o644, 0o755) })
const node = fc.oneof({ weight: 5, arbitrary: file }, { weight: 1, arbitrary: fc.constant({ dir: true } as const) })

/** Arbitrary trees: nested, empty, executable, with long and unusual names. */
export const arbitraryTree: fc.Arbitrary<Tree> = fc
  .array(fc.tuple(fc.array(fileName, { minLength: 1, maxLength: 4 }), node), { maxLength: 12 })
  .map((entries) => withoutClashes(entries.map(([names, what]) => [names.join('/'), what])))

/** Keeps the first of two conflicting entries: equal ones, or one inside the other. */
function withoutClashes(entries: [string, Tree[string]][]): Tree {
  const kept: [string, Tree[string]][] = []
  for (const [path, what] of entries) {
    const clash = kept.some(([other]) => path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`))
    if (!clash) kept.push([path, what])
  }
  return Object.fromEntries(kept)
}
