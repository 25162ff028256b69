import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../../core/errors.ts'
import { definePlugin } from '../../../core/plugin.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import type { Dropped, MapStage, StageContext } from '../../../core/stage.ts'
import { PatchError } from '../../../formats/unified-diff.ts'
import { rowDigest } from '../../../lib/digest-json.ts'
import { exists } from '../../../lib/files.ts'
import { shellQuote } from '../../../lib/shell.ts'
import { openRepository, type RepositorySpec } from '../../shared/repositories/repository.ts'
import { testFormats } from '../../shared/repositories/test-run.ts'
import { draftFromFiles, draftFromImage, testFilesOf } from './draft.ts'
import { dialects, parseSweRow, type SweRow } from './parse-row.ts'
import { unclearIssue } from './unclear-issue.ts'
import { untoldNames } from './untold-names.ts'

const options = z.strictObject({
  dialect: z.enum(dialects),
  repositories: z
    .strictObject({
      dir: z.string().min(1),
      base: z.string().min(1).default('python:3.12-slim'),
      setup: z.array(z.string().min(1)).default([]).describe('What runs on the base before the repository is there.'),
      testCommands: z.array(z.string().min(1)).min(1),
      testFormat: z.enum(testFormats),
    })
    .optional()
    .describe(
      'Copies of repositories, OWNER__NAME in one folder: environments of their rows are built from them and need no image. Of a clone, the commit that the row names is taken.',
    ),
  image: z
    .string()
    .min(1)
    .optional()
    .describe('Image of a row that names none; `{{id}}` and `{{repo}}` are filled in, in the spelling of image names.'),
  checkout: z
    .string()
    .min(1)
    .optional()
    .describe('What is checked out in the image before history goes; `{{id}}` is filled in.'),
  workdir: z
    .string()
    .regex(/^\/[\w./-]+$/)
    .default('/testbed'),
  testCommands: z
    .array(z.string().min(1))
    .min(1)
    .describe('`{{testFiles}}` stands for the files that deciding tests are named by.'),
  testFormat: z.enum(testFormats).default('pytest'),
  otherNames: z
    .partialRecord(
      z.enum(['unittest', 'bare']),
      z.strictObject({ testCommands: z.array(z.string().min(1)).min(1), testFormat: z.enum(testFormats) }),
    )
    .optional()
    .describe(
      'How tests run in the image where they are not named as `file.py::test`: `unittest` for `test (module.Class)`, `bare` for `test`. `{{testFiles}}` and `{{testModules}}` are then those of the test patch.',
    ),
  timeoutSec: z.number().positive().default(1800),
  pipeline: z.string().min(1).default('swe'),
})
type Options = z.output<typeof options>

/** S8: a row of a software-engineering dataset. The fix goes only into the solution, test patches into the tests. */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'makers/swe-row',
  summary: 'Rows of SWE-smith, SWE-Gym, SWE-bench or R2E-Gym: an issue, a repository, tests that a fix has to pass',
  options,
  make: (given) => ({
    kind: 'map',
    takes: 'raw',
    gives: 'draft',
    async *run(rows, at) {
      for await (const row of rows) {
        at.signal.throwIfAborted()
        const made = await makeDraft(row, given, at)
        yield 'drop' in made ? { ...made, id: row.id } : made
      }
    },
  }),
})

async function makeDraft(raw: RawRow, given: Options, at: StageContext): Promise<TaskDraft | Dropped> {
  const row = parseSweRow(raw, given.dialect)
  if (typeof row === 'string') return { drop: 'bad-row', detail: row }
  if (row.failToPass.length + row.passToPass.length === 0)
    return { drop: 'no-tests', detail: 'expected names of tests that have to pass, got none' }
  const [untold] = untoldNames(row)
  if (untold !== undefined)
    return {
      drop: 'untold-names',
      detail: `tests use ${untold}, which only the fix brings in and the issue does not say`,
    }
  const unclear = unclearIssue(row)
  if (unclear !== null) return { drop: 'unclear-issue', detail: unclear }
  const { pipeline, workdir, timeoutSec, otherNames } = given
  const spelling = spellingOf(row)
  if (otherNames && spelling !== 'files' && (spelling === null || !otherNames[spelling]))
    return { drop: 'unmatched-test-names', detail: 'no test run prints all names of the row' }
  try {
    const files = (await filesFromCopy(row, given, at)) ?? filesFromImage(row, given)
    if (files === null) return { drop: 'no-environment', detail: `neither an image nor a copy of ${row.repo}` }
    return {
      name: `${pipeline}-${row.id}`,
      instruction: renderInstruction(row, workdir),
      files,
      config: {
        verifier: { timeout_sec: timeoutSec + 120 },
        metadata: { swe: { repo: row.repo, base_commit: row.baseCommit ?? '' } },
      },
      lineage: { pipeline, strategy: 'swe-row', rowId: raw.id, rowDigest: rowDigest(raw), seed: at.seed },
    }
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    return { drop: 'bad-patch', detail: error.message }
  }
}

