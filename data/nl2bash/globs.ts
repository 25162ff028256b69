import type { Random } from 'ot-agent'

/** Words for names of files and folders; requests use none of them. */
export const vocabulary =
  'amber basil cedar delta ember fjord garnet hazel indigo juniper kelp lotus maple nectar onyx pepper quartz raven saffron tulip umber velvet willow yarrow zephyr'.split(
    ' ',
  )

/** A file name pattern as a regular expression. */
export function globRegExp(pattern: string, flags = ''): RegExp | null {
  const source = pattern.replace(/\[!?[^\]]+\]|[\s\S]/g, (part) => {
    if (part === '*') return '.*'
    if (part === '?') return '.'
    if (part.length > 1) return part.replace(/^\[!/, '[^').replaceAll('\\', '\\\\')
    return part.replace(/[\\^$.|+()[\]{}]/g, '\\$&')
  })
  try {
    return new RegExp(`^${source}$`, flags)
  } catch {
    return null
  }
}

/** A name that a pattern matches. */
export function nameFor(pattern: string, random: Random): string | null {
  const name = pattern.replace(/\[[^\]]+\]|[*?]/g, (part) => {
    if (part === '*') return random.pick(vocabulary)
    if (part === '?') return random.pick(['a', 'b', 'k', 'x', '7'])
    return memberOf(part, random)
  })
  return globRegExp(pattern)?.test(name) && /^[\w. +@,=%-]+$/.test(name) ? name : null
}

function memberOf(set: string, random: Random): string {
  const inside = set.slice(1, -1)
  const isNegated = /^[!^]/.test(inside)
  const members = (isNegated ? inside.slice(1) : inside)
    .replace(/\[:(\w+):\]/g, '')
    .replace(/(\w)-(\w)/g, (_, from: string, to: string) => rangeOf(from, to))
  const from = isNegated ? [...'qzk83'].filter((char) => !members.includes(char)) : [...members]
  return from.length > 0 ? random.pick(from) : ''
}

function rangeOf(from: string, to: string): string {
  const [first, last] = [from.charCodeAt(0), to.charCodeAt(0)]
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => String.fromCharCode(first + i)).join('')
}

/** The fixed pieces of a pattern, without punctuation at the ends: what a request has to mention. */
export function piecesOf(pattern: string): string[] {
  return pattern
    .split(/[*?/]|\[[^\]]*\]/)
    .map((piece) => piece.replace(/^[.\W_]+|[.\W_]+$/g, ''))
    .filter((piece) => piece !== '')
}
