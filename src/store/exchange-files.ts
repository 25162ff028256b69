import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RefusedCall, ReplyMark } from '../core/agent.ts'
import { BoundaryError, blame, isAbort } from '../core/errors.ts'
import type { ModelClient, ModelFacts, ModelOutcome, ModelReply, ModelRequest } from '../core/model.ts'
import { wrapClient } from '../core/model-replies.ts'
import { exchangesName } from '../core/task-paths.ts'
import { exchangesLimitBytes } from '../formats/exchanges/exchange.ts'
import { ExchangeLog } from '../formats/exchanges/write-exchanges.ts'
import { type JsonLines, maskedJson, openJsonLines } from '../lib/jsonl.ts'

/** The `exchanges.jsonl` files of one trial, one per directory an agent works in. */
export interface ExchangeFiles {
  /** Wraps a client so that every completed call is in the directory's file before the agent sees the reply. */
  recorded(client: ModelClient, agentDir: string): ModelClient
  mark(agentDir: string, reply: Pick<ModelReply, 'call'>, mark: ReplyMark): void
  refused(agentDir: string, call: RefusedCall): void
  /** Waits for pending writes; later calls are no longer recorded. */
  close(): Promise<void>
}

/** Starts recording; every text passes through `mask` before it is written. */
export function openExchangeFiles(mask: (text: string) => string, log: (line: string) => void): ExchangeFiles {
  const files = new Map<string, ExchangeFile>()
  const fileOf = (dir: string) => {
    const file = files.get(dir) ?? new ExchangeFile(join(dir, exchangesName), mask, log)
    files.set(dir, file)
    return file
  }
  return {
    recorded: (client, dir) => recorded(client, fileOf(dir)),
    mark: (dir, { call }, mark) => fileOf(dir).mark(call, mark),
    refused: (dir, call) => fileOf(dir).refused(call),
    close: async () => {
      await Promise.all([...files.values()].map((file) => file.close()))
    },
  }
}

class ExchangeFile {
  private readonly log = new ExchangeLog()
  private lines: Promise<JsonLines> | null = null
  private bytes = 0
  private isClosed = false
  /** Read when the first line is written: by then the server has told us about its model. */
  factsOf: (() => ModelFacts) | null = null

  constructor(
    private readonly path: string,
    private readonly mask: (text: string) => string,
    private readonly say: (line: string) => void,
  ) {}

  /** Returns the number of the call, or null when the file is full or closed. */
  async reply(request: ModelRequest, reply: ModelReply): Promise<number | null> {
    const line = this.log.reply(request, reply)
    return (await this.write(line)) ? line.call : null
  }

  async failure(request: ModelRequest, code: string, message: string): Promise<void> {
    await this.write(this.log.failure(request, code, message))
  }

  mark(call: number | undefined, mark: ReplyMark): void {
    const line = this.log.mark(call, mark)
    // A write error surfaces at the next call or on closing.
    if (line) this.write(line).catch(() => {})
  }

  refused(call: RefusedCall): void {
    const line = this.log.refusal(call)
    if (line) this.write(line).catch(() => {})
  }

  async close(): Promise<void> {
    const more = this.log.moreRefused()
    if (more) this.write(more).catch(() => {})
    this.isClosed = true
    await (await this.lines)?.close()
  }

  private async write(line: object): Promise<boolean> {
    if (this.isClosed || this.bytes > exchangesLimitBytes) return false
    const text = this.masked(line)
    if (text === null) return false
    this.bytes += Buffer.byteLength(text) + 1
    if (this.bytes > exchangesLimitBytes) {
      this.say(`${exchangesName} ends here: it would exceed ${exchangesLimitBytes >> 20} MB`)
      return false
    }
    this.lines ??= this.open()
    const lines = await this.lines
    lines.appendText(text)
    await lines.flush()
    return true
  }

  private masked(line: object): string | null {
    try {
      return maskedJson(line, this.mask)
    } catch (error) {
      // Endlessly nested tools come from a black-box agent and must not fail the trial.
      if (!(error instanceof RangeError)) throw error
      this.say(`a call is missing in ${exchangesName}: its tools are nested too deeply`)
      return null
    }
  }

  /** Starts afresh: nothing left by an earlier try is continued. */
  private async open(): Promise<JsonLines> {
    await rm(this.path, { force: true })
    const lines = await openJsonLines(this.path)
    lines.append(this.log.head(this.factsOf?.()))
    return lines
  }
}

function recorded(client: ModelClient, file: ExchangeFile): ModelClient {
  file.factsOf = () => client.facts
  return wrapClient(client, async (request, options) => {
    // The agent may keep appending to the same message list, so copy what was actually asked.
    const asked = { ...request, messages: [...request.messages] }
    let outcome: ModelOutcome
    try {
      outcome = await client.complete(request, options)
    } catch (error) {
      await blame('store', () => file.failure(asked, ...causeOf(error)))
      throw error
    }
    if (outcome.kind !== 'reply') {
      await blame('store', () => file.failure(asked, ...limitOf(outcome)))
      return outcome
    }
    const { reply } = outcome
    const call = await blame('store', () => file.reply(asked, reply))
    return { kind: 'reply', reply: call === null ? reply : { ...reply, call } }
  })
}

/** A server's message may quote its key, so only the kind of failure is written down. */
function causeOf(error: unknown): [code: string, message: string] {
  if (isAbort(error)) return ['Aborted', 'the agent hung up or ran out of time']
  return [error instanceof BoundaryError ? error.code : 'ModelError', 'the call got no reply']
}

function limitOf(outcome: Exclude<ModelOutcome, { kind: 'reply' }>): [code: string, message: string] {
  if (outcome.kind === 'context-exceeded') return ['ContextLengthExceededError', outcome.message]
  return ['BudgetExceededError', `the budget of ${outcome.budget} is used up`]
}
