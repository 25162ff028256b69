import { checkWriter } from '../../formats/hub/check-writer.ts'
import { openRepository } from '../../formats/hub/open.ts'
import { parseTarget } from '../../formats/hub/target.ts'
import { uploadFolder } from '../../formats/hub/upload.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { sometimes } from '../../lib/sometimes.ts'
import { version } from '../../lib/version.ts'
import type { Publish } from '../../run/pipeline/request.ts'
import { explainDisk } from '../disk-errors.ts'
import { withDataset } from '../hub/prepare.ts'
import type { Notify } from '../job/tasks-request.ts'

/**
 * Publishes to a Hub dataset, or to a folder laid out like one: tasks packed, traces as they are. Existing files stay,
 * and files sent before are not sent again.
 */
export const publishWith =
  (notify: Notify): Publish =>
  async ({ dir, target, message, signal }) => {
    const parsed = parseTarget(target, '--target-repo')
    const tick = sometimes(notify)
    const { repository } = await explainDisk(target, () =>
      withDataset(dir, { packed: true, signal }, (ready) =>
        uploadFolder({
          ...{ repository: openRepository(parsed, { env: process.env, signal }), ...ready, message },
          ...{ replace: false, isPrivate: true, branch: 'main', madeBy: `ot-agent ${version()}` },
          onProgress: ({ done, total }) => tick(`uploaded ${megabytes(done.bytes)} of ${megabytes(total.bytes)}`),
        }),
      ),
    )
    return repository
  }

/** Rejects a publishing target that cannot work, before anything is made. */
export async function checkTargetRepo(target: string | null, signal: AbortSignal): Promise<void> {
  if (target === null) return
  const parsed = parseTarget(target, '--target-repo')
  // Hours of work must not end with a missing token.
  if (parsed.kind === 'hub') await checkWriter(parsed.repo, process.env, signal)
}
