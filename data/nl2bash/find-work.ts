import type { Random } from 'ot-agent'
import { findDisagreement, saysBoth, saysDepth } from './agreement.ts'
import type { AnswerKind } from './answers.ts'
import { clarify } from './clarify.ts'
import { readSearch, type Search, searchDisagreement } from './contents.ts'
import { type FindCall, findsFolders, parseFind } from './find.ts'
import { planFind } from './plan-find.ts'
import { asSearch, type Replacement, readReplacement, replacementAgrees } from './replace.ts'
import type { Word } from './shell.ts'
import { type Refusal, refuse, type Work } from './work.ts'

/** A request about what `find` finds: to list, count, remove, search or change it, or to set permissions. */
export function readFindWork(said: string, pipe: readonly (readonly Word[])[], random: Random): Work | Refusal {
  const [first = [], second, ...rest] = pipe
  const parsed = parseFind(first)
  if (parsed === null) return refuse('find-not-understood')
  const clarified = clarify(said, parsed, first)
  if (clarified === null) return refuse('words-and-command-differ', 'times')
  const { call, words, notes, stage } = clarified
  if (call.roots.some((root) => !/^[\w./-]+$/.test(root))) return refuse('odd-folder')
  const deed = rest.length > 0 || !passesNames(first, second) ? null : readDeed(call, second)
  if (deed === null || !isAskedFor(words, deed)) return refuse('other-answer')
  const tests = call.alternatives.flat()
  if (tests.length === 0) return refuse('too-simple')
  if (deed.does === 'list' && isGuessable(words, call)) return refuse('too-simple', 'the name is the whole answer')
  const reason = disagreement(words, call, deed)
  if (reason !== null) return refuse('words-and-command-differ', reason)
  const isFolders = findsFolders(call)
  const isEmpty = tests.some(({ name }) => name === 'empty')
  // The searched folder would be counted too.
  if (
    deed.does === 'count' &&
    call.minDepth === null &&
    !tests.some(({ name, value }) => isName(name) || value === 'f')
  )
    return refuse('other-answer')
  if (deed.does === 'remove' && (saysBoth.test(words) || (isFolders && !isEmpty))) return refuse('other-answer')
  const search = deed.does === 'search' ? deed.search : deed.does === 'replace' ? asSearch(deed.replacement) : null
  const workspace = planFind(
    call,
    words,
    { search, changesModes: deed.does === 'modes', removes: deed.does === 'remove' },
    random,
  )
  if (workspace === null) return refuse('no-workspace')
  const roots = call.roots
    .map((root) => root.replace(/^(?:\.\/)+|\/+$/g, ''))
    .filter((root) => root !== '' && root !== '.')
  return { answer: { kind: kindOf(deed), roots }, workspace, notes, stage }
}

const isName = (name: string) => /^i?name$/.test(name)

