import type { Random } from 'ot-agent'
import { vocabulary } from './globs.ts'
import type { Word } from './shell.ts'

/** Replaces variables that both request and command mention with names of folders or files. */
export function nameVariables(nl: string, bash: string, random: Random): [string, string] {
  const command = bash.replace(/^find "?\$\{?HOME\}?"?(?=[/\s])/, 'find ~')
  const names = [...new Set([...command.matchAll(/\$\{?([A-Za-z_]\w*)\}?/g)].flatMap(([, name]) => name ?? []))]
  if (
    names.length === 0 ||
    names.length > 2 ||
    /\bvariables?\b|\bargument|\bparameter|\bscript|\bexpan|\bshell|\bvalue/i.test(nl)
  )
    return [nl, command]
  const folders = random.shuffle([...vocabulary])
  let [words, line] = [nl, command]
  for (const [nth, name] of names.entries()) {
    const all = new RegExp(`\\$(?:${name}\\b|\\{${name}\\})`, 'g')
    if (!all.test(words)) return [nl, command]
    words = words.replace(all, folders[nth] ?? name)
    line = line.replace(all, folders[nth] ?? name)
  }
  return [words, line]
}

const wholeSystem =
  /(?:\b(?:in|on|of|under|from|across|throughout|over|within|starting (?:from|at))\s+)?(?:\b(?:the|your|my|this|a)\s+)?\b(?:(?:entire|whole|complete|full|linux|unix)\s+)*(?:file ?system|(?<=\b(?:the|entire|whole|your) )system|root (?:directory|folder|dir)|hard drive|computer)(?:\s+tree)?\b|\b(?:in|under|from|of|at|starting (?:from|at))\s+(?:the\s+)?(?:root\s+)?"?'?\/"?'?(?=\s|$|,|\.)(?:\s+(?:directory|folder|dir|root))?(?:\s+tree)?/gi

/** The whole file system becomes this folder, and the home directory a folder in it. */
export function fromHere(words: string, pipe: readonly Word[][]): [string, Word[][]] {
  const roots = pipe[0]?.map(({ text }) => text) ?? []
  if (roots[0] === 'find' && roots[1] === '/') {
    const changed = words
      .replace(wholeSystem, 'in the current directory tree')
      .replace(/\b(?:in|under) in the/g, 'in the')
    return [
      changed,
      pipe.map((stage, nth) =>
        nth === 0 ? stage.map((word, at) => (at === 1 ? { ...word, text: '.' } : word)) : stage,
      ),
    ]
  }
  if (roots[0] === 'find' && /^~\/?$/.test(roots[1] ?? '') && homeOf.test(words)) {
    return [
      words.replace(homeOf, 'directory home'),
      pipe.map((stage, nth) =>
        nth === 0 ? stage.map((word, at) => (at === 1 ? { ...word, text: 'home' } : word)) : stage,
      ),
    ]
  }
  return [words, [...pipe]]
}

const homeOf =
  /\b(?:(?:the|your|my|our|his|a|current)\s+)*(?:user(?:'s|s)?\s+)?home\s+(?:directory|folder|dir)\b(?:\s+of (?:the )?current user)?|~/i

/** Turns paths from elsewhere that both request and command mention into paths in the folder. */
export function moveInside(words: string, pipe: readonly Word[][]): { words: string; pipe: Word[][] } | null {
  let text = words
  let ok = true
  const moved = pipe.map((stage, nth) =>
    stage.map((word, at): Word => {
      const isPattern = /^-(?:i?path|i?wholename|i?regex|e|F)$/.test(stage[at - 1]?.text ?? '')
      if (at === 0 || !/^~?\//.test(word.text) || (nth === 0 && isPattern)) return word
      const from = word.text.replace(/\/+$/, '')
      const to = from.replace(/^~?\/+/, '')
      const whole = new RegExp(`(?<![\\w/.~-])${from.replace(/[^\w]/g, '\\$&')}/?(?![\\w/-]|\\.\\w)`, 'g')
      if (to === '' || /[*?[\]]/.test(to) || !whole.test(text)) ok = false
      text = text.replace(whole, to)
      return { ...word, text: to }
    }),
  )
  // Whatever still looks like a path from elsewhere appears only in the request.
  if (
    !ok ||
    /(?<![\w.*])~?\/(?:\w|\s|$)|\.\.\//.test(text) ||
    moved.flat().some((word) => /^\.\.(?:\/|$)|\/\.\.(?:\/|$)/.test(word.text))
  )
    return null
  return { words: text, pipe: moved }
}
