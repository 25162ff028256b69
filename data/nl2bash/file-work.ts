import type { Random } from 'ot-agent'
import type { AnswerKind } from './answers.ts'
import { vocabulary } from './globs.ts'
import type { Word } from './shell.ts'
import type { Work } from './work.ts'
import { makeWorkspace } from './workspace.ts'

/**
 * A program that changes files: what its request has to mention, its options that make no difference here, and what it
 * needs.
 */
interface Changer {
  readonly words: RegExp
  readonly options: RegExp
  readonly kind: AnswerKind
  /** Puts what the operands need into the folder; false if they make no sense. */
  readonly prepare: (operands: readonly string[], put: Put) => boolean
}

interface Put {
  readonly file: (path: string) => void
  readonly dir: (path: string) => void
}

const parentOf = (path: string) => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')
const mode = /^(?:[0-7]{3,4}|[ugoa]*[+=-][rwx]+)$/

/** A source file and a destination. */
const prepareFromTo: Changer['prepare'] = ([from, to, ...rest], put) => {
  if (from === undefined || to === undefined || rest.length > 0) return false
  put.file(from)
  if (to.endsWith('/')) put.dir(to.slice(0, -1))
  else if (parentOf(to) !== '') put.dir(parentOf(to))
  return true
}

const changers: Readonly<Record<string, Changer>> = {
  mkdir: {
    words:
      /\b(?:mak\w*|creat\w*) (?:an? |the |all |new |empty |sub)*(?:director(?:y|ies)|folders?|sub-?director\w*|parent)|\bmkdir\b/i,
    options: /^-(?:p|v|pv)$/,
    kind: 'state',
    prepare: (operands, put) => {
      for (const path of operands)
        if (parentOf(path) !== '' && operands.every((other) => other !== parentOf(path))) put.dir(parentOf(path))
      return operands.length > 0
    },
  },
  touch: {
    words: /\b(?:creat\w*|mak\w*)\b.*\bfiles?\b/i,
    options: /^$/,
    kind: 'state',
    prepare: (operands, put) => {
      for (const path of operands) if (parentOf(path) !== '') put.dir(parentOf(path))
      return operands.length > 0
    },
  },
  rm: {
    words: /\b(?:delet\w*|remov\w*)\b/i,
    options: /^-f$/,
    kind: 'state',
    prepare: (operands, put) => {
      for (const path of operands) put.file(path)
      return operands.length > 0
    },
  },
  mv: {
    words: /\b(?:renam\w*|mov\w*)\b/i,
    options: /^-(?:f|v|n|vn|nv)$/,
    kind: 'state',
    prepare: prepareFromTo,
  },
  cp: {
    words: /\bcop(?:y|ies|ied)\b/i,
    options: /^-(?:f|v|n|i)$/,
    kind: 'state',
    prepare: prepareFromTo,
  },
  ln: {
    words: /\b(?:sym(?:bolic)?|soft)[ -]?link|\bsymlink/i,
    options: /^-(?:s|sf|fs|sv)$/,
    kind: 'state',
    prepare: ([target, name, ...rest], put) => {
      // In another folder, the link would have to give its target relative to that folder.
      if (target === undefined || name === undefined || rest.length > 0 || name.includes('/')) return false
      put.file(target)
      return true
    },
  },
  chmod: {
    words: /\b(?:permission\w*|executable|writable|readable|mode)\b/i,
    options: /^-v$/,
    kind: 'modes',
    prepare: ([first, ...paths], put) => {
      if (!mode.test(first ?? '') || /^0?640$/.test(first ?? '')) return false
      for (const path of paths) put.file(path)
      return paths.length > 0
    },
  },
}

const beyond =
  /\b(?:home|recursive\w*|verbos\w*|print\w*|backup|back up|unless|if|except|not|without|interactiv\w*|prompt\w*|ask\w*|hidden|owner|group|others?|time\w*|date|remote|all files|every|each|root|relative|hard|size|temporary|random|fail\w*|succe\w*|error\w*|then|script|run|execut(?:e|es|ed|ing)|users?|preserv\w*|overwrit\w*|existing|exists?|already|update\w*|display\w*|permission 0|with permissions?)\b/i

