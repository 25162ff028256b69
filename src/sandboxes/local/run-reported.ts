import type { ExecOptions, ExecResult } from '../../core/sandbox.ts'
import { ExhaustionError, exhaustionIn } from '../../lib/exhaustion.ts'
import type { KillableGroup } from '../namespaces/killable.ts'
import { collect, type OutputStream, type RunningCommand, runToEnd } from '../namespaces/run-to-end.ts'

/** Waits for a command of bubblewrap, which reports on its third stream whether it started; a timeout or an abort kills all its processes. */
export async function runReported(
  child: RunningCommand,
  options: ExecOptions,
  group: KillableGroup,
): Promise<{ result: ExecResult; started: boolean }> {
  const report = collect(child.stdio[3] as OutputStream, 4096)
  const { code, signal, ...ended } = await runToEnd(child, options, async () => {
    await group.kill()
    child.kill('SIGKILL')
  })
  const started = report.text().includes('exit-code')
  // Nothing inside has run yet, so that these are the words of programs of this machine.
  const resource = started || signal !== null || ended.timedOut ? null : exhaustionIn(ended.stderr)
  if (resource !== null)
    throw new ExhaustionError(resource, `cannot enter the sandbox: ${ended.stderr.trim().slice(-300)}`)
  const exitCode = ended.timedOut ? 124 : exitCodeOf(code, signal, started, ended.stderr)
  return { started, result: { exitCode, ...ended } }
}

/** A command that cannot be found or entered ends as a shell would end it. */
function exitCodeOf(code: number | null, signal: NodeJS.Signals | null, started: boolean, stderr: string): number {
  if (signal) return 137
  if (started) return code ?? 1
  return /^bwrap: execvp .*: No such file or directory$/m.test(stderr) ? 127 : 126
}
