import { join } from 'node:path'
import type { AgentAt } from '../../core/agent.ts'
import { AppendLog } from '../../lib/terminal/append-log.ts'
import { Cast } from '../../lib/terminal/cast.ts'
import { promptMarkEnv } from '../../lib/terminal/idle.ts'
import { TerminalSession } from '../../lib/terminal/session.ts'
import type { Settings } from './options.ts'

const paneLimitBytes = 16 * 1024 * 1024

/** The terminal that programs believe to be in: inside tmux, wherever the image knows such a terminal. */
const term = `for d in /etc /lib /usr/lib /usr/share; do [ -e $d/terminfo/t/tmux-256color ] && export TERM=tmux-256color; done`

/** A login bash, or the shell there is; text is UTF-8 unless the image says otherwise. */
const shell = `${term}; export LANG="\${LANG:-C.UTF-8}"; SHELL=$(command -v bash) && export SHELL && exec bash --login; exec sh -l`

/** The agent's terminal, whose output is kept in the trial's files. */
export interface AgentTerminal {
  readonly session: TerminalSession
  /** Stops looking and recording. What runs in the terminal goes on: services are part of a solution. */
  leave(): Promise<void>
}

/** Opens a terminal on a login shell in the task's sandbox. */
export async function openAgentTerminal(at: AgentAt, settings: Settings): Promise<AgentTerminal> {
  const { cols, rows } = settings
  const env = { TERM: 'xterm-256color', ...promptMarkEnv, ...settings.extraEnv, ...at.env }
  const argv = ['sh', '-c', shell]
  const pty = await at.sandbox.openTerminal({ cols, rows, argv, env, ...(at.user !== undefined && { user: at.user }) })
  const cast = settings.recordTerminal ? new Cast(join(at.logsDir, 'recording.cast'), { cols, rows }) : null
  const notice = '\n[... the log ends here: it reached its size limit ...]\n'
  const pane = new AppendLog(join(at.logsDir, 'terminus_2.pane'), { bytes: paneLimitBytes, notice })
  const onOutput = (chunk: string) => pane.append(chunk)
  const session = new TerminalSession(pty, {
    cols,
    rows,
    onOutput,
    newline: settings.newlineKey,
    ...(cast && { cast }),
  })
  return {
    session,
    async leave() {
      await session.leave()
      await pane.close()
      const problem = cast?.problem ?? pane.problem
      if (problem) at.record.log(`terminal recording is not complete: ${problem.message}`)
      if (session.screen.skippedChars > 0) {
        at.record.log(`terminal: ${session.screen.skippedChars} characters of output came too fast and were left out`)
      }
    },
  }
}
