import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { blame } from '../../core/errors.ts'
import type { ModelReply, ModelRequest } from '../../core/model.ts'
import { maskedJson } from '../../lib/jsonl.ts'
import { readJson } from '../../lib/parse-json.ts'

/** A call's details besides its texts, for investigating a strange reply. */
export interface CallFacts {
  readonly model: string
  readonly messages: number
  /** The request in a form that may be recorded. */
  readonly request: Omit<ModelRequest, 'messages'>
}

/** Records what was asked and answered in every turn as it happens, without the trial's secrets. */
export class EpisodeFiles {
  private last: Promise<void> = Promise.resolve()

  constructor(
    private readonly logsDir: string,
    private readonly mask: (text: string) => string,
  ) {}

  prompt(episode: number, text: string): void {
    this.queue(async () => {
      await mkdir(this.dir(episode), { recursive: true })
      await writeFile(join(this.dir(episode), 'prompt.txt'), this.mask(text))
    })
  }

  reply(episode: number, { text, tokens, ...rest }: ModelReply, facts: CallFacts): void {
    const debug = { ...facts, reply: { ...rest, chars: text.length, tokenIds: tokens?.completionIds?.length ?? null } }
    this.queue(async () => {
      await writeFile(join(this.dir(episode), 'response.txt'), this.mask(text))
      const shown = JSON.stringify(readJson(maskedJson(debug, this.mask)), null, 2)
      await writeFile(join(this.dir(episode), 'debug.json'), `${shown}\n`)
    })
  }

  /** Waits until everything is on disk; throws any error. */
  written(): Promise<void> {
    return blame('store', () => this.last)
  }

  private dir(episode: number): string {
    return join(this.logsDir, `episode-${episode}`)
  }

  private queue(work: () => Promise<void>): void {
    this.last = this.last.then(work)
    // A caller that waits for `written` gets the error.
    this.last.catch(() => {})
  }
}
