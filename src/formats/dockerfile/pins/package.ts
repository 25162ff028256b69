import type { Manager } from './install.ts'
import type { ShellWord } from './shell.ts'

/** What a word requests from a manager. `start` to `end` is the part that an exact version replaces. */
export type Package =
  | { readonly kind: 'loose'; readonly name: string; readonly start: number; readonly end: number }
  | { readonly kind: 'pinned' }
  | { readonly kind: 'other'; readonly why: string }

/** Real package words are never longer. */
const longestWord = 300

/** Parses a word of an install command. */
export function readPackage(manager: Manager, word: ShellWord): Package {
  if (/[$`]/.test(word.value) && word.dynamic) return other('a variable of the shell')
  if (word.dynamic) return other('a pattern')
  if (word.value.length > longestWord) return other('not a plain name')
  return readers[manager](word.value)
}

const readers: Record<Manager, (value: string) => Package> = { apt: readApt, pip: readPip, npm: readNpm }

/** `name`, `name:arch`, `name=version`, `name/release`, `name-`. */
function readApt(value: string): Package {
  if (value.includes('/')) return other(/^\.{0,2}\//.test(value) ? 'a file' : 'a release')
  const [, name, version] = /^([a-z0-9][a-z0-9+.-]*(?::[a-z0-9-]+)?)(=.*)?$/s.exec(value) ?? []
  if (name === undefined) return other('not a plain name')
  if (name.endsWith('-')) return other('a package to remove')
  if (version === undefined) return loose(name, value.length, value.length)
  return version.includes('*') ? loose(name, name.length, value.length) : { kind: 'pinned' }
}

const requirement =
  /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[A-Za-z0-9._,\s-]*\])?\s*([^;@\s][^;@]*)?(\s*;.*)?$/s

/** `name`, `name[extra]`, `name>=1,<2`, `name==1.2`, optionally with `; marker`. */
function readPip(value: string): Package {
  if (/^[a-z+]+:\/\/|^git\+|^[\w.[\],\s-]+@/i.test(value)) return other('an address')
  if (/[/\\]|^\.|\.(whl|zip|tar\.\w+|tgz)$/.test(value.replace(/;.*$/s, ''))) return other('a file')
  const match = requirement.exec(value)
  const name = match?.[1]
  if (!match || name === undefined) return other('not a plain requirement')
  const [, , extras = '', specifier = '', marker = ''] = match
  if (/^={2,3}\s*[^*,\s]+\s*$/.test(specifier)) return { kind: 'pinned' }
  if (specifier !== '' && !/^[<>=!~]=?/.test(specifier)) return other('not a plain requirement')
  return loose(pipKey(name), extras === '' ? name.length : value.indexOf(']') + 1, value.length - marker.length)
}

/** Python package names that differ only in case and punctuation are the same. */
export function pipKey(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-')
}

/** `name`, `@scope/name`, optionally with `@range`. */
function readNpm(value: string): Package {
  const [, name, range] = /^((?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*)(@.*)?$/is.exec(value) ?? []
  if (name === undefined) return other(/^[./]|:/.test(value) ? 'a file or an address' : 'not a plain name')
  if (range === undefined) return loose(name, value.length, value.length)
  if (/^@\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(range)) return { kind: 'pinned' }
  return /^@[\w.^~<>=|*\s-]*$/.test(range) ? loose(name, name.length, value.length) : other('a file or an address')
}

function loose(name: string, start: number, end: number): Package {
  return { kind: 'loose', name, start, end }
}

function other(why: string): Package {
  return { kind: 'other', why }
}
