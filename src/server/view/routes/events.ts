import { once } from 'node:events'
import type { ViewEvent } from '../../../core/view.ts'
import { sleep } from '../../../lib/deadline.ts'
import type { ViewAsked, ViewRoute } from '../route.ts'

const lookMs = 1000
const silentLooks = 15
const mostListeners = 64
let listeners = 0

/** `/api/events`: server-sent events naming the jobs that changed, until the reader disconnects. */
export const events: ViewRoute = async (asked) => {
  const { response, message } = asked
  if (listeners >= mostListeners) {
    response.writeHead(503, { 'retry-after': '30' }).end()
    return undefined
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  if (message.method === 'HEAD') response.end()
  else {
    listeners++
    await tell(asked).finally(() => listeners--)
  }
  return undefined
}

async function tell({ library, response, signal }: ViewAsked): Promise<void> {
  const before = new Map<string, string>()
  let silent = 0
  let isFirst = true
  while (!signal.aborted) {
    const { rows } = await library.jobs()
    const changed = rows.filter((row) => before.get(row.id) !== JSON.stringify(row))
    for (const row of changed) before.set(row.id, JSON.stringify(row))
    // The page has just loaded everything, so the first event lists no jobs.
    const event: ViewEvent = { jobs: isFirst ? [] : changed }
    const text =
      isFirst || changed.length > 0 ? `data: ${JSON.stringify(event)}\n\n` : silent >= silentLooks ? ':\n\n' : ''
    silent = text === '' ? silent + 1 : 0
    isFirst = false
    if (text !== '' && !response.write(text)) await once(response, 'drain', { signal })
    await sleep(lookMs, signal)
  }
}
