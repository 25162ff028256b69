import type { ModelReply, ModelRequest } from '../../../core/model.ts'
import { utcNow } from '../../../lib/time.ts'
import { openJournal, type TrajectoryJournal } from '../journal.ts'
import { commonLength, continuationOf, indexAfter } from './conversation.ts'
import { type RecordedAgent, Thread } from './thread.ts'

/** What is recorded about one call, however it ends. */
export interface RecordedCall {
  reply(reply: ModelReply): void
  fail(code: string, message: string): void
}

/** Records an agent's calls into its trajectory as they happen. */
export interface CallRecorder {
  begin(request: ModelRequest): RecordedCall
  /** Whether an agent said more than is recorded for one trial; no more calls should then be made for it. */
  isFull(): boolean
  /** Renders the trajectories; returns the names of their files. */
  finish(): Promise<readonly string[]>
}

const mainFile = 'trajectory.json'
/** More than agents say in the longest trials; each message counts once, however often it is sent. */
const limits = { chars: 64 << 20, threads: 2000 }

/**
 * Starts recording into a directory. The conversation with tools becomes `trajectory.json`; when its history is
 * rewritten, it continues in `trajectory.cont-N.json`; other calls become `trajectory.side-N.json`. Every text passes
 * through `mask` before it is written.
 */
export async function openCallRecorder(
  dir: string,
  agent: RecordedAgent,
  mask: (text: string) => string,
): Promise<CallRecorder> {
  const journal = await openJournal(dir, mask)
  const threads = new Threads(journal, agent)
  return {
    begin(request) {
      const { thread, again } = threads.follow(request)
      return {
        reply: (reply) => thread.reply(request.messages, reply, again),
        fail: (code, message) => thread.fail({ code, message, timestamp: utcNow() }),
      }
    },
    isFull: () => threads.isFull(),
    async finish() {
      threads.close()
      return journal.finish()
    },
  }
}

/** An agent's conversations, one of which is the main one. */
class Threads {
  private readonly all: Thread[] = []
  private main: Thread | null = null
  private conts = 0
  private sides = 0

  constructor(
    private readonly journal: TrajectoryJournal,
    private readonly agent: RecordedAgent,
  ) {}

  /** Finds the conversation that a request continues, the longest one that fits, or starts a new one. */
  follow(request: ModelRequest): { thread: Thread; again: boolean } {
    const fitting = this.all.flatMap((thread) => {
      const on = continuationOf(thread.known, request.messages)
      return on === null ? [] : [{ thread, on }]
    })
    const longest = Math.max(...fitting.map(({ thread }) => thread.known.length))
    const found = fitting.findLast(({ thread }) => thread.known.length === longest)
    if (!found) return { thread: this.open(request), again: false }
    found.thread.hear(request.messages, found.on.newFrom)
    return { thread: found.thread, again: found.on.again }
  }

  isFull(): boolean {
    const chars = this.all.reduce((sum, thread) => sum + thread.heardChars, 0)
    return this.all.length >= limits.threads || chars > limits.chars
  }

  close(): void {
    for (const thread of this.all) thread.close()
  }

  private open(request: ModelRequest): Thread {
    const role = roleOf(request)
    const known = this.main?.role === role ? this.main : null
    const isMain = this.main === null && (request.tools?.length ?? 0) > 0
    const file = known
      ? `trajectory.cont-${++this.conts}.json`
      : isMain
        ? mainFile
        : `trajectory.side-${++this.sides}.json`
    const thread = new Thread(file, this.journal, this.agent, { ...request, role })
    if (known) known.close(file)
    if (known || isMain) this.main = thread
    this.all.push(thread)
    const copied = known ? indexAfter(request.messages, commonLength(known.known, request.messages)) : 0
    thread.hear(request.messages, 0, copied)
    return thread
  }
}

function roleOf({ messages, tools = [] }: ModelRequest): string {
  const first = messages[0]
  // Only the start of the system prompt, because agents put the date and visible files at the end.
  const rules = first?.role === 'system' ? first.content.slice(0, 500) : ''
  return JSON.stringify([rules, tools.map(({ name }) => name).sort()])
}
