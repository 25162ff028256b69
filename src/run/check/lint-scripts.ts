import type { Task } from '../../core/task.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import type { Finding, Lint } from './finding.ts'
import type { RoundFiles, TaskFiles, TextFile } from './task-files.ts'

/** There are no tests. A separate verifier may bring its tests in its own image. */
export const noTests: Lint = ({ rounds }, task) =>
  rounds
    .filter((round) => !round.testScript && !verifiesSeparately(task, round.step))
    .map((round) => missing('no-tests', round, 'tests/test.sh', 'has no test script to verify it with'))

/** Without a solution, nothing shows that the task can be solved. */
export const noSolution: Lint = ({ rounds }) =>
  rounds
    .filter((round) => !round.solveScript)
    .map((round) =>
      missing('no-solution', round, 'solution/solve.sh', 'has no solution to prove that it can be solved'),
    )

/** Without a shebang, which program runs the script is left to chance. */
export const noShebang: Lint = (files) =>
  entryScripts(files)
    .filter(({ text }) => !text.startsWith('#!'))
    .map((file) => finding('script-no-shebang', 'error', file, 'does not start with #!, for example #!/bin/bash'))

/** The runner sets the executable bit, but anyone who runs the script directly gets an error. */
export const notExecutable: Lint = (files) =>
  entryScripts(files)
    .filter(({ mode }) => (mode & 0o111) === 0)
    .map((file) => finding('script-not-executable', 'warning', file, 'is not executable'))

/** With CR LF the kernel looks for an interpreter whose name ends in CR. */
export const crlf: Lint = (files) =>
  shellScripts(files)
    .filter(({ text }) => text.includes('\r\n'))
    .map((file) => finding('script-crlf', 'error', file, 'has CRLF line endings; scripts need LF'))

/** `bash -n` parses and runs nothing. */
export const syntax: Lint = async (files) => {
  const findings: Finding[] = []
  for (const file of shellScripts(files)) {
    const complaint = await parseBash(file.text.replaceAll('\r\n', '\n'))
    if (complaint !== null) findings.push(finding('script-syntax', 'error', file, complaint))
  }
  return findings
}

/** Whether the tests of a step, or of the whole task, run in a separate sandbox. */
export function verifiesSeparately(task: Task, step: string | null): boolean {
  const { verifier } = task.steps.find(({ name }) => name === step) ?? task
  return verifier.mode === 'separate'
}

function entryScripts({ rounds }: TaskFiles): TextFile[] {
  return unique(rounds.flatMap(({ testScript, solveScript }) => [testScript, solveScript]))
}

/** Test and solution scripts; files in the environment may be broken on purpose. */
function shellScripts({ rounds }: TaskFiles): TextFile[] {
  return unique(rounds.flatMap(({ tests, solution }) => [...tests, ...solution])).filter(isShell)
}

function isShell({ name, text }: TextFile): boolean {
  const shebang = /^#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(text)
  if (!shebang) return name.endsWith('.sh')
  const program = shebang[1]?.endsWith('/env') ? shebang[2] : shebang[1]
  return /(?:^|\/)(?:ba|da)?sh$/.test(program ?? '')
}

function unique(files: readonly (TextFile | null)[]): TextFile[] {
  return [...new Map(files.flatMap((file) => (file ? [[file.path, file] as const] : []))).values()]
}

function missing(lint: string, round: RoundFiles, name: string, message: string): Finding {
  return { lint, severity: 'error', path: round.step === null ? name : `steps/${round.step}/${name}`, message }
}

function finding(lint: string, severity: Finding['severity'], { path }: TextFile, message: string): Finding {
  return { lint, severity, path, message }
}

/** The syntax error that bash reports for a script, or null. */
async function parseBash(script: string): Promise<string | null> {
  const bash = await spawnProcess('bash', ['--norc', '--noprofile', '-O', 'extglob', '-n'], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    timeout: 20_000,
  })
  let stderr = ''
  bash.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (stderr.length < 2000) stderr += chunk
  })
  bash.stdin.on('error', () => {}).end(script)
  const code = await new Promise<number | null>((resolve, reject) => bash.on('error', reject).on('close', resolve))
  if (code === 0) return null
  const [first = 'does not parse'] = stderr.split('\n')
  return `bash cannot parse it: ${first.replace(/^bash: /, '')}`
}
