import { type WordFile, wordFileOf, wordFiles, wordsOf } from '../../../core/view-words.ts'
import type { Writer } from './export-job.ts'

/** Only the words in the beginning of a row can be found. */
const mostChars = 1_000_000
/** How many rows' words are buffered before writing. */
const partRows = 500

/** Writes a word index of rows, for searching without a server. */
export class ExportedWords {
  parts = 0
  private rows = 0
  private files = emptyFiles()

  constructor(
    private readonly dataset: string,
    private readonly writer: Writer,
  ) {}

  async add(number: number, text: string): Promise<void> {
    // Removed text must not be findable either.
    for (const word of wordsOf(this.writer.scrub.text(text.slice(0, mostChars)))) {
      const file = this.files[wordFileOf(word)]
      const known = file?.get(word)
      if (known) known.push(number)
      else file?.set(word, [number])
    }
    this.rows++
    if (this.rows === partRows) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.rows === 0) return
    for (const [i, file] of this.files.entries()) {
      const content: WordFile = Object.fromEntries(file)
      await this.writer.json(['data', this.dataset, 'words', String(this.parts), String(i)], content)
    }
    this.parts++
    this.rows = 0
    this.files = emptyFiles()
  }
}

function emptyFiles(): Map<string, number[]>[] {
  return Array.from({ length: wordFiles }, () => new Map())
}
