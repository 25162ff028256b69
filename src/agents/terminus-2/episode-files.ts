import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { blame } from '../../core/errors.ts'
import type { ModelReply, ModelRequest } from '../../core/model.ts'

/** Keeps what was asked in a turn before it is answered. */
export async function savePrompt(logsDir: string, episode: number, prompt: string): Promise<void> {
  await blame('store', async () => {
    const dir = join(logsDir, `episode-${episode}`)
    await mkdir(dir, { recursive: true })
    await writeFile(join(dir, 'prompt.txt'), prompt)
  })
}

/** What a call was, apart from the texts, for whoever looks into a strange reply. */
export interface CallFacts {
  readonly model: string
  readonly messages: number
  /** As it may be written down. */
  readonly request: Omit<ModelRequest, 'messages'>
}

/** Keeps what was answered. */
export async function saveReply(logsDir: string, episode: number, reply: ModelReply, facts: CallFacts): Promise<void> {
  const { text, tokens, ...rest } = reply
  const debug = { ...facts, reply: { ...rest, chars: text.length, tokenIds: tokens?.completionIds?.length ?? null } }
  await blame('store', async () => {
    const dir = join(logsDir, `episode-${episode}`)
    await Promise.all([
      writeFile(join(dir, 'response.txt'), text),
      writeFile(join(dir, 'debug.json'), `${JSON.stringify(debug, null, 2)}\n`),
    ])
  })
}
