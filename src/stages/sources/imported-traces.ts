import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { definePlugin, pathFrom } from '../../core/plugin.ts'
import type { Dropped, Source } from '../../core/stage.ts'
import { readSessions, trajectoryFiles } from '../../formats/imported-traces/read-sessions.ts'
import { importFormats } from '../../formats/imported-traces/recognize.ts'
import { tracesOfSession } from '../../formats/imported-traces/to-traces.ts'
import { digestFiles, inputFiles, standsForFiles } from '../../formats/input-files.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { nameOfInput, needsOfFiles } from '../shared/records/needs-of-files.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe('A trajectory, a file of rows, a folder with such files below it, or a pattern such as `runs/*.traj`.'),
  format: z
    .enum(['auto', ...importFormats])
    .default('auto')
    .describe(
      '`swe-agent` (.traj), `openhands` (events, output.jsonl), `codex` (rollout-*.jsonl), `claude-code` (session .jsonl), `messages` (ShareGPT or OpenAI rows; JSON lines, JSON or parquet). `auto`: each file says what it is.',
    ),
  source: z.string().min(1).optional().describe("Name of the source (default: the file's or folder's name)."),
  agent: z.string().min(1).optional().describe('The agent that made them, where the files do not say.'),
  model: z.string().min(1).optional().describe('The model that made them, where the files do not say.'),
  subagents: z.enum(['drop', 'separate']).default('drop').describe('What to do with conversations of subagents.'),
  maxMb: z.number().positive().default(256).describe('A larger file of one session is skipped.'),
})

type Options = z.output<typeof options>

/**
 * Traces recorded by other tools. An unusable file, line or session becomes a dropped row with its place and reason.
 */
export default definePlugin<Source<RecipeTrace>, typeof options>({
  name: 'sources/imported-traces',
  summary: 'Traces of SWE-agent, OpenHands, Codex, Claude Code, or rows of messages',
  options,
  make: (asked, context) => {
    const path = pathFrom(context, asked.path)
    const source = asked.source ?? nameOfInput(resolve(path))
    return {
      kind: 'source',
      gives: 'trace',
      needs: () => needsOfFiles(path, trajectoryFiles, 'the trajectories of the source'),
      fingerprint: () => contentOf(path),
      async *rows(at) {
        const format = asked.format === 'auto' ? null : asked.format
        for await (const read of readSessions(path, { format, maxBytes: asked.maxMb * 2 ** 20 })) {
          at.signal.throwIfAborted()
          if ('problem' in read) yield dropped(`${source}/${read.where}`, read.problem)
          else
            for (const trace of tracesOfSession(read.session, { source, where: read.where }))
              yield 'problem' in trace
                ? dropped(`${source}/${read.where}/${trace.source}`, trace.problem)
                : toRow(trace.row, asked)
        }
      },
    }
  },
})

function toRow(row: Omit<RecipeTrace, 'id' | 'lineage' | 'signals'>, { agent, model, subagents }: Options) {
  const id = [row.source, row.trial_name, row.trace_source, row.episode].join('/')
  if (row.trace_source !== 'main' && subagents === 'drop')
    return dropped(id, { reason: 'subagent-left-out', detail: 'subagents are dropped' })
  const named = {
    ...(agent !== undefined && row.agent === 'unknown-agent' && { agent }),
    ...(model !== undefined && row.model === 'unknown-model' && { model }),
  }
  return { ...row, ...named, id, lineage: null, signals: {} }
}

function dropped(id: string, { reason, detail }: { readonly reason: string; readonly detail: string }): Dropped {
  return { drop: reason, detail, id }
}

/** A digest of a file's bytes, or of several files' names, sizes and times: folders of trajectories are large. */
async function contentOf(path: string): Promise<string> {
  const files = await inputFiles(path, trajectoryFiles)
  if (!(await standsForFiles(path))) return digestFiles(files)
  const facts = files.map(async (file) => {
    const { size, mtimeMs } = await stat(file)
    return [file, size, mtimeMs]
  })
  return digestJson(await Promise.all(facts))
}
