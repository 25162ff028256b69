import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { checkWriter } from '../formats/hub/check-writer.ts'
import { parseTarget } from '../formats/hub/target.ts'
import { makeScratchDir, removeDraft } from '../lib/drafts.ts'
import { exportTraces } from './export-traces.ts'
import { type Uploaded, uploadToHub } from './hub/upload.ts'

/** The job whose traces to publish, and where. */
export interface TracesTarget {
  readonly jobDir: string
  /** `org/name`, or `file:PATH`. */
  readonly repository: string
  /** For new datasets only. */
  readonly isPrivate: boolean
}

/** Rejects, before a job is run, a target that its traces cannot be published to. */
export async function checkTracesTarget(repository: string, signal: AbortSignal): Promise<void> {
  const target = parseTarget(repository, '--upload-traces')
  if (target.kind === 'hub') await checkWriter(target.repo, process.env, signal)
}

/** Exports a job's traces and adds them to a dataset; traces sent before are not sent again. */
export async function publishTraces(
  { jobDir, repository, isPrivate }: TracesTarget,
  signal: AbortSignal,
): Promise<Uploaded> {
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-traces-'))
  try {
    const out = join(scratch, 'traces')
    const { rows, trials } = await exportTraces({ from: jobDir, out, name: repository }, { signal })
    if (rows === 0)
      throw new UserError(`${jobDir}: expected traces of ${trials} trials, got none`, 'its agent wrote no trajectories')
    return await uploadToHub(
      {
        ...{ dir: out, repository, type: 'dataset', isPrivate, replace: false },
        ...{ packed: false, branch: 'main', dryRun: false },
      },
      { signal, onProgress: () => {} },
    )
  } finally {
    await removeDraft(scratch)
  }
}