/** Null when there is no copy of the row's repository. */
async function filesFromCopy(row: SweRow, given: Options, at: StageContext): Promise<TaskDraft['files'] | null> {
  const { repositories, workdir, timeoutSec } = given
  const name = row.repo.replaceAll('/', '__')
  if (!repositories || !/^\w[\w.-]*$/.test(name)) return null
  const path = join(repositories.dir, name)
  if (!(await exists(path))) return null
  const { testCommands, testFormat: format, base, setup } = repositories
  const run = { commands: commandsFor(row, testCommands), format, workdir, timeoutSec }
  const isClone = (await exists(join(path, '.git'))) || (await exists(join(path, 'HEAD')))
  const spec: RepositorySpec = isClone
    ? { kind: 'clone', path, ref: row.baseCommit ?? 'HEAD' }
    : { kind: 'folder', path }
  const files = await openRepository(spec, at.workDir, at.signal, (line) => at.log(line))
  return draftFromFiles(row, files, run, { base, setup })
}

function filesFromImage(row: SweRow, given: Options): TaskDraft['files'] | null {
  const { workdir, testFormat: format, timeoutSec, checkout = null } = given
  const named = row.image ?? given.image
  if (named === undefined) return null
  const image = fill(named, row)
  if (!/^\w[\w./:@-]*$/.test(image))
    throw new UserError(
      `image: expected the name of an image, got ${JSON.stringify(image.slice(0, 100))}`,
      'check the option image',
    )
  const other = given.otherNames?.[spellingOf(row) as 'unittest' | 'bare']
  const commands = commandsFor(row, other?.testCommands ?? given.testCommands)
  const run = { commands, format: other?.testFormat ?? format, workdir, timeoutSec }
  return draftFromImage(row, run, image, checkout === null ? null : checkout.replaceAll('{{id}}', row.id))
}

function commandsFor(row: SweRow, commands: readonly string[]): string[] {
  const named = testFilesOf(row)
  const patched = row.testPatch?.files.flatMap(({ newPath }) => newPath ?? []) ?? []
  const files = named.length > 0 ? named : [...new Set(patched.filter((path) => path.endsWith('.py')))]
  const modules = files.map((path) =>
    path
      .replace(/^tests\//, '')
      .replace(/\.py$/, '')
      .replaceAll('/', '.'),
  )
  return commands.map((command) =>
    command
      .replaceAll('{{testFiles}}', files.map(shellQuote).join(' '))
      .replaceAll('{{testModules}}', modules.map(shellQuote).join(' ')),
  )
}

/** How a row names its tests; null when no single runner prints all of these names. */
function spellingOf({ failToPass, passToPass }: SweRow): 'files' | 'unittest' | 'bare' | null {
  const names = [...failToPass, ...passToPass]
  if (names.some((name) => name.includes('::'))) return names.every((name) => name.includes('::')) ? 'files' : null
  // unittest prints the description of a test that has one, so names can be any text.
  return names.every((name) => /^\w+$/.test(name)) ? 'bare' : 'unittest'
}

/** Registries allow neither capitals nor `__`. */
function fill(template: string, { id, repo }: SweRow): string {
  const spelt = (name: string) => name.toLowerCase().replaceAll('__', '_s_').replaceAll('/', '_s_')
  return template.replaceAll('{{id}}', spelt(id)).replaceAll('{{repo}}', spelt(repo))
}

function renderInstruction({ statement }: SweRow, workdir: string): string {
  return `${statement.trim()}

---

The repository is in \`${workdir}\`. Reproduce the problem, fix it in the source code, and review your changes. Hidden tests decide
whether it is solved; changes to test files are ignored.
`
}
