import { createInterface } from 'node:readline/promises'
import type { Confirm } from '../../app/job/consent.ts'
import { note } from '../output.ts'

/** Asks at the terminal whether tasks may have variables of this machine; undefined where there is no terminal. */
export function confirmAtTerminal(): Confirm | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined
  return async (variables) => {
    note(`tasks ask for these variables of this machine: ${variables}`)
    return /^y(es)?$/i.test((await asked('pass them on? [y/N] ')).trim())
  }
}

/** What a person answers to a question; Ctrl-C and Ctrl-D cancel. The terminal edits the line, so that we send it no sequences. */
async function asked(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  const stop = new AbortController()
  const cancel = () => stop.abort()
  process.once('SIGINT', cancel)
  lines.once('close', cancel)
  try {
    return await lines.question(question, { signal: stop.signal })
  } finally {
    process.off('SIGINT', cancel)
    lines.close()
  }
}
