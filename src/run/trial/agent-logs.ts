import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxLease } from '../../core/sandbox.ts'
import { sandboxPaths } from '../../core/task-paths.ts'
import { exists } from '../../lib/files.ts'
import { dropLeavingLinks } from '../../lib/leaving-links.ts'
import { bestEffort } from './boundary.ts'
import { agentDirOf, type Round, type TrialContext } from './context.ts'

const limitBytes = 256 * 1024 * 1024
const limitSec = 300

/** Names under which our side writes down what an agent said to its model. */
const oursOnly = /^(?:trajectory|exchanges|model-calls)/i

/**
 * Brings `/logs/agent` home, as far as possible. A file the agent wrote on the host is never replaced by one of the sandbox,
 * and none of the sandbox gets a name that readers of traces trust: it is kept as `from-sandbox.NAME`.
 */
export async function saveAgentLogs(context: TrialContext, lease: SandboxLease, round: Round): Promise<void> {
  const target = agentDirOf(round)
  const incoming = join(round.dir, '.agent-logs')
  await bestEffort('agent logs', limitSec, context, async (signal) => {
    try {
      await mkdir(target, { recursive: true })
      await lease.downloadDir(sandboxPaths.agentLogs, incoming, { limitBytes })
      signal.throwIfAborted()
      await moveInto(incoming, target, (name) => (oursOnly.test(name) ? `from-sandbox.${name}` : name))
      await dropLeavingLinks(target)
    } finally {
      // Also when it was given up on, once it has really ended.
      await rm(incoming, { recursive: true, force: true }).catch(() => {})
    }
  })
}

async function moveInto(source: string, target: string, named = (name: string) => name): Promise<void> {
  if (!(await exists(source))) return
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name)
    const to = join(target, named(entry.name))
    const there = await lstat(to).catch(() => null)
    if (there === null) await rename(from, to)
    else if (there.isDirectory() && entry.isDirectory()) await moveInto(from, to)
  }
}
