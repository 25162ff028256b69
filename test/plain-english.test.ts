import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

/** Phrases that read as translated or quaint, with plain words for each. */
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

/** The same for messages, help and hints in `src`: tasks and prompts may use these words. */
const bannedInMessages: readonly (readonly [phrase: RegExp, prefer: string])[] = [
  [/\bfound something there\b/i, 'but it already exists'],
  [/\bgot nothing there\b/i, 'found nothing there'],
  [/\b(is|are) not what was written\b/i, 'has changed since it was written'],
  [/\bname (one|another)( \w+)? with -/i, 'pass, choose'],
  [/\bno \w+ is called\b/i, 'unknown stage, has no stage'],
  [/\b(is|are) left out( by|:|$)/i, 'skipped, excluded'],
  [/\bleave (it|them|one of (them|the two)) out\b/i, 'remove it, use only one of them'],
  [/\bleave --?\w[\w-]* out\b/i, 'remove it'],
  [/\bat once from now on\b/i, 'now running N at a time'],
  [/\b(asked|tried) again in\b/i, 'retrying in'],
  [/\bit is opened again\b/i, 'reopening it'],
  [/\bgoing on where\b/i, 'resuming'],
  [/\bout knowingly\b/i, 'skip explicitly'],
  [/\bmend\b/i, 'fix'],
  [/\bneeds to be told\b/i, 'needs'],
  [/\b(make|making) room\b/i, 'free some space'],
  [/\bmove (it|this one) away\b/i, 'move it elsewhere'],
  [/\bvariables? of yours\b/i, 'environment variable'],
  [/\bwritten down\b/i, 'recorded'],
  [/\bhow (it|they|the jobs) stands?\b/i, 'state'],
  [/\bnot there any more\b/i, 'no longer exists'],
  [/\btaken to be there\b/i, 'assume that it exists'],
  [/\bgone for good\b/i, 'lost for good'],
  [/% of the cases\b/i, '80 % of the time'],
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

/** Sentences from composed tasks. A change would give every composed task a new identity. */
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
    const found = programs.flatMap((path) => {
      const phrases = path.startsWith('src/') ? [...banned, ...bannedInMessages] : banned
      return textsOf(path, phrases).flatMap((text) => complaints(path, text, phrases))
    })
    expect(found).toEqual([])
  })
})

function filesBelow(dir: string, name: RegExp): string[] {
  const found = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  return found.filter((path) => name.test(path)).map((path) => join(dir, path))
}

/** The banned phrases in a text, each with the words around it. */
function complaints(path: string, text: string, phrases = banned): string[] {
  const line = [...prompts, ...composed].reduce((rest, each) => rest.replaceAll(each, ''), text.replace(/\s+/g, ' '))
  return phrases.flatMap(([phrase, prefer]) => {
    const found = phrase.exec(line)
    if (found === null) return []
    const around = line.slice(Math.max(0, found.index - 40), found.index + found[0].length + 40)
    return [`${path}: ${found[0]} (prefer: ${prefer}): ${around}`]
  })
}

/** The text of every string and template in a file; comments are not part of it. */
function textsOf(path: string, phrases: typeof banned): string[] {
  const text = readFileSync(path, 'utf8')
  if (!phrases.some(([phrase]) => phrase.test(text.replace(/\s+/g, ' ')))) return []
  const found: string[] = []
  const visit = (node: ts.Node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))
  return found
}
