import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

/** Phrases that read as translated or quaint, with the plain word for each. */
const banned: readonly (readonly [phrase: RegExp, prefer: string])[] = [
  [/\bnobody\b/i, 'no job, no server, nothing'],
  [/\bsomebody\b/i, 'a user, the caller, another process'],
  [/\bwhoever\b/i, 'the caller, the owner'],
  [/\b(of|by) the world\b/i, 'infrastructure'],
  [/\bso many\b/i, 'this many, at most N'],
  [/\b(goes|go|went) on where\b/i, 'resume'],
  [/\b(given|gives?|giving) back\b/i, 'release'],
  [/\btheirs is\b/i, 'blamed on'],
  [/\bkept nowhere\b/i, 'ignored'],
  [/\bof one['’]s own\b/i, 'custom'],
  [/\bsuch a one\b/i, 'one'],
  [/\banew\b/i, 'again, rebuild, start over'],
  [/\bstrangers?\b/i, 'user code, external, untrusted'],
]

/** Text that a model reads, which only looks like a message. A change of a prompt changes data, so it keeps its words. */
const prompts: readonly string[] = [
  'Invent a situation in which somebody needs it',
  'which the instruction does not name, so that nobody can know about it.',
  'It was written by whoever is judged',
  'Somebody asks for the work below.',
  'that a person could give to somebody who works in a Linux terminal',
  'Whoever reads it must still be able to know',
]

/** Sentences of composed tasks. A change would give every composed task another identity. */
const composed: readonly string[] = [
  'Somebody encoded `',
  'Somebody changed `',
  'Repair it, or write it anew at the same path',
  'everyone may read it and nobody may write it',
  'Somebody dumped a measuring campaign',
]

const pages = [
  ...['README.md', 'SECURITY.md', 'CHANGELOG.md', 'AGENTS.md'],
  ...filesBelow('docs', /\.md$/),
  ...filesBelow('data', /^[^/]+\/README\.md$/),
]
const programs = ['src', 'bin', 'data', 'recipes', 'ablations', 'examples', 'scripts']
  .flatMap((dir) => filesBelow(dir, /\.(ts|js|mjs)$/))
  .filter((path) => !/\.test\.ts$|\/fixtures\//.test(path))

describe('what users read is plain English', () => {
  test('the search finds pages and programs', () => {
    expect([pages.length > 30, programs.length > 500]).toEqual([true, true])
    expect(complaints('x', 'start\nanew')).toEqual(['x: anew (prefer: again, rebuild, start over): start anew'])
  })

  test('pages', () => {
    expect(pages.flatMap((path) => complaints(path, readFileSync(path, 'utf8')))).toEqual([])
  })

  test('messages, help and descriptions of options: every text in the code', () => {
    const found = programs.flatMap((path) => textsOf(path).flatMap((text) => complaints(path, text)))
    expect(found).toEqual([])
  })
})

function filesBelow(dir: string, name: RegExp): string[] {
  const found = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  return found.filter((path) => name.test(path)).map((path) => join(dir, path))
}

/** The banned phrases in a text, each with the words around it. */
function complaints(path: string, text: string): string[] {
  const line = [...prompts, ...composed].reduce((rest, each) => rest.replaceAll(each, ''), text.replace(/\s+/g, ' '))
  return banned.flatMap(([phrase, prefer]) => {
    const found = phrase.exec(line)
    if (found === null) return []
    const around = line.slice(Math.max(0, found.index - 40), found.index + found[0].length + 40)
    return [`${path}: ${found[0]} (prefer: ${prefer}): ${around}`]
  })
}

/** The text of every string and template in a file; comments are not part of it. */
function textsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  if (!banned.some(([phrase]) => phrase.test(text.replace(/\s+/g, ' ')))) return []
  const found: string[] = []
  const visit = (node: ts.Node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))
  return found
}
