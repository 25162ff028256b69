import { AppendLog } from './append-log.ts'

export interface CastOptions {
  readonly cols: number
  readonly rows: number
  readonly title?: string
  /** The recording stops at this size. Default 32 MiB. */
  readonly limitBytes?: number
}

/** Records a terminal session as asciicast v2, event by event while it happens. */
export class Cast {
  private readonly log: AppendLog
  private readonly started = performance.now()

  constructor(path: string, { cols, rows, title, limitBytes }: CastOptions) {
    const notice = '[... the recording ends here: it reached its size limit ...]'
    this.log = new AppendLog(path, {
      bytes: limitBytes ?? 32 * 1024 * 1024,
      notice: this.line('o', `\r\n${notice}\r\n`),
    })
    const header = {
      version: 2,
      width: cols,
      height: rows,
      timestamp: Math.floor(Date.now() / 1000),
      ...(title !== undefined && { title }),
      env: { SHELL: '/bin/bash', TERM: 'xterm-256color' },
    }
    this.log.append(`${JSON.stringify(header)}\n`)
  }

  output(data: string): void {
    this.log.append(this.line('o', data))
  }

  input(data: string): void {
    this.log.append(this.line('i', data))
  }

  resize(cols: number, rows: number): void {
    this.log.append(this.line('r', `${cols}x${rows}`))
  }

  /** Why not everything could be written, if so. */
  get problem(): Error | null {
    return this.log.problem
  }

  close(): Promise<void> {
    return this.log.close()
  }

  private line(kind: 'o' | 'i' | 'r', data: string): string {
    const seconds = Math.round((performance.now() - this.started) * 1000) / 1_000_000
    return `${JSON.stringify([seconds, kind, data])}\n`
  }
}
