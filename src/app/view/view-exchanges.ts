import type { ChatMessage } from '../../core/model.ts'
import { exchangesName } from '../../core/task-paths.ts'
import type { ViewCall, ViewCalls, ViewExchange, ViewMessage } from '../../core/view.ts'
import { exchangesLimitBytes, messageOfReply } from '../../formats/exchanges/exchange.ts'
import { type Exchange, type Exchanges, readExchanges } from '../../formats/exchanges/read-exchanges.ts'
import { NotHere } from './library-job.ts'
import { openInside, readPlace } from './trial-dir-files.ts'
import { cutText } from './view-steps.ts'

/** Reads what models were sent and replied. The file read last stays in memory. */
export class ExchangeReader {
  private last: Promise<Exchanges> | null = null
  private lastKey = ''

  /** All model calls of a trial. `folder` is the agent's folder below the trial's directory. */
  async calls(dir: string, folder: string): Promise<ViewCalls> {
    const { threads, cut } = await this.read(dir, folder)
    const calls = threads
      .flatMap(({ conversation, calls: inThread }) => inThread.map((call) => callOf(call, conversation)))
      .sort((a, b) => a.call - b.call)
    return { calls, trouble: cut }
  }

  async exchange(dir: string, folder: string, number: number): Promise<ViewExchange> {
    for (const { conversation, calls } of (await this.read(dir, folder)).threads) {
      const found = calls.find(({ call }) => call === number)
      if (!found) continue
      return {
        ...callOf(found, conversation),
        sent: found.sent.map(({ message }) => viewMessage(message)),
        reply: viewMessage(messageOfReply(found.reply)),
        tools: found.tools.map(({ name }) => name),
      }
    }
    throw new NotHere(`there is no call ${number}`)
  }

  private async read(dir: string, folder: string): Promise<Exchanges> {
    const path = `${folder}/${exchangesName}`
    const file = await openInside(dir, path)
    try {
      const { size, mtimeMs, ino } = await file.stat()
      const key = `${dir}\0${path}\0${ino} ${size} ${mtimeMs}`
      if (this.lastKey !== key || this.last === null) {
        this.lastKey = key
        this.last = readPlace(file, 0, Math.min(size, exchangesLimitBytes)).then(readExchanges)
      }
      return await this.last
    } finally {
      await file.close()
    }
  }
}

function callOf({ call, timestamp, reply }: Exchange, conversation: string): ViewCall {
  const { usage, latencyMs, finish } = reply
  const { inputTokens, outputTokens } = usage
  return { call, timestamp, conversation, inputTokens, outputTokens, latencyMs, finish }
}

function viewMessage({ role, content, reasoning, toolCalls }: ChatMessage): ViewMessage {
  return {
    role,
    text: cutText(content),
    reasoning: reasoning ? cutText(reasoning) : null,
    toolCalls: (toolCalls ?? []).map(({ name, arguments: text }) => ({ name, text: cutText(text) })),
  }
}
