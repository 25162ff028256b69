import type { Found, LeftAlone, Pinnable, Question } from './find.ts'
import { isVersion, type Versions } from './versions.ts'

/** What a sandbox reported: the answer to each question, and the digests of images by name. Null if unknown. */
export interface Known {
  readonly versions: (question: Question) => Versions | null
  readonly digest: (image: string) => string | null
}

/** Something that gets an exact version. */
export interface Pin {
  readonly pinnable: Pinnable
  readonly version: string
}

/** Decides which version to pin each item to; unknown or invalid versions are left alone. */
export function decidePins({ pinnable, left }: Found, known: Known): { pins: Pin[]; left: LeftAlone[] } {
  const pins: Pin[] = []
  const more: LeftAlone[] = []
  for (const wanted of pinnable) {
    const { manager, written, line, name, question } = wanted
    const answer = question && known.versions(question)
    const version = question ? answer?.get(name) : known.digest(name)
    if (version && isVersion(manager, version)) pins.push({ pinnable: wanted, version })
    else
      more.push({ manager, written, line, why: question ? whyNot(question, answer) : 'its digest is not known here' })
  }
  return { pins, left: [...left, ...more].sort((a, b) => a.line - b.line) }
}

function whyNot({ argv }: Question, answer: Versions | null | undefined): string {
  return answer ? 'not installed under this name' : `${argv[0]} did not report what is installed`
}

/** The Dockerfile with the versions inserted; every other byte stays the same. */
export function renderPinned(text: string, pins: readonly Pin[]): string {
  const pieces: string[] = []
  let done = 0
  for (const { pinnable, version } of [...pins].sort((a, b) => a.pinnable.edit.start - b.pinnable.edit.start)) {
    const { start, end, mark } = pinnable.edit
    pieces.push(text.slice(done, start), mark, version)
    done = end
  }
  return pieces.join('') + text.slice(done)
}

/** Describes what a pinned word became. */
export function renderPin({ pinnable, version }: Pin): string {
  const [before, after] = pinnable.kept
  return `${before}${pinnable.edit.mark}${version}${after}`
}
