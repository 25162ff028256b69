import type { Random } from 'ot-agent'
import { readFileWork } from './file-work.ts'
import { readFindWork } from './find-work.ts'
import { fromHere, moveInside, nameVariables } from './move-inside.ts'
import { parsePipe, plainMarks, renderPipe, type Word } from './shell.ts'
import { readTextWork } from './text-work.ts'
import { type Refusal, refuse, type Work } from './work.ts'

/** A row turned into a request with a command that answers it in a folder. */
export interface ReadTask extends Omit<Work, 'stage'> {
  readonly request: string
  readonly command: string
}

/** Reads a row, or says why it cannot be used. */
export function readTask(nl: string, bash: string, minWords: number, random: Random): ReadTask | Refusal {
  const [given, told] = nameVariables(plainMarks(nl.trim()), plainMarks(bash.trim()), random)
  const line = told
    .replace(/\s*2>\s*\/dev\/null$/, '')
    .replace(/^\$\s+/, '')
    .replace(/\s*;$/, (end) => (/\\;$/.test(bash.trim()) ? end : ''))
  const words = given.replace(/\s+/g, ' ')
  if (line === '' || line.length > 400 || /[\r\n]/.test(line) || /[^\x20-\x7e]/.test(line)) return refuse('odd-command')
  if (words.length < 12 || /[$`<>|]|\\(?!\*)|[^\x20-\x7e]|\ball-cased\b|^This /.test(words))
    return refuse('odd-request')
  const parsed = parsePipe(line)
  if (parsed === null) return refuse('more-than-a-pipe')
  if (parsed.flat().length < minWords) return refuse('too-simple')
  const moved = moveInside(...fromHere(words, simplify(words, parsed)))
  if (moved === null) return refuse('leaves-the-folder')
  const read =
    parsed[0]?.[0]?.text === 'find'
      ? readFindWork(moved.words, moved.pipe, random)
      : readOther(moved.words, moved.pipe, random)
  if ('drop' in read) return read
  const pipe = 'stage' in read && read.stage ? [read.stage, ...moved.pipe.slice(1)] : moved.pipe
  const shown =
    pipe.length > 1
      ? pipe
      : pipe.map((stage) => stage.map((word) => (word.text === '-print0' ? { ...word, text: '-print' } : word)))
  const request = moved.words.replace(/^[a-z]/, (letter) => letter.toUpperCase()).replace(/[\s.]*$/, '.')
  return { ...read, request, command: renderPipe(shown) }
}

function readOther(words: string, pipe: readonly (readonly Word[])[], random: Random): Work | Refusal {
  return readFileWork(words, pipe, random) ?? readTextWork(words, pipe, random) ?? refuse('other-program')
}

/** Turns a listing of what was found into a list of paths, unless the request asks for more. */
function simplify(words: string, pipe: readonly Word[][]): Word[][] {
  const [first = [], second, ...rest] = pipe
  if (
    first[0]?.text !== 'find' ||
    /\b(?:long|detail\w*|info\w*|permission\w*|attribut\w*|sizes? of|content\w*|with (?:their|its|the) sizes?)\b/i.test(
      words,
    )
  )
    return [...pipe]
  const texts = first.map(({ text }) => text)
  const listing = /^(?:\/bin\/)?ls(?: -(?:l|ld|d|la|al|1|lh|lah|ltr|a|lad|ldh|dl))*(?: \{\})?$/
  if (
    second &&
    rest.length === 0 &&
    second[0]?.text === 'xargs' &&
    listing.test(
      second
        .slice(1)
        .map(({ text }) => text)
        .filter((text) => !/^-(?:0|r|n1|I\{\})$/.test(text))
        .join(' '),
    )
  )
    return isAboutFiles(texts) ? [first] : [...pipe]
  if (second && rest.length === 0 && /^(?:less|more)$/.test(second[0]?.text ?? '') && second.length === 1)
    return [first]
  if (second) return [...pipe]
  const at = texts.findIndex((text) => /^-(?:ls|exec)$/.test(text))
  const tail = texts.slice(at + 1)
  if (at < 0) return [...pipe]
  const isListing =
    texts[at] === '-ls'
      ? tail.length === 0
      : (listing.test(tail.slice(0, -1).join(' ')) && isAboutFiles(texts)) || /^echo \{\} ;$/.test(tail.join(' '))
  return isListing ? [first.slice(0, at)] : [...pipe]
}

const isAboutFiles = (texts: readonly string[]) =>
  !texts.includes('d') && !(texts.includes('-type') && !texts.includes('f'))

/** Judged by the structure of the command: how many parts have to be combined. */
export function difficultyOf(command: string): 'easy' | 'medium' | 'hard' {
  const parts = command.split(/ \| /).length - 1
  const tests = [
    ...command.matchAll(/ -(?:name|iname|type|size|path|empty|maxdepth|mindepth|exec|o|not|delete)\b| '!'/g),
  ].length
  const points = parts * 2 + tests + (/\b(?:awk|sed)\b/.test(command) ? 2 : 0)
  return points <= 2 ? 'easy' : points <= 4 ? 'medium' : 'hard'
}
