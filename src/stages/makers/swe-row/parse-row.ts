import { z } from 'zod'
import type { RawRow } from '../../../core/row.ts'
import { type FilePatch, PatchError, parsePatch, renderPatch, reversePatch } from '../../../formats/unified-diff.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import { withoutColors } from '../../../lib/visible.ts'
import { isTestFile } from '../../shared/repositories/test-files.ts'

/**
 * The format of the rows. `swe-smith`: `patch` introduces the bug; there is an image and no test patch. `swe-bench`:
 * `patch` is the fix, `test_patch` adds the tests (also SWE-Gym and others). `r2e-gym`: a commit with whole files,
 * tests and their outcomes.
 */
export const dialects = ['swe-smith', 'swe-bench', 'r2e-gym'] as const
export type Dialect = (typeof dialects)[number]

/** A row of any dialect in a common form. */
export interface SweRow {
  readonly id: string
  readonly repo: string
  readonly statement: string
  readonly image: string | null
  readonly baseCommit: string | null
  /** From the state the agent gets to the state it should reach; nothing else contains the fix. */
  readonly fix: { readonly text: string; readonly files: readonly FilePatch[] }
  /** From the repository to the state the agent gets; empty if they are the same. */
  readonly bug: readonly FilePatch[]
  readonly testPatch: { readonly text: string; readonly files: readonly FilePatch[] } | null
  /** Whole test files by path. */
  readonly testFiles: Readonly<Record<string, string>>
  readonly failToPass: readonly string[]
  readonly passToPass: readonly string[]
}

const text = z.string().refine((value) => value.trim() !== '', { error: 'expected some text' })
/** A list, or the JSON of one, as in older exports. */
const list = z.preprocess((value) => (typeof value === 'string' ? parseJson(value) : value), z.array(z.string()))
const sweFields = z.object({
  instance_id: text,
  repo: text,
  problem_statement: text,
  patch: text,
  test_patch: z.string().nullish(),
  FAIL_TO_PASS: list,
  PASS_TO_PASS: list,
  base_commit: z.string().nullish(),
  image_name: z.string().nullish(),
})

const json = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (typeof value === 'string' ? parseJson(value) : value), schema)
const r2eFields = z.object({
  repo_name: text,
  commit_hash: text,
  docker_image: z.string().nullish(),
  problem_statement: text,
  expected_output_json: json(z.record(z.string(), z.string())),
  parsed_commit_content: json(
    z.object({
      old_commit_hash: z.string().nullish(),
      file_diffs: z.array(
        z.object({
          header: z.object({ file: z.object({ path: z.string() }) }),
          is_binary_file: z.boolean().nullish(),
          minus_file: z.object({ path: z.string() }).nullish(),
          plus_file: z.object({ path: z.string() }).nullish(),
          old_file_content: z.string(),
          new_file_content: z.string(),
        }),
      ),
    }),
  ),
  execution_result_content: json(
    z.object({ test_file_names: z.array(z.string()), test_file_codes: z.array(z.string()) }),
  ),
})

/** Parses a row; a text says what is wrong with it. */
export function parseSweRow({ fields }: RawRow, dialect: Dialect): SweRow | string {
  const parsed = dialect === 'r2e-gym' ? r2eFields.safeParse(fields) : sweFields.safeParse(fields)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return `${issue?.path.join('.')}: ${issue?.message}`
  }
  try {
    return 'repo_name' in parsed.data ? fromCommit(parsed.data) : fromPatches(parsed.data, dialect)
  } catch (error) {
    if (error instanceof PatchError) return error.message
    throw error
  }
}

function fromPatches(row: z.output<typeof sweFields>, dialect: Dialect): SweRow {
  const patch = parsePatch(row.patch)
  const isBug = dialect === 'swe-smith'
  const testPatch = row.test_patch ? { text: withEnd(row.test_patch), files: parsePatch(row.test_patch) } : null
  return {
    ...{ id: row.instance_id, repo: row.repo, image: row.image_name ?? null },
    // Models write this under the issue to mark its end.
    statement: row.problem_statement.replace(/(?<!\s)\s*<END(?: OF)? \w+>\s*$/, ''),
    baseCommit: row.base_commit ?? null,
    fix: { text: withEnd(row.patch), files: isBug ? reversePatch(patch) : patch },
    bug: isBug ? patch : [],
    ...{ testPatch, testFiles: {}, failToPass: row.FAIL_TO_PASS, passToPass: row.PASS_TO_PASS },
  }
}

function fromCommit(row: z.output<typeof r2eFields>): SweRow {
  const fix = row.parsed_commit_content.file_diffs
    .filter(({ header, is_binary_file }) => !is_binary_file && !isTestFile(header.file.path))
    .map(diffOf)
    .join('')
  const { test_file_names: names, test_file_codes: codes } = row.execution_result_content
  return {
    ...{
      id: `${row.repo_name}-${row.commit_hash.slice(0, 12)}`,
      repo: row.repo_name,
      statement: issueIn(row.problem_statement),
    },
    image: row.docker_image ?? null,
    baseCommit: row.parsed_commit_content.old_commit_hash ?? `${row.commit_hash}^`,
    ...{ fix: { text: fix, files: parsePatch(fix) }, bug: [], testPatch: null },
    testFiles: Object.fromEntries(names.map((name, i) => [`r2e_tests/${name.replace(/^.*\//, '')}`, codes[i] ?? ''])),
    // The row does not say which of them fail before the fix; the task's check proves that at least one does.
    failToPass: [],
    passToPass: Object.entries(row.expected_output_json).flatMap(([name, status]) =>
      status === 'PASSED' && name.trim() !== '' ? [withoutColors(name)] : [],
    ),
  }
}

type FileDiff = z.output<typeof r2eFields>['parsed_commit_content']['file_diffs'][number]

/** A commit's diff of one file. A new or deleted file must be marked as such, or git does not apply the patch. */
function diffOf({ header, minus_file, plus_file, old_file_content, new_file_content }: FileDiff): string {
  const diff = renderPatch(header.file.path, old_file_content, new_file_content)
  if (minus_file?.path === '/dev/null') return diff.replace(/^--- .*$/m, '--- /dev/null')
  return plus_file?.path === '/dev/null' ? diff.replace(/^\+\+\+ .*$/m, '+++ /dev/null') : diff
}

/** The issue without the marks that its author was asked to add, and without any text outside them. */
function issueIn(statement: string): string {
  const [, issue = statement] = /\[ISSUE\]([\s\S]*?)(?:\[\/ISSUE\]|$)/.exec(statement) ?? []
  return issue.replace('[/ISSUE]', '').trim()
}

function withEnd(patch: string): string {
  return patch.endsWith('\n') ? patch : `${patch}\n`
}