/** "The file x in y" is `y/x` if nothing deeper matches: the answer needs no search. */
function isGuessable(words: string, { alternatives }: FindCall): boolean {
  const isLiteral = ({ name, value, negated }: FindCall['alternatives'][number][number]) =>
    isName(name) && !negated && !/[*?[]/.test(value)
  return saysDepth(words) === null && alternatives.every((tests) => tests.some(isLiteral))
}

/** Names reach `xargs` intact: separated by NUL bytes on both sides, or free of whitespace. */
function passesNames(first: readonly Word[], second: readonly Word[] | undefined): boolean {
  if (second?.[0]?.text !== 'xargs') return true
  const sendsNul = first.some(({ text }) => text === '-print0')
  const takesNul = second.some(({ text }) => /^(?:-\w*0|--null)$/.test(text))
  const hasBlanks = first.some(({ text }) => text.includes(' '))
  return sendsNul === takesNul && (sendsNul || !hasBlanks)
}

/** What the command does with the files it finds. */
type Deed =
  | { readonly does: 'list' | 'count' | 'remove' }
  | { readonly does: 'search'; readonly search: Search }
  | { readonly does: 'replace'; readonly replacement: Replacement }
  | { readonly does: 'modes'; readonly mode: string }

function kindOf(deed: Deed): AnswerKind {
  if (deed.does === 'search') return deed.search.namesOnly ? 'paths' : 'found-lines'
  const kinds = { list: 'paths', count: 'number', remove: 'state', replace: 'state', modes: 'modes' } as const
  return kinds[deed.does]
}

/** Reads what follows the tests; null if it is not understood. */
function readDeed({ action }: FindCall, next: readonly Word[] | undefined): Deed | null {
  const [program = '', ...args] = next?.map(({ text }) => text) ?? []
  if (action.name === 'delete') return next ? null : { does: 'remove' }
  if (action.name === 'print' && !next) return { does: 'list' }
  if (action.name === 'print' && program === 'wc') return args.join(' ') === '-l' ? { does: 'count' } : null
  if (action.name === 'exec' && !action.words.includes('{}')) return null
  const words = action.name === 'exec' ? (next ? [] : action.words) : program === 'xargs' ? withoutXargs(args) : []
  const line = words.filter((word) => word !== '{}').join(' ')
  if (/^(?:\/bin\/)?rm(?: -(?:f|v|fv|vf|rf|fr|r))?$|^rmdir$/.test(line)) return { does: 'remove' }
  const [, mode] = /^chmod (0?[0-7]{3})$/.exec(line) ?? []
  if (mode !== undefined) return { does: 'modes', mode }
  const search = readSearch(words)
  if (search) return { does: 'search', search }
  const replacement = readReplacement(words)
  return replacement && { does: 'replace', replacement }
}

/** The command that `xargs` runs, without the options of `xargs` itself. */
function withoutXargs(args: readonly string[]): readonly string[] {
  const at = args.findIndex((word) => !/^-(?:0|r|n1|I|I\{\}|i|t|n)$|^\{\}$|^1$/.test(word))
  return at < 0 ? [] : args.slice(at)
}

const counts = /\b(?:count\w*|number of|how many|total|amount)\b/i
const deletes = /\b(?:delet\w*|remov\w*|eras\w*|unlink\w*|get rid)\b/i
const gives = /\b(?:chang\w*|set\w*|giv\w*|mak\w*|assign\w*|chmod|modify\w*|add\w*|updat\w*)\b/i
const changes =
  /\b(?:cop(?:y|ies|ied)|mov\w*|renam\w*|chang\w*|creat\w*|mak\w*|set\w*|replac\w*|add\w*|run\w*|execut\w*|writ\w*|save\w*|append\w*|touch\w*|archiv\w*|zip\w*|tar|edit\w*|open\w*|invok\w*|call(?:s|ing)?|perform\w*(?! (?:a )?(?:case|recursive|search))|apply\w*|pass\w*|us(?:e|ing)|xargs|exec|sav\w*|redirect\w*|output to|store\w*|compil\w*|convert\w*)\b/i

/** The request asks for this and nothing else. */
function isAskedFor(words: string, deed: Deed): boolean {
  // Names and patterns are not verbs: a file `set.txt`, the ending `.tar`.
  const plain = words.replace(/"[^"]*"|'[^']*'|[\w-]*[./*][\w./*?[\]-]*/g, ' ')
  const [isCount, isRemoval, isChange] = [counts.test(plain), deletes.test(plain), changes.test(plain)]
  if (deed.does === 'count') return isCount && !isRemoval && !isChange
  if (isCount || isRemoval !== (deed.does === 'remove')) return false
  if (deed.does === 'modes') return gives.test(words) && words.includes(deed.mode)
  if (deed.does === 'replace') return replacementAgrees(words, deed.replacement)
  return deed.does === 'search' || !isChange
}

function disagreement(words: string, call: FindCall, deed: Deed): string | null {
  const reason = deed.does === 'search' ? searchDisagreement(words, deed.search) : null
  return reason ?? findDisagreement(aboutFiles(words, deed), call, deedNotions(deed)) ?? placeDisagreement(words, call)
}

/** The words about what to find, without those about what to do with it. */
function aboutFiles(words: string, deed: Deed): string {
  const without = (text: string, from: string) =>
    from.replaceAll(`"${text}"`, ' ').replaceAll(`'${text}'`, ' ').replaceAll(text, ' ')
  if (deed.does === 'search') return without(deed.search.text, words)
  if (deed.does === 'modes') return words.replace(/\b(?:chang\w*|modif\w*)\b/gi, ' ')
  if (deed.does === 'replace')
    return without(
      deed.replacement.from,
      without(deed.replacement.to, words.replace(/\b(?:replac\w*|substitut\w*|chang\w*)\b/gi, ' ')),
    )
  return words
}

function deedNotions(deed: Deed) {
  return {
    readsText: deed.does === 'search' || deed.does === 'replace',
    changesModes: deed.does === 'modes',
    numbers: deed.does === 'modes' ? [Number(deed.mode)] : [],
  }
}

/** The request names the folders to search, and does not use one of them for what it searches for. */
function placeDisagreement(words: string, call: FindCall): string | null {
  const unnamed = call.roots
    .map((root) => root.replace(/^(?:\.\/)+|^\.$|\/+$/g, ''))
    .find((root) => root !== '' && !isNamed(root, words))
  if (unnamed !== undefined) return `the request does not mention ${unnamed}`
  if (call.roots.length > 1 && call.roots.some((root) => /^[./]+$/.test(root))) return 'the current folder and others'
  if (findsFolders(call)) return null
  const tests = call.alternatives.flat()
  const isPlace = (name: string) =>
    new RegExp(
      `\\b(?:directory|folder|dir) (?:named |called )?["']?${name.replace(/\W/g, '\\$&')}(?![\\w.])`,
      'i',
    ).test(words)
  const place = tests.find(({ name, value }) => isName(name) && isPlace(value))
  return place ? `${place.value} is a folder` : null
}

/** As a word on its own: `*.js.gz` does not name the folder `js`. */
function isNamed(root: string, words: string): boolean {
  return new RegExp(`(?<![\\w.*-])(?:\\./)?${root.replace(/\W/g, '\\$&')}/?(?![\\w-]|[./]\\w)`).test(words)
}
