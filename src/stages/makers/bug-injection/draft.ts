import type { DraftFile, TaskDraft } from '../../../core/row.ts'
import { renderPatch } from '../../../formats/unified-diff.ts'
import { shellQuote } from '../../../lib/shell.ts'
import { asText, isChangeLog, isTestFile } from '../../shared/repositories/test-files.ts'
import { verifierFiles } from '../../shared/repositories/test-run.ts'
import type { Bench } from './bench.ts'
import { revertedFix } from './history.ts'
import type { Options } from './options.ts'

export interface Bug {
  readonly mutators: readonly string[]
  readonly changed: Readonly<Record<string, string>>
  readonly failToPass: readonly string[]
}

/** Build and editor leftovers may contain the code without the bug, or name the tests. */
const copies = /^build\/lib[^/]*\/|\.egg-info\/SOURCES\.txt$|\.(?:orig|rej|bak|pyc)$/

/** The task's files: the broken repository without its history, the deciding tests, and the solution. */
export function bugFiles(bug: Bug, bench: Bench, { tests, workdir }: Options): TaskDraft['files'] {
  const { changed, failToPass } = bug
  // A list of changes mentions the fix that was reverted.
  const tells = (path: string) => bug.mutators.includes(revertedFix) && isChangeLog(path)
  const visible = Object.entries(bench.files).filter(
    ([path]) => !tells(path) && !copies.test(path) && (tests === 'visible' || !isTestFile(path)),
  )
  const broken = new Set(failToPass)
  return {
    'environment/Dockerfile': { data: bench.dockerfile },
    ...prefixed(
      'environment/repo',
      visible.map(([path, file]) => [path, withText(file, changed[path])]),
    ),
    ...verifierFiles({
      run: bench.run,
      tests: { failToPass, passToPass: bench.passing.filter((name) => !broken.has(name)) },
      files: bench.held,
    }),
    ...solutionFiles(changed, bench, workdir),
  }
}

/** The task's metadata: what was broken and by which mutator. The agent never sees it. */
export function bugConfig({ mutators, changed, failToPass }: Bug, { passing, run }: Bench): TaskDraft['config'] {
  const bug = {
    ...{ mutators, files: Object.keys(changed) },
    ...{ fail_to_pass: failToPass.length, pass_to_pass: passing.length - failToPass.length },
  }
  return { metadata: { bug }, verifier: { timeout_sec: Math.max(720, run.timeoutSec * run.commands.length + 60) } }
}

/** Whole files, because an image may lack git or patch; the patch is included for people. */
function solutionFiles(changed: Bug['changed'], bench: Bench, workdir: string): Record<string, DraftFile> {
  const paths = Object.keys(changed)
  const original = (path: string): DraftFile => bench.files[path] ?? { data: '' }
  const patches = paths.map((path) => renderPatch(path, changed[path] ?? '', asText(original(path).data) ?? ''))
  const copies = paths.map((path) => `cp "$here"/files/${shellQuote(path)} ${shellQuote(`${workdir}/${path}`)}\n`)
  return {
    'solution/solve.sh': { data: `#!/bin/sh\nset -e\nhere=$(dirname "$0")\n${copies.join('')}`, executable: true },
    'solution/fix.patch': { data: patches.join('') },
    ...prefixed(
      'solution/files',
      paths.map((path) => [path, original(path)]),
    ),
  }
}

function withText(file: DraftFile, text: string | undefined): DraftFile {
  return text === undefined ? file : { ...file, data: text }
}

function prefixed(dir: string, files: readonly (readonly [string, DraftFile])[]): Record<string, DraftFile> {
  return Object.fromEntries(files.map(([path, file]) => [`${dir}/${path}`, file]))
}
