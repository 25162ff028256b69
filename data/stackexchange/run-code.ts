import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, type ExecResult, loadTask, type MakeAt, saveTaskDraft, UserError } from 'ot-agent'

/** The parts of its surroundings that making a task may use. */
export type CodeAt = Pick<MakeAt<unknown>, 'sandboxes' | 'signal' | 'workDir' | 'seed'>

export interface CodeToRun {
  readonly image: string
  /** Files in /app by name. */
  readonly files: Readonly<Record<string, string>>
  readonly command: readonly string[]
  readonly timeoutSec: number
}

/** Runs untrusted code in a sandbox of its own; null if no sandbox can be made. */
export async function runCode(
  { image, files, command, timeoutSec }: CodeToRun,
  at: CodeAt,
): Promise<ExecResult | null> {
  const { sandboxes, signal, workDir } = at
  if (!sandboxes)
    throw new UserError('stackexchange: expected sandboxes to run answers in, got none', 'use --kind example')
  await mkdir(workDir, { recursive: true })
  const dir = await mkdtemp(join(workDir, 'run-'))
  try {
    const copies = Object.keys(files).map((name) => `COPY ${name} /app/${name}\n`)
    const draft = {
      name: 'run',
      instruction: 'Run.',
      files: {
        'environment/Dockerfile': { data: `FROM ${image}\n\nWORKDIR /app\n${copies.join('')}` },
        'tests/test.sh': { data: '#!/bin/sh\n' },
        ...Object.fromEntries(Object.entries(files).map(([name, data]) => [`environment/${name}`, { data }])),
      },
      lineage: { pipeline: 'stackexchange', strategy: 'run', rowId: '', rowDigest: '', seed: 0 },
    }
    const { environment, digests } = await loadTask(await saveTaskDraft(draft, dir))
    const owner = { job: 'generate', trial: `run-${digests.content.slice(0, 12)}` }
    await using lease = await sandboxes.lease({ owner, environment, signal })
    return await lease.exec([...command], { timeoutSec, signal, outputLimitBytes: 1_000_000 })
  } catch (error) {
    if (error instanceof BoundaryError && error.boundary === 'task') return null
    throw error
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
