import { type FindCall, isNameTest, type Test, testsOf } from './find.ts'
import { piecesOf } from './globs.ts'
import { nameDisagreement } from './name-agreement.ts'
import { numberDisagreement, sizeDisagreement } from './number-agreement.ts'

/** A concept that both words and commands can express; if one does, the other must. */
interface Notion {
  readonly name: string
  readonly words: RegExp
  readonly has: (call: FindCall) => boolean
  /** Some other part of the command accounts for the words. */
  readonly isImplied?: (call: FindCall) => boolean
}

const notions: readonly Notion[] = [
  {
    name: 'not',
    words:
      /(?<!non-)\b(?:not?(?! recurs)|except|exclud\w*|without|other than|n't|omit\w*|skip\w*|ignor\w*(?! (?:the )?case)|but(?! not)|non(?!-?recurs)|besides|avoid\w*|prun\w*|hidden|unless|rather|invert\w*|lack\w*|apart)\b|n't\b/i,
    has: (call) => testsOf(call).some(({ negated }) => negated),
  },
  {
    name: 'empty',
    words: /\b(?:empty|zero|0.?bytes?|size 0|blank)\b/i,
    has: (call) => testsOf(call).some(({ name, value }) => name === 'empty' || (name === 'size' && /^0/.test(value))),
  },
  {
    name: 'size',
    words:
      /\b(?:sizes?|sized|bytes?|blocks?|larger|bigger|smaller|greater|less|k|kb|mb|gb|kib|mib|megabytes?|kilobytes?|\d+[kmgb]b?)\b/i,
    has: (call) => testsOf(call).some(({ name, value }) => name === 'size' && !/^0/.test(value)),
    isImplied: (call) =>
      testsOf(call).some(({ name, value }) => name === 'empty' || (name === 'size' && /^0/.test(value))),
  },
]

const saysModes = /\b(?:perm\w*|modes?|chmod|access rights?)\b/i

/** Requests about things that these commands do not cover, or that a copied folder cannot guarantee. */
const beyond =
  /\b(?:modif\w*|access\w*|chang(?:e|ed|es)|days?|hours?|minutes?|weeks?|months?|years?|old\w*|new(?:er|est|ly)|recent\w*|today|yesterday|ago|date|time\w*|since|between|users?|own\w*|group\w*|executable|readable|writable|writeable|suid|setuid|sgid|sticky|hard|linked|inodes?|devices?|sockets?|fifo|pipes?|mount\w*|partition\w*|file ?systems?|filesystem|system|root|home|hidden|dot|sort\w*|order\w*|first|last|top|largest|biggest|smallest|longest|newest|oldest|latest|duplicates?|unique|detail\w*|long (?:list|format)|format\w*|human|null|ask\w*|prompt\w*|confirm\w*|interactiv\w*|verbose|regex\w*|regular expression\w*|separat\w*|comma|quot\w*|absolute|full path\w*|basename|base names?|extension removed|parallel|script\w*|process\w*|machine|disk|servers?|remote|archive\w*|compress\w*|rename\w*|replac\w*|respectively|exit|quit|stop\w*|once|depth.first|then|calculat\w*|average|sum|total|digits?|numeric\w*|single|capital|pages?|errors?|stderr|check\w*|ls|pagewise|given|query|empty list|suppress\w*|discard\w*|lines?|contents?|text)\b/i

/** The words without quoted text and without anything that looks like a name or a pattern. */
function withoutNames(words: string): string {
  return words.replace(/"[^"]*"|'[^']*'|[\w-]*[./*][\w./*?[\]-]*/g, ' ')
}

const staysHere =
  /,?\s*\b(?:and |but )?(?:(?:do(?:es)? not|don't|without) (?:search|descend|look|go|recurs|travers)\w*|not (?:in|its|the|any))\b[^,.]{0,30}\bsub\W?\w*(?: ?\w*director\w*| folders?)?|\(?\bno[- ]sub-?\w+\)?|\bwithout recursion\b|\bnon-?recursive\w*\b/gi

/** What the rest of a command is about, besides what it finds. */
interface Notions {
  readonly readsText: boolean
  readonly changesModes: boolean
  readonly numbers: readonly number[]
}

/** Why a request in words and a `find` call may not mean the same; null if nothing suggests a difference. */
export function findDisagreement(
  words: string,
  call: FindCall,
  { readsText, changesModes, numbers }: Notions,
): string | null {
  const plain = withoutNames(words)
  const about = readsText
    ? plain.replace(/\b(?:lines?|contents?|text|words?|occurrences?|regex|order)\b/gi, ' ')
    : plain
  const isHidden = testsOf(call).some(({ name, value, negated }) => name === 'name' && value === '.*' && !negated)
  const found = beyond.exec(
    isHidden
      ? about.replace(/\bhidden\b/gi, ' ')
      : call.roots.some((root) => /^home\b/.test(root))
        ? about.replace(/\bhome\b/gi, ' ')
        : about,
  )
  if (found) return `speaks of “${found[0]}”`
  const perms = testsOf(call).filter(({ name }) => name === 'perm')
  if (saysModes.test(words) !== (perms.length > 0 || changesModes)) return 'permissions'
  if (
    perms.length > 1 ||
    perms.some(
      ({ value }) =>
        !/^0?[0-7]{3}$/.test(value) || !new RegExp(`(?<!\\d)0?${value.replace(/^0/, '')}(?!\\d)`).test(words),
    )
  )
    return 'odd permissions'
  if (call.maxDepth === 0 || (call.maxDepth !== null && saysDepth(words) === 'deep')) return 'depth'
  if (hasNegatedAlternative(call)) return 'not this or not that'
  const notion = notions.find(
    ({ words: said, has, isImplied }) =>
      said.test(
        call.maxDepth !== null ? words.replace(staysHere, ' ') : isHidden ? words.replace(/\bhidden\b/gi, ' ') : words,
      ) !== has(call) && !isImplied?.(call),
  )
  if (notion) return `only one of the two speaks of ${notion.name}`
  return (
    typeDisagreement(words, call, readsText) ??
    nameDisagreement(words, call) ??
    sizeDisagreement(words, call) ??
    numberDisagreement(words, call, numbers)
  )
}

/** `! -name a -o ! -name b` finds everything, which no request means. */
function hasNegatedAlternative({ alternatives }: FindCall): boolean {
  const isCommon = (test: Test) =>
    alternatives.every((tests) => tests.some(({ name, value }) => name === test.name && value === test.value))
  return alternatives.length > 1 && alternatives.flat().some((test) => test.negated && !isCommon(test))
}

/** The request asks for files, but the call would also find folders. */
export function asksForFiles(words: string, call: FindCall): boolean {
  if (testsOf(call).some(({ name }) => name === 'type')) return false
  if (
    saysLinks.test(words) ||
    saysBoth.test(words) ||
    !/\bfiles?\b/i.test(words) ||
    saysFolders.test(words.replace(placeOf, ' '))
  )
    return false
  return !findsOnlyFiles(call)
}

/** No folder of a workspace can match: names, sizes or permissions rule it out. */
function findsOnlyFiles(call: FindCall): boolean {
  const every = (isEnough: (test: Test) => boolean) =>
    call.alternatives.every((tests) => tests.some((test) => !test.negated && isEnough(test)))
  return (
    every((test) => isNameTest(test) && piecesOf(test.value).length > 0) ||
    every(({ name, value }) => name === 'perm' && !/755$/.test(value)) ||
    every(({ name, value }) => name === 'size' && /^\+\d+(?:M|\d\dk)$/.test(value))
  )
}

const saysLinks = /\b(?:sym(?:bolic)?|soft)[ -]?links?\b|\bsymlinks?\b/i
export const saysBoth =
  /\bfiles? ?(?:\/|,|and|or|and\/or|&) ?(?:sub-?)?(?:dir\w+|folders?)|\b(?:dir\w+|folders?) ?(?:\/|,|and|or) ?files?/i
const saysFolders = /\b(?:director(?:y|ies)|dirs?|folders?|subdirector(?:y|ies)|subfolders?)\b/i
const saysFiles = /\bfiles?\b|\*\.\w+|\.\w{1,4}\b/i

/** Words ask for folders only if the command does; a folder to search in follows a preposition. */
function typeDisagreement(words: string, call: FindCall, isSearch: boolean): string | null {
  const types = new Set(
    testsOf(call).flatMap(({ name, value, negated }) => (name === 'type' && !negated ? [value] : [])),
  )
  if (testsOf(call).some(({ name, negated }) => name === 'type' && negated)) return 'a negated type'
  if ([...types].some((type) => !/^[fdl]$/.test(type)) || types.size > 1) return 'another type'
  if (saysLinks.test(words) !== types.has('l')) return 'links'
  if (types.has('l')) return null
  const asked = words.replace(staysHere, ' ').replace(placeOf, ' ')
  if (saysBoth.test(words)) return types.size > 0 ? 'files and folders are asked for' : null
  if (types.has('d')) return saysFolders.test(asked) && !/\bfiles?\b/i.test(words) ? null : 'folders are not asked for'
  const isNarrow = call.alternatives.every((tests) =>
    tests.some((test) => isNameTest(test) && !test.negated && piecesOf(test.value).length > 0),
  )
  if (types.has('f')) return saysFolders.test(asked) || !saysFiles.test(words) ? 'files are not asked for' : null
  if (isSearch && !isNarrow) return 'folders are searched, too'
  // "Logs over 10 MB" may mean files with that name.
  if (!isNarrow && !/\bfiles?\b/i.test(words)) return 'files are not asked for'
  return findsOnlyFiles(call) && !saysFolders.test(asked) ? null : 'files or folders'
}

/** "in the current directory", "under directory foo and its subdirectories": where to look, not what to find. */
const placeOf =
  /\b(?:search\w*|scan\w*|travers\w*|look\w*|walk\w*|in|under|below|within|inside|from|of|at|through|starting|beneath|across|down|into|to|and|or|including|recursively)\s+(?:(?:from|in|with|at|the|this|that|its|their|all|any|every|each|of|current|present|working|given|specified|same|entire|whole|sub|parent|child|directory|folder|named|called|located|or|and|"[^"]*"|'[^']*'|[\w./-]*[./][\w./-]*)\s+){0,6}?(?:"[^"]*"\s+|'[^']*'\s+|[\w./-]+\s+)?(?:sub-?)?(?:director(?:y|ies)|dirs?|folders?)(?:\s+(?:trees?|hierarchy|structure))?/gi

/** Whether the words say how deep to look; if not, what is found must not depend on it. */
export function saysDepth(words: string): 'deep' | 'flat' | null {
  if (
    /\b(?:depth|levels?|deep|only|non-?recursive\w*|directly|immediate)\b|\bnot (?:in|its|sub)/i.test(words) ||
    words.search(staysHere) >= 0
  )
    return 'flat'
  const deep =
    /\b(?:recursive\w*|under|below|beneath|tree|trees|hierarchy|(?:and|in|its|their|including|of|with|through)(?: all)?(?: of)?(?: (?:the|its|any|their))? sub-?(?:director\w*|folders?)|(?:in|of|under|through) all (?:the )?director\w*|any depth|descend\w*|entire|down)\b/i
  return deep.test(words) ? 'deep' : null
}
