/** Cuts a stream of text into lines, wherever its chunks end. */
export class LineReader {
  private rest = ''

  constructor(private readonly onLine: (line: string) => void) {}

  take(text: string): void {
    const lines = (this.rest + text).split('\n')
    this.rest = lines.pop() ?? ''
    for (const line of lines) this.onLine(line.endsWith('\r') ? line.slice(0, -1) : line)
  }
}
