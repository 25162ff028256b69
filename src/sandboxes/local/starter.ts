import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { BoundaryError } from '../../core/errors.ts'
import { systemPath } from '../../lib/programs.ts'
import { closeInherited, shell } from './descriptors.ts'

/** The environment of every trusted program we start: nothing of the caller's own reaches it. */
export const cleanEnv = { PATH: systemPath }

/**
 * A small shell that starts one program at a time for us. The price of a fork grows with the memory of whoever forks:
 * from this process it is many times that of the program started. It dies with us, and what it started is told so.
 */
export class Starter {
  private listener: ((line: string) => void) | null = null
  private lost = false

  private constructor(private readonly child: ChildProcess) {
    createInterface({ input: child.stdout as Socket }).on('line', (line) => this.listener?.(line))
    child.stdin?.on('error', () => {})
    child.on('error', () => this.lose()).on('exit', () => this.lose())
    this.hold(false)
  }

  static open(): Starter {
    const become = closeInherited.length > 0 ? [shell, '-c', [...closeInherited, 'exec sh'].join('\n')] : ['sh']
    const argv = ['--pdeathsig', 'KILL', ...become]
    const stdio = ['pipe', 'pipe', 'ignore'] as const
    return new Starter(spawn('setpriv', argv, { stdio: [...stdio], detached: true, env: cleanEnv, cwd: '/' }))
  }

  /** Runs a line of shell; `hear` gets each line it prints on descriptor 1. Resolves to its status, or to null when the shell is gone. */
  run(line: string, hear: (line: string) => void = () => {}): Promise<number | null> {
    if (this.lost) return Promise.resolve(null)
    this.hold(true)
    return new Promise((resolve) => {
      this.listener = (said) => {
        const status = /^ended (\d+)$/.exec(said)?.[1]
        if (status === undefined && said !== '') return hear(said)
        this.listener = null
        this.hold(false)
        resolve(status === undefined ? null : Number(status))
      }
      this.child.stdin?.write(`${line}\necho "ended $?"\n`)
    })
  }

  get usable(): boolean {
    return !this.lost
  }

  /** Lets it end, and keeps this process until it has. */
  close(): void {
    this.hold(true)
    this.child.stdin?.end()
  }

  private lose(): void {
    this.lost = true
    this.listener?.('')
  }

  /** While nothing runs, it must not keep this process from ending. */
  private hold(on: boolean): void {
    for (const part of [this.child, this.child.stdin as Socket, this.child.stdout as Socket])
      if (on) part.ref()
      else part.unref()
  }
}

/** What to say when no program can be started at all. */
export function cannotStart(): BoundaryError {
  return new BoundaryError('sandbox', 'cannot start a program: no shell, no process or no pipe was to be had')
}
