import { createInterface } from 'node:readline/promises'
import type { Confirm } from '../../app/job/consent.ts'
import { note } from '../output.ts'

/** Asks at the terminal whether tasks may use variables of this machine; undefined if there is no terminal. */
export function confirmAtTerminal(): Confirm | undefined {
  if (!hasTerminal()) return undefined
  return async (variables) => {
    note(`tasks ask for these environment variables of this machine: ${variables}`)
    return isYes(await asked('pass them to the tasks? [y/N] '))
  }
}

/** Whether the user answers yes to a question; null if there is no terminal. */
export async function askAtTerminal(question: string): Promise<boolean | null> {
  return hasTerminal() ? isYes(await asked(question)) : null
}

function hasTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim())
}

/**
 * The user's answer to a question; Ctrl-C and Ctrl-D cancel. The terminal does the line editing, so we send it no
 * escape sequences.
 */
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
