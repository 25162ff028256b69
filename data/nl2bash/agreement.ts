import type { FindCall, Test } from './find.ts'
import { piecesOf } from './globs.ts'

const testsOf = ({ alternatives }: FindCall): readonly Test[] => alternatives.flat()
const isNameTest = ({ name }: Test) => /name$|path$/.test(name)

/** A thing that words and commands can both speak of; if one does, the other has to. */
interface Notion {
  readonly name: string
  readonly words: RegExp
  readonly has: (call: FindCall) => boolean
  /** Something else of the command accounts for the words. */
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

/** Requests about things that these commands do not cover, or that cannot be guaranteed in a copied folder. */
const beyond =
  /\b(?:modif\w*|access\w*|chang(?:e|ed|es)|days?|hours?|minutes?|weeks?|months?|years?|old\w*|new(?:er|est|ly)|recent\w*|today|yesterday|ago|date|time\w*|since|between|users?|own\w*|group\w*|executable|readable|writable|writeable|suid|setuid|sgid|sticky|hard|linked|inodes?|devices?|sockets?|fifo|pipes?|mount\w*|partition\w*|file ?systems?|filesystem|system|root|home|hidden|dot|sort\w*|order\w*|first|last|top|largest|biggest|smallest|longest|newest|oldest|latest|duplicates?|unique|detail\w*|long (?:list|format)|format\w*|human|null|ask\w*|prompt\w*|confirm\w*|interactiv\w*|verbose|regex\w*|regular expression\w*|separat\w*|comma|quot\w*|absolute|full path\w*|basename|base names?|extension removed|parallel|script\w*|process\w*|machine|disk|servers?|remote|archive\w*|compress\w*|rename\w*|replac\w*|respectively|exit|quit|stop\w*|once|depth.first|then|calculat\w*|average|sum|total|digits?|numeric\w*|single|capital|pages?|errors?|stderr|suppress\w*|discard\w*|lines?|contents?|text)\b/i

/** The words without what is quoted and without what looks like a name or a pattern. */
function withoutNames(words: string): string {
  return words.replace(/"[^"]*"|'[^']*'|[\w-]*[./*][\w./*?[\]-]*/g, ' ')
}

const staysHere =
  /,?\s*\b(?:and |but )?(?:(?:do(?:es)? not|don't|without) (?:search|descend|look|go|recurs|travers)\w*|not (?:in|its|the|any))\b[^,.]{0,30}\bsub\W?\w*(?: ?\w*director\w*| folders?)?|\(?\bno[- ]sub-?\w+\)?|\bwithout recursion\b|\bnon-?recursive\w*\b/gi

/** What the rest of a command speaks of, beside what it finds. */
interface Notions {
  readonly readsText: boolean
  readonly changesModes: boolean
  readonly numbers: readonly number[]
}

/** Why a request in words and a call of `find` do not surely mean the same; null when nothing speaks against it. */
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
  if (call.maxDepth !== null && saysDepth(words) === 'deep') return 'depth'
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

/** The request wants files, and the call would find folders, too. */
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

/** No folder of a workspace can pass: names, sizes or permissions rule them out. */
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
  /\bfiles? ?(?:\/|,|and|or|and\/or|&) ?(?:sub-?)?(?:director\w+|folders?)|\b(?:director\w+|folders?) ?(?:\/|,|and|or) ?files?/i
const saysFolders = /\b(?:director(?:y|ies)|dirs?|folders?|subdirector(?:y|ies)|subfolders?)\b/i
const saysFiles = /\bfiles?\b|\*\.\w+|\.\w{1,4}\b/i

/** Folders are asked for only where the command wants them: a folder to search in is named after a preposition. */
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
  return findsOnlyFiles(call) && !saysFolders.test(asked) ? null : 'files or folders'
}

/** "in the current directory", "under directory foo and its subdirectories": where, not what. */
const placeOf =
  /\b(?:search\w*|scan\w*|travers\w*|look\w*|walk\w*|in|under|below|within|inside|from|of|at|through|starting|beneath|across|down|into|to|and|or|including|recursively)\s+(?:(?:from|in|with|at|the|this|that|its|their|all|any|every|each|of|current|present|working|given|specified|same|entire|whole|sub|parent|child|directory|folder|named|called|located|or|and|"[^"]*"|'[^']*'|[\w./-]*[./][\w./-]*)\s+){0,6}?(?:"[^"]*"\s+|'[^']*'\s+|[\w./-]+\s+)?(?:sub-?)?(?:director(?:y|ies)|dirs?|folders?)(?:\s+(?:trees?|hierarchy|structure))?/gi

/** Only a part of a name is given: "that match x in their names". */
const saysPart =
  /\b(?:match\w*|contain\w*)\b[^.]{0,30}\bnames?\b|\bin (?:the|their|its) (?:file ?)?names?\b|\b(?:mat|pat)ch(?:ing|es)?\b/i

function nameDisagreement(words: string, call: FindCall): string | null {
  const lower = words.toLowerCase()
  for (const { name, value } of testsOf(call).filter(isNameTest)) {
    // A plus after a set, or a dot and a star in front: more likely a regular expression.
    if (/[\\\]{}$]/.test(value.replace(/\[[^\]]*\]/g, '')) || /\]\+|^\.\*./.test(value)) return 'an odd pattern'
    const missing = piecesOf(value).find((piece) => !hasPiece(lower, piece.toLowerCase()))
    if (missing !== undefined) return `the request does not mention ${missing}`
    const isHidden = value === '.*' && /\bhidden\b/i.test(words)
    if (piecesOf(value).length === 0 && !words.includes(value) && !isHidden) return 'a pattern of marks'
    if (!/[*?[]/.test(value) && saysPart.test(words)) return 'a part of a name'
    if (!isHidden && !words.includes(value) && !sideAgrees(words, value)) return `${value} is said in another way`
    if (/^i/.test(name) !== /\bcase\b|case-?insens|insensitiv|regardless|upper|lower/i.test(words) && !/^i/.test(name))
      return 'case'
  }
  const patterns = testsOf(call)
    .filter(isNameTest)
    .map(({ value }) => value)
    .join(' ')
  const literals = [
    ...words.matchAll(/"([^"\s]+)"|'([^'\s]+)'|(?<![\w/])(\*?\.[a-z]\w{0,5})\b|(?<![\w.])(\w[\w-]*\.[a-z]\w{0,5})\b/gi),
  ]
  const all =
    `${patterns} ${call.roots.join(' ')} ${call.action.name === 'exec' ? call.action.words.join(' ') : ''}`.toLowerCase()
  const unknown = literals
    .map(([, a, b, c, d]) => (a ?? b ?? c ?? d ?? '').replace(/[.,;:]+$/, '').toLowerCase())
    .find(
      (literal) =>
        literal !== '' && !all.includes(literal.replace(/^\.\//, '')) && !all.includes(literal.replace(/\/$/, '')),
    )
  return unknown === undefined ? null : `the command does not mention ${unknown}`
}

function hasPiece(words: string, piece: string): boolean {
  return new RegExp(`(?<![a-z0-9])${piece.replace(/[^a-z0-9]/g, '\\$&')}(?![a-z0-9])`).test(words)
}

/** Whether "starts with", "ends in" and "contains" say where the stars are. */
function sideAgrees(words: string, pattern: string): boolean {
  const starts =
    /\b(?:start(?:s|ed)?|starting(?! (?:from|at|in))|begin(?:s|ning)?(?! (?:from|at|in))|prefix\w*|preced\w*)\b/i.test(
      words,
    )
  const ends = /\bend(?:s|ed|ing)?\b|\b(?:extensions?|suffix\w*)\b/i.test(words)
  const contains =
    /\b(?:contain\w*|includ\w*|match\w*|in (?:the|their|its|it) ?names?|having|has|have|with|substring|anywhere|string|pattern)\b/i.test(
      words,
    )
  const [open, close] = [pattern.startsWith('*'), pattern.endsWith('*')]
  const inner = pattern.replace(/^\*|\*$/g, '')
  if (/[*?[]/.test(inner)) return false
  if (open && close) return contains && !starts && !ends && /\bnames?\b|\bfilenames?\b|called|titled/i.test(words)
  if (close) return starts && !ends
  if (!open) return !starts && !contains && !(ends && !/extension/i.test(words))
  // `*.py`: "py files", ".py files", "ending in .py"; `*foo`: only what ends so.
  return inner.startsWith('.') ? !starts && !/\bcontain\w*\b/i.test(words) : ends && !starts
}

const units: Readonly<Record<string, RegExp>> = {
  c: /\bbytes?\b|\d+\s?b\b/i,
  k: /\bk\b|\d+\s?kb?\b|\bkb\b|\bkilobytes?\b|\bkib\b/i,
  M: /\d+\s?mb?\b|\bmb\b|\bmegabytes?\b|\bmib\b/i,
}

function sizeDisagreement(words: string, call: FindCall): string | null {
  for (const { name, value } of testsOf(call)) {
    if (name !== 'size' || /^0/.test(value)) continue
    const [, sign = '', count = '', unit = ''] = /^([+-]?)(\d+)([ckM])$/.exec(value) ?? []
    if (count === '' || !units[unit]?.test(words)) return 'a size in another unit'
    const more = /\b(?:larger|greater|more|bigger|over|above|exceed\w*|excess)\b/i.test(words)
    const less = /\b(?:less|smaller|under \d|below \d|fewer|lower)\b/i.test(words)
    if ((sign === '+') !== more || (sign === '-') !== less) return 'a size on another side'
    // `-size -2M` is a file of at most one megabyte: rounding, which no request means.
    if (sign === '-' && Number(count) < 4 && unit !== 'c') return 'a size that is rounded'
    if (Number(count) * { c: 1, k: 1024, M: 1024 * 1024 }[unit as 'c' | 'k' | 'M'] > 100 * 1024 * 1024)
      return 'a huge size'
  }
  return null
}

const numberWords = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/** Numbers are said on both sides, except a depth of one, which has other words. */
function numberDisagreement(words: string, call: FindCall, more: readonly number[]): string | null {
  const plain = words.replace(/"[^"]*"|'[^']*'|\S*[.*/]\S*/g, ' ')
  const said = new Set([...plain.matchAll(/(?<![\w.])(\d+)/g)].map(([, number]) => Number(number)))
  for (const [number, word] of numberWords.entries()) if (new RegExp(`\\b${word}\\b`, 'i').test(plain)) said.add(number)
  const sizes = testsOf(call).flatMap(({ name, value }) => (name === 'size' ? [Number(value.replace(/\D/g, ''))] : []))
  const names = testsOf(call)
    .filter(isNameTest)
    .map(({ value }) => value)
    .join(' ')
  const depths = [call.maxDepth, call.minDepth].filter((depth) => depth !== null)
  const perms = testsOf(call).flatMap(({ name, value }) =>
    name === 'perm' ? [Number(value), Number(value.replace(/^0/, ''))] : [],
  )
  const chmod =
    call.action.name === 'exec' ? call.action.words.filter((word) => /^0?[0-7]{3}$/.test(word)).map(Number) : []
  const used = new Set([
    ...sizes,
    ...perms,
    ...chmod,
    ...more,
    ...depths,
    ...depths.map((depth) => depth + 1),
    ...depths.map((depth) => depth - 1),
    ...[...names.matchAll(/\d+/g)].map(([n]) => Number(n)),
  ])
  const extra = [...said].find((number) => !used.has(number) && !(number === 1))
  if (extra !== undefined) return `the command does not use ${extra}`
  if (sizes.some((size) => !said.has(size) && size !== 0)) return 'a size that is not said'
  if (depths.some((depth) => depth > 1 && !said.has(depth))) return 'a depth that is not said'
  // "Two levels down" counts files or their folders.
  if (
    call.minDepth !== null &&
    call.minDepth > 1 &&
    !testsOf(call).some(({ name, value }) => name === 'type' && value === 'd')
  )
    return 'an unclear depth'
  if (call.minDepth !== null && !/depth|level|deep|below|sub/i.test(words)) return 'a depth that is not said'
  return null
}

/** Whether the words say how deep to look; otherwise what is found must not depend on it. */
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
