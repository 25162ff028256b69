import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BoundaryError, isAbort, messageOf } from '../../core/errors.ts'
import { exists } from '../../lib/files.ts'
import { AlreadyThere, makeDirWhole } from '../../lib/new-dir.ts'
import { SharedWork } from '../../lib/shared-work.ts'
import type { CommandAgent } from './command-agent.ts'

const run = promisify(execFile)
const installs = new SharedWork<string>()

/**
 * Installs an agent from the registry once on this machine, without running any script of the packages;
 * gives the directory that holds it. Whoever finds the directory finds it whole.
 */
export async function installTool(stateDir: string, npm: CommandAgent['npm'], signal: AbortSignal): Promise<string> {
  const spec = `${npm.package}@${npm.version}`
  const name = `${spec}-${process.platform}-${process.arch}`.replace(/[^A-Za-z0-9.@_-]/g, '+')
  const dir = join(stateDir, 'tools', name)
  if (await exists(dir)) return dir
  return installs.run(dir, signal, async (stopped) => {
    try {
      await makeDirWhole(dir, (temporary) => install(temporary, spec, stopped))
    } catch (error) {
      // Another process was faster, with the very same version.
      if (!(error instanceof AlreadyThere)) throw error
    }
    return dir
  })
}

async function install(dir: string, spec: string, signal: AbortSignal): Promise<void> {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
  try {
    await run('npm', ['install', ...flags, '--prefix', dir, spec], { cwd: dir, signal, maxBuffer: 16 * 1024 * 1024 })
  } catch (error) {
    if (isAbort(error)) throw error
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    const why = (said || messageOf(error)).slice(0, 500)
    throw new BoundaryError('agent', `cannot install ${spec}: ${why}`, { code: 'AgentSetupError', cause: error })
  }
}
