import { createHash, type Hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin, type PluginContext, pathFrom } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import { isDropped, type Source, type StageContext, type StageServices } from '../../core/stage.ts'
import { digestFiles, inputFiles, recordFiles } from '../../formats/input-files.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { namesIn } from '../../lib/files.ts'
import { taskRowOf } from '../shared/task-row.ts'

const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()]))])

const options = z.strictObject({
  pipeline: z.string().min(1).describe('A pipeline by its name under data/, or its file.'),
  args: z
    .record(z.string().regex(/^[A-Za-z][\w-]*$/), value)
    .default({})
    .describe(
      "What `ot-agent generate` takes, without the dashes: `{ source: 'real', limit: 500, check: false, count: 40 }`.",
    ),
  source: z.string().min(1).optional().describe("What mixes know its tasks by (default: the pipeline's name)."),
})

type Args = z.output<typeof options>['args']

/** Tasks made by a data pipeline, and the reason for each row that became none. */
export default definePlugin<Source<TaskRow>, typeof options>({
  name: 'sources/pipeline',
  summary: 'Tasks made by a data pipeline, one of those under data/ or your own file',
  options,
  make: ({ pipeline: asked, args: written, source = nameOf(asked) }, context) => {
    const pipeline = isName(asked) ? asked : pathFrom(context, asked)
    const args = located(written, context)
    return {
      kind: 'source',
      gives: 'task',
      expensive: true,
      needs: ({ seed }) => [{ kind: 'pipeline', pipeline, args: { seed, ...args } }],
      expect: () => ({ rows: countOf(args), ...(countOf(args) === null && { assumes: [unknownCount(pipeline)] }) }),
      fingerprint: async (at) => fingerprintOf(servicesOf(at), pipeline, args),
      async *rows(at) {
        at.signal.throwIfAborted()
        const services = servicesOf(at)
        const asked = { seed: at.seed, ...(at.limit && { limit: at.limit }), ...args }
        const digest = digestJson({ args: asked, code: await fingerprintOf(services, pipeline, args) })
        const outDir = join(at.workDir, digest.slice(0, 16))
        for await (const made of services.pipeline({ pipeline, args: asked, outDir, signal: at.signal })) {
          at.signal.throwIfAborted()
          yield isDropped(made) ? made : await taskRowOf(made, source)
        }
      },
    }
  },
})

/** A pipeline shipped with the program is referred to by name, any other by its file. */
function isName(pipeline: string): boolean {
  return /^[\w-]+$/.test(pipeline)
}

const flagOf = (name: string) => name.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Arguments that are paths; for `source`, any value except its two keywords. */
const pathFlags = ['input-dir', 'engine-config', 'endpoint-json']

function located(args: Args, context: PluginContext): Args {
  const isPath = (flag: string, given: string) =>
    pathFlags.includes(flag) || (flag === 'source' && given !== 'fixture' && given !== 'real')
  return Object.fromEntries(
    Object.entries(args).map(([name, given]) => {
      const isOne = typeof given === 'string' && isPath(flagOf(name), given)
      return [name, isOne ? pathFrom(context, given) : given]
    }),
  )
}

/** `data/x/generate.ts` is named after its folder, any other file after itself. */
function nameOf(pipeline: string): string {
  const parts = pipeline.split('/').filter((part) => part !== '' && part !== '.' && part !== '..')
  const last = parts.at(-1)?.replace(/\.[cm]?[jt]s$/, '') ?? pipeline
  return last === 'generate' ? (parts.at(-2) ?? last) : last
}

/** A pipeline's tasks also depend on the rows of a file passed to it, and on the files of a folder. */
async function fingerprintOf(services: StageServices, pipeline: string, args: Args): Promise<string> {
  const code = await services.pipelineFingerprint(pipeline)
  const hash = createHash('sha256').update(code)
  const hasRows = typeof args.source === 'string' && (await addContent(hash, args.source))
  const folder = args.inputDir ?? args['input-dir'] ?? args.input_dir
  const hasFiles = typeof folder === 'string' && (await addSizes(hash, folder))
  return hasRows || hasFiles ? hash.digest('hex') : code
}

/** Adds the bytes of a file, or of all row files in a folder or pattern, however large; false when there is none. */
async function addContent(hash: Hash, path: string): Promise<boolean> {
  const files = await inputFiles(path, recordFiles).catch((error: unknown) => {
    if (error instanceof UserError) return []
    throw error
  })
  if (files.length > 0) hash.update(await digestFiles(files))
  return files.length > 0 || addSizes(hash, path)
}

/** Adds only names and sizes: dumps are too large to read just to see whether they have changed. */
async function addSizes(hash: Hash, dir: string): Promise<boolean> {
  const names = (await namesIn(dir)).toSorted()
  for (const name of names) hash.update(`\0${name}\0${(await stat(join(dir, name)).catch(() => null))?.size}`)
  return names.length > 0
}

function countOf({ limit, count }: Args): number | null {
  const counts = [limit, count].filter((each) => typeof each === 'number')
  return counts.length > 0 ? Math.min(...counts) : null
}

function unknownCount(pipeline: string): string {
  return `the number of tasks that ${pipeline} makes is not known before it runs; args.limit caps it`
}

function servicesOf({ services }: StageContext): StageServices {
  if (services) return services
  throw new UserError('sources/pipeline works only in a recipe', 'run a single pipeline with ot-agent generate')
}
