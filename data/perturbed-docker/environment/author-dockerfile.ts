import {
  authorTask,
  BoundaryError,
  type DraftFile,
  type Dropped,
  openRepository,
  parseRepositorySpec,
  type RawRow,
  type StageContext,
  type TaskDraft,
  UserError,
  z,
} from 'ot-agent'
import { asDockerfile } from './write-dockerfile.ts'

const shape = z.object({
  instruction: z.string().min(1),
  /** The task's other files by path. */
  files: z.record(z.string().regex(/^(?:environment|tests|solution)\/[\w./-]+$/), z.string()),
  /** What the task is about: `./folder`, `git+URL#REF` or `npm:NAME@VERSION`; in the build context it is `repo`. */
  repo: z.string().min(1).optional(),
})

export interface AuthorOptions {
  readonly pipeline: string
  /** The folder that relative repositories in rows are resolved against. */
  readonly root: string
  /** How often a failing Dockerfile is returned to its author. */
  readonly repairs: number
}

/**
 * E3: a model writes a task's whole Dockerfile from its instruction and, if there is one, its repository. The sandbox
 * builds it and runs the task's tests and solution in it; failures are returned to the model, and only what works is
 * kept.
 */
export async function authorDockerfile(
  row: RawRow,
  { pipeline, root, repairs }: AuthorOptions,
  at: StageContext,
): Promise<TaskDraft | Dropped> {
  const parsed = shape.safeParse(row.fields)
  if (!parsed.success) return { drop: 'missing-field', detail: z.prettifyError(parsed.error).slice(0, 300), id: row.id }
  if (!at.sandboxes)
    throw new UserError('makers/environment: expected sandboxes to build in, got none', 'name a kind of sandbox')
  const { instruction, repo } = parsed.data
  const own = Object.fromEntries(Object.entries(parsed.data.files).map(([path, data]) => [path, { data }]))
  const cloned = repo === undefined ? {} : await repositoryFiles(repo, root, at)
  if (typeof cloned === 'string') return { drop: 'bad-repository', detail: cloned, id: row.id }
  const files: Readonly<Record<string, DraftFile>> = { ...own, ...cloned }
  return authorTask(
    {
      ...{ row, pipeline, repairs, strategy: 'environment-agent', name: `${pipeline}-${row.id}` },
      prompt: promptFor(instruction, files),
      form: asDockerfile,
      parts: (dockerfile) => ({ instruction, files: { ...files, 'environment/Dockerfile': { data: dockerfile } } }),
    },
    { tries: 3 },
    at,
  )
}

/** The repository's files at their paths in the build context, or why there are none. */
async function repositoryFiles(repo: string, root: string, { workDir, signal }: StageContext) {
  try {
    const files = await openRepository(parseRepositorySpec(repo, root), workDir, signal)
    return Object.fromEntries(Object.entries(files).map(([path, file]) => [`environment/repo/${path}`, file]))
  } catch (error) {
    if (error instanceof UserError || (error instanceof BoundaryError && error.boundary === 'task'))
      return error.message
    throw error
  }
}

/** Files that declare what a project needs. */
const manifest =
  /^environment\/repo\/(?:package\.json|pyproject\.toml|setup\.(?:py|cfg)|requirements[^/]*\.txt|go\.mod|Cargo\.toml|pom\.xml|Gemfile|Makefile|README[^/]*)$/

function promptFor(instruction: string, files: Readonly<Record<string, DraftFile>>): string {
  const context = Object.keys(files).filter((path) => path.startsWith('environment/'))
  const listed = context.slice(0, 200).map((path) => `- ${path.slice('environment/'.length)}`)
  const more = context.length > listed.length ? [`- and ${context.length - listed.length} more`] : []
  const manifests = context
    .filter((path) => manifest.test(path))
    .map((path) => `--- ${path.slice('environment/'.length)}\n${startOf(files[path]?.data ?? '')}`)
  return `An agent will work on this task in a container, alone and without network:

<task>
${instruction.trim()}
</task>

Write the whole Dockerfile of that container.
- Start from a small Debian or Ubuntu image, and install what is needed to work on the task.
- Copy what the task starts from to the paths that the task names. The build context holds:
${[...listed, ...more].join('\n') || '- nothing'}
- Do no part of the task itself, and keep it short.${manifests.length === 0 ? '' : `\n\nOf these files:\n${manifests.join('\n')}`}`
}

/** The part of a manifest that the model is shown. */
function startOf(data: DraftFile['data']): string {
  return Buffer.from(data).toString('utf8').slice(0, 4000)
}
