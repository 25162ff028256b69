import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin, type PluginContext, repoFrom } from '../../core/plugin.ts'
import type { RawRow } from '../../core/row.ts'
import type { Source, StageContext } from '../../core/stage.ts'
import { type DatasetRows, findDatasetRows } from '../../formats/hub/dataset-rows.ts'
import { fetchFile } from '../../formats/hub/fetch-file.ts'
import { parseTarget } from '../../formats/hub/target.ts'
import { readRecords } from '../../formats/records/read-records.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { toRow } from '../shared/records/to-row.ts'

const options = z.strictObject({
  repo: z.string().min(1).describe('`org/name`, or `file:PATH` for a folder laid out the same way.'),
  config: z
    .string()
    .min(1)
    .optional()
    .describe("The part of the dataset its card calls a configuration (default: the card's own default)."),
  split: z.string().min(1).default('train'),
  revision: z.string().min(1).optional().describe('Branch, tag or commit; a commit is the same rows for ever.'),
  files: z
    .string()
    .min(1)
    .optional()
    .describe('Only files of this pattern, for example `data/*.jsonl`, whatever the card says.'),
  source: z.string().min(1).optional().describe("Name of the source (default: the dataset's name)."),
  id: z.string().min(1).optional().describe('The field that names a row; without it a row is named by its digest.'),
  maxGb: z.number().positive().default(100).describe('A dataset with more data than this is refused.'),
})

type Options = z.output<typeof options>

/** Rows of a dataset on the Hub, file by file: the next file is downloaded when the rows before it are used up. */
export default definePlugin<Source<RawRow>, typeof options>({
  name: 'sources/hub',
  summary: 'Rows of a dataset on the Hugging Face Hub, at a revision',
  options,
  make: (written, context) => {
    const asked = { ...written, repo: repoFrom(context, written.repo) }
    return {
      kind: 'source',
      gives: 'raw',
      identity: { ...written, maxGb: undefined },
      needs: () => [{ kind: 'dataset', repo: asked.repo, revision: asked.revision ?? null }],
      fingerprint: async (at) => {
        const { commit, files } = await find(asked, context, at)
        return digestJson([commit, files.map(({ path, sha256, gitOid }) => [path, sha256 ?? gitOid])])
      },
      async *rows(at) {
        const { repo, source = repo.split('/').at(-1) ?? repo, id = null } = asked
        at.signal.throwIfAborted()
        const found = await find(asked, context, at)
        const seen = new Map<string, number>()
        for await (const path of localFiles(found, asked, context, at)) {
          for await (const read of readRecords(path)) {
            at.signal.throwIfAborted()
            yield toRow(read, source, id, seen)
          }
        }
      },
    }
  },
})

async function find(asked: Options, { env }: PluginContext, { signal }: StageContext): Promise<DatasetRows> {
  const { repo, config = null, split, revision = null, files: pattern = null, maxGb } = asked
  const found = await findDatasetRows(parseTarget(repo, 'repo'), { config, split, revision, pattern }, { env, signal })
  const bytes = found.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  if (bytes <= maxGb * 1e9) return found
  throw new UserError(
    `${repo}: expected at most ${maxGb} GB of data, found ${(bytes / 1e9).toFixed(1)} GB`,
    'choose files, or raise maxGb',
  )
}

/** Downloaded once into the local cache; a folder's own files are read in place. */
async function* localFiles(
  { repository, commit, files }: DatasetRows,
  { repo }: Options,
  context: PluginContext,
  at: StageContext,
) {
  const target = parseTarget(repo, 'repo')
  for (const [nth, file] of files.entries()) {
    if (target.kind === 'folder') {
      yield join(target.path, file.path)
      continue
    }
    const to = join(context.stateDir, 'hub', repo.replace('/', '--'), commit, file.path)
    at.log(`${repo} at ${commit.slice(0, 12)}: file ${nth + 1} of ${files.length}, ${file.path}`)
    await fetchFile({ repository, commit, file, to, signal: at.signal })
    yield to
  }
}
