import { readFileSync } from 'node:fs'
import { type Answer, replies } from './told-client.ts'

type Recorded = { readonly finish: 'stop' | 'length'; readonly text: string }

const recorded = JSON.parse(readFileSync(`${import.meta.dirname}/../fixtures/smollm2-replies.json`, 'utf8')) as {
  readonly replies: Readonly<Record<string, Recorded>>
}

/** A recorded reply from a small real model; the file names its source. */
export function recordedReply(name: string): Recorded {
  const found = recorded.replies[name]
  if (!found) throw new Error(`no reply ${name} was recorded`)
  return found
}

/** The same as a client's answer. */
export function realReply(name: string): Answer {
  const { text, finish } = recordedReply(name)
  return replies(text, { finish })
}
