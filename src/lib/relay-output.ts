import type { ChildProcess } from 'node:child_process'

/**
 * Passes a program's output on to stderr. The program gets pipes, never the terminal itself, so its output is escaped
 * like all other text. The carriage returns of its progress bars become line breaks.
 */
export function relayOutput({ stdout, stderr }: ChildProcess): void {
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8')
    stream?.on('data', (text: string) => process.stderr.write(text.replaceAll(/\r\n?/g, '\n')))
  }
}
