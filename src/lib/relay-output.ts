import type { ChildProcess } from 'node:child_process'

/**
 * Passes on to stderr what a program prints. The program gets pipes, never the terminal itself, so that what it prints is escaped
 * like all other text. The carriage returns of its progress bars become line breaks.
 */
export function relayOutput({ stdout, stderr }: ChildProcess): void {
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8')
    stream?.on('data', (text: string) => process.stderr.write(text.replaceAll(/\r\n?/g, '\n')))
  }
}
