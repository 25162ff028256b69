import llama from '../src/engines/llama/index.ts'
import type { Row } from './lib/rows.ts'

/** The length of a typical terminus-2 turn. */
const outputTokens = 70
const goalSec = 2

/** The bundled student in this process: the time of a turn, and tokens over many conversations at once. */
export default {
  name: 'students',
  async run(): Promise<Row[]> {
    const engine = llama.make(llama.options.parse({ model: 'composer-6m' }), { env: {}, stateDir: '' })
    await engine.health(new AbortController().signal)
    const turn = async (beginning: string, number: number) => {
      const content = `${beginning}\n${'Look at the files of this directory, and say what they hold.\n'.repeat(50)}${number}`
      const request = { messages: [{ role: 'user', content }] as const, maxOutputTokens: outputTokens, temperature: 0 }
      const outcome = await engine.client('composer-6m').complete(request)
      if (outcome.kind !== 'reply') throw new Error(outcome.kind)
      return outcome.reply
    }
    await turn('warm', 0)
    const alone = await turn('alone', 1)
    const next = await turn('alone', 2)
    const seconds = alone.latencyMs / 1000
    return [
      {
        name: `a turn that reads ${alone.usage.inputTokens} tokens`,
        value: seconds,
        unit: 's',
        goal: `${goalSec}`,
        ok: seconds <= goalSec,
      },
      { name: `a turn that knows ${next.usage.cacheTokens} of them`, value: next.latencyMs / 1000, unit: 's' },
      await together(turn, 1),
      await together(turn, 16),
      await together(turn, 64),
    ]
  },
}

async function together(
  turn: (beginning: string, number: number) => Promise<{ readonly usage: { readonly outputTokens: number } }>,
  count: number,
): Promise<Row> {
  const started = performance.now()
  const replies = await Promise.all(Array.from({ length: count }, (_, i) => turn('alone', i + 10)))
  const tokens = replies.reduce((sum, { usage }) => sum + usage.outputTokens, 0)
  return {
    name: `tokens written, ${count} conversations at once`,
    value: tokens / ((performance.now() - started) / 1000),
    unit: '/s',
  }
}
