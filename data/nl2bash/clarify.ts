import { asksForFiles } from './agreement.ts'
import { type FindCall, isNameTest, testsOf } from './find.ts'
import type { Word } from './shell.ts'
import { isTime, timeNote, withoutTime } from './times.ts'

/** A call and its request again, with sentences that settle what the request leaves open. */
export interface Clarified {
  readonly call: FindCall
  readonly stage: readonly Word[]
  /** The words that the rest of the call has to match. */
  readonly words: string
  readonly notes: readonly string[]
}

/** Settles what a sentence can settle; null if words and command give different times. */
export function clarify(words: string, call: FindCall, stage: readonly Word[]): Clarified | null {
  const notes: string[] = []
  let rest = words
  const times = call.alternatives.flat().filter(isTime)
  if (times.length > 1 || (times.length > 0 && call.alternatives.length > 1)) return null
  for (const test of times) {
    const without = withoutTime(rest, test)
    if (without === null) return null
    rest = without
    notes.push(timeNote)
  }
  for (const { name, value } of call.alternatives.flat()) {
    const ending = name === 'name' || name === 'iname' ? /^\*\.(\w+)$/.exec(value)?.[1] : undefined
    const kind = ending === undefined ? undefined : kinds[ending]
    if (
      kind === undefined ||
      ending === undefined ||
      new RegExp(`\\b${ending}\\b`, 'i').test(rest) ||
      !kind.words.test(rest)
    )
      continue
    rest = rest.replace(kind.words, `*.${ending} files`)
    notes.push(`${kind.name} are those whose names end in \`.${ending}\`.`)
  }
  const note = 'Only regular files count, not directories.'
  if (!asksForFiles(rest, call))
    return { call, stage, words: rest, notes: leavesKindOpen(rest, call) ? [...notes, note] : notes }
  const tests = { name: 'type', value: 'f', negated: false }
  notes.push(note)
  return {
    ...{ words: rest.includes('file') ? rest : `${rest} files`, notes },
    call: { ...call, alternatives: call.alternatives.map((each) => [tests, ...each]) },
    stage: onlyFiles(stage, call),
  }
}

/** The command finds only files, and the request just says "files". */
function leavesKindOpen(words: string, call: FindCall): boolean {
  const isOnlyFiles = call.alternatives.every((tests) =>
    tests.some(({ name, value }) => name === 'type' && value === 'f'),
  )
  // A wanted name rules folders out; an excluded one does not.
  const isNamed = testsOf(call).some((test) => isNameTest(test) && !test.negated)
  return isOnlyFiles && !/\b(?:regular|normal)\b/i.test(words) && !isNamed
}

const kinds: Readonly<Record<string, { readonly name: string; readonly words: RegExp }>> = {
  txt: { name: 'Text files', words: /\btext files?\b/i },
  py: { name: 'Python files', words: /\bpython (?:source )?(?:files?|scripts?)\b/i },
  pl: { name: 'Perl files', words: /\bperl (?:source )?(?:files?|scripts?)\b/i },
  rb: { name: 'Ruby files', words: /\bruby (?:source )?(?:files?|scripts?)\b/i },
  sh: { name: 'Shell scripts', words: /\b(?:shell|bash) (?:files?|scripts?)\b/i },
  js: { name: 'JavaScript files', words: /\bjavascript (?:source )?(?:files?|scripts?)\b/i },
  conf: { name: 'Configuration files', words: /\bconfig(?:uration)? files?\b/i },
  h: { name: 'Header files', words: /\bheader files?\b/i },
  c: { name: 'C files', words: /\bc (?:source |program )?(?:code )?files?\b|\bc programs?\b/i },
  mp3: { name: 'Music files', words: /\bmusic files?\b/i },
  tmp: { name: 'Temporary files', words: /\btemp(?:orary)? files?\b/i },
}

/** The call with `-type f` before its tests. */
function onlyFiles(stage: readonly Word[], call: FindCall): readonly Word[] {
  let at = stage.findIndex(({ text }, nth) => nth > 0 && /^(?:-|!$|\($)/.test(text))
  if (at < 0) at = stage.length
  while (/^-(?:max|min)depth$/.test(stage[at]?.text ?? '')) at += 2
  const plain = (text: string): Word => ({ text, quoted: false })
  const isLoose = call.alternatives.length > 1 && !stage.some(({ text }) => text === '(')
  const tests = isLoose ? [plain('('), ...stage.slice(at), plain(')')] : stage.slice(at)
  return [...stage.slice(0, at), plain('-type'), plain('f'), ...tests]
}
