import { AppendLog } from './append-log.ts'
import { SecretStream } from './secret-stream.ts'

export interface CastOptions {
  readonly cols: number
  readonly rows: number
  readonly title?: string
  /** The recording stops at this size. Default 32 MiB. */
  readonly limitBytes?: number
  /** Texts that may not be written; `mask` replaces them. */
  readonly secrets?: { readonly texts: readonly string[]; readonly mask: string }
}

const noSecrets = { texts: [], mask: '' }

/** Records a terminal session as asciicast v2, event by event as it happens. */
export class Cast {
  private readonly log: AppendLog
  private readonly started = performance.now()
  private readonly hidden: Readonly<Record<'o' | 'i', SecretStream>>

  constructor(path: string, { cols, rows, title, limitBytes, secrets = noSecrets }: CastOptions) {
    const hide = () => new SecretStream(secrets.texts, secrets.mask)
    this.hidden = { o: hide(), i: hide() }
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
    this.event('o', this.hidden.o.push(data))
  }

  input(data: string): void {
    this.event('i', this.hidden.i.push(data))
  }

  resize(cols: number, rows: number): void {
    this.log.append(this.line('r', `${cols}x${rows}`))
  }

  /** Why not everything could be written, if that happened. */
  get problem(): Error | null {
    return this.log.problem
  }

  close(): Promise<void> {
    for (const kind of ['i', 'o'] as const) this.event(kind, this.hidden[kind].end())
    return this.log.close()
  }

  private event(kind: 'o' | 'i', data: string): void {
    if (data !== '') this.log.append(this.line(kind, data))
  }

  private line(kind: 'o' | 'i' | 'r', data: string): string {
    const seconds = Math.round((performance.now() - this.started) * 1000) / 1_000_000
    return `${JSON.stringify([seconds, kind, data])}\n`
  }
}
