import { type DraftFile, isChangeLog, isTestFile, type NewDraft, shellQuote, verifierFiles } from 'ot-agent'
import { type Measured, type Subject, testSec } from './bench.ts'
import type { Bug } from './generate.ts'
import { homeOf, renderInstruction, type Symptom } from './issue.ts'
import { readJava, withoutMethods } from './java-text.ts'
import { dockerfile, runTestsJava, testCommand, workdir } from './runner.ts'

type Files = Record<string, DraftFile>

/** The task: the project with the bug and without the tests that show it, the deciding tests, and the original fix. */
export function draftOf(bug: Bug, subject: Subject, measured: Measured, symptoms: readonly Symptom[]): NewDraft {
  const { files, jars } = subject
  const { suite, passing, failing } = measured
  const failToPass = [...failing.keys()]
  const { visible, hidden } = visibleFiles(subject, measured)
  const held = Object.entries(files).filter(([path]) => isTestFile(path) || path.startsWith(`${suite.testRoot}/`))
  const run = { commands: [testCommand(suite)], format: 'tap' as const, workdir, timeoutSec: testSec * 2 }
  return {
    instruction: renderInstruction(bug, symptoms, measured, hidden),
    files: {
      'environment/Dockerfile': { data: dockerfile(suite.hasJars) },
      ...below('environment/repo', visible),
      ...below('environment/lib', jars),
      ...verifierFiles({
        run,
        tests: { failToPass, passToPass: passing.filter((name) => !failing.has(name)) },
        files: Object.fromEntries(held),
      }),
      'tests/RunTests.java': { data: runTestsJava },
      ...below('tests/lib', jars),
      ...solutionFiles(bug, subject),
    },
    config: {
      verifier: { timeout_sec: testSec * 2 + 60 },
      environment: { allow_internet: false },
      metadata: {
        bug: { project: bug.project, report: bug.report, revision: bug.ref ?? '', fail_to_pass: failToPass.length },
      },
    },
  }
}

/**
 * What the agent sees. A test class keeps all tests but those that show the bug; if these cannot be cut out, the whole
 * class is hidden.
 */
export function visibleFiles(subject: Subject, measured: Measured): { visible: Files; hidden: string[] } {
  const { files, broken } = subject
  const visible: Files = Object.fromEntries(
    // A changelog names the fix, and git settings are useless without the history.
    Object.entries(files).filter(([path]) => !isChangeLog(path) && !/(?:^|\/)\.git\w*$/.test(path)),
  )
  for (const [path, text] of broken) {
    if (text === null) delete visible[path]
    else visible[path] = { ...files[path], data: text }
  }
  const tests = new Map<string, string[]>()
  for (const [name, failed] of measured.failing) {
    const { path, test } = homeOf(name, failed, subject, measured)
    tests.set(path, [...(tests.get(path) ?? []), test])
  }
  const hidden: string[] = []
  for (const [path, names] of tests) {
    const { text, encoding } = readJava(files[path]?.data ?? '')
    const cut = withoutMethods(text, [...new Set(names)])
    if (cut === null) hidden.push(path)
    if (cut === null) delete visible[path]
    else visible[path] = { data: encoding === 'utf8' ? cut : Buffer.from(cut, encoding) }
  }
  return { visible, hidden }
}

/** Whole files, because the image may lack patch; the patch that introduced the bug is included for human readers. */
function solutionFiles({ patch }: Bug, { files, broken }: Subject): Files {
  const steps = [...broken.keys()].map((path) => {
    const target = shellQuote(`${workdir}/${path}`)
    if (!Object.hasOwn(files, path)) return `rm -f ${target}\n`
    return `mkdir -p "$(dirname ${target})" && cp "$here"/files/${shellQuote(path)} ${target}\n`
  })
  const fixed = [...broken.keys()].flatMap((path) => (files[path] ? [[path, files[path]] as const] : []))
  return {
    'solution/solve.sh': { data: `#!/bin/sh\nset -e\nhere=$(dirname "$0")\n${steps.join('')}`, executable: true },
    'solution/bug.patch': { data: patch },
    ...below('solution/files', Object.fromEntries(fixed)),
  }
}

function below(dir: string, files: Readonly<Files>): Files {
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [`${dir}/${path}`, file]))
}