/** A request to make, move, copy, link or remove things it names; null if the command does something else. */
export function readFileWork(words: string, pipe: readonly (readonly Word[])[], random: Random): Work | null {
  const [stage = [], ...rest] = pipe
  const [program = '', ...args] = stage.map(({ text }) => text)
  const changer = Object.hasOwn(changers, program) ? changers[program] : undefined
  if (!changer || rest.length > 0 || !changer.words.test(words)) return null
  const options = args.filter((arg) => /^-./.test(arg) && !mode.test(arg))
  const operands = args.filter((arg) => !options.includes(arg))
  const names = program === 'chmod' ? operands.slice(1) : operands
  if (options.some((option) => !changer.options.test(option)) || (program === 'ln' && options.length === 0)) return null
  if (names.some((name) => !/^[\w.+@%=, -]+(?:\/[\w.+@%=, -]+)*\/?$/.test(name) || /^\.{1,2}$/.test(name))) return null
  const said = (name: string) =>
    new RegExp(`(?<![\\w./-])(?:\\./)?${name.replace(/\/$/, '').replace(/\W/g, '\\$&')}/?(?![\\w/-]|\\.\\w)`).test(
      words,
    )
  const bare = words
    .replace(/"[^"]*"|'[^']*'|[\w-]*[./][\w./-]*/g, ' ')
    .replace(
      /\bif (?:it|they|needed|any|none|missing)\b.*$|\bas (?:needed|required|necessary)\b|\bdo not error if (?:it|they|any) exists?\b|\bwithout (?:error|complain)\w*\b.*$|\band any necessary parent\w*\b/gi,
      ' ',
    )
  if (
    !names.every(said) ||
    beyond.test(bare) ||
    (program === 'chmod' && (!modeAgrees(words, operands[0] ?? '') || /\b(?:director\w*|folders?)\b/i.test(bare)))
  )
    return null
  const quoted = [...words.matchAll(/"([^"]+)"|'([^']+)'/g)].map(([, a, b]) => (a ?? b ?? '').replace(/^\.\/|\/$/g, ''))
  if (quoted.some((name) => !args.some((arg) => arg.replace(/^\.\/|\/$/g, '') === name))) return null
  if (
    program === 'ln' &&
    !new RegExp(`\\b(?:named|called|at|in|as)\\b[^"']*["']?${(operands[1] ?? '').replace(/\W/g, '\\$&')}`).test(words)
  )
    return null
  const workspace = makeWorkspace(random)
  const put: Put = {
    file: (path) => workspace.addAt('', { kind: 'file', name: path.replace(/\/$/, ''), size: null }),
    dir: (path) => workspace.addDir(path),
  }
  if (program === 'mv' || program === 'cp') {
    const [, to = ''] = operands
    const name = to.replace(/\/$/, '').replace(/\W/g, '\\$&')
    const isFolder = new RegExp(
      `\\b(?:to|into|in|under|inside) (?:the |an? )?(?:existing )?(?:director(?:y|ies)|folder) ["']?${name}\\b|\\b(?:to|into|in|under|inside) (?:the )?["']?${name}/?["']? (?:directory|folder)\\b`,
      'i',
    ).test(words)
    if (isFolder) put.dir(to.replace(/\/$/, ''))
    else if (/\b(?:director\w*|folders?)\b/i.test(words)) return null
  }
  if (!changer.prepare(names.length < operands.length ? operands : names, put)) return null
  for (let nth = 0; nth < 4; nth++)
    workspace.add('', 1 + random.below(2), { kind: 'file', name: `${random.pick(vocabulary)}.txt`, size: null })
  return {
    answer: { kind: changer.kind, roots: [] },
    notes: /^a?\+x$/.test(operands[0] ?? '') ? ['Owner, group and others get the permission.'] : [],
    workspace: workspace.finish({ fileMode: changer.kind === 'modes' ? '640' : null }),
  }
}

/** The request gives the mode as the command does, or describes a simple one in words. */
function modeAgrees(words: string, given: string): boolean {
  if (words.includes(given)) return true
  if (/^0?[0-7]{3}$/.test(given)) return false
  return (
    /^a?\+x$/.test(given) &&
    /\bexecutable\b|\bexecut\w+ permission/i.test(words) &&
    !/\b(?:user|group|owner|everyone|others?)\b/i.test(words)
  )
}
