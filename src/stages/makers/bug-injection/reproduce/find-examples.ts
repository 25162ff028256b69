import { z } from 'zod'
import type { Sandbox } from '../../../../core/sandbox.ts'
import { parseJson } from '../../../../lib/parse-json.ts'
import { shellQuote } from '../../../../lib/shell.ts'
import type { TestRun } from '../../../shared/repositories/test-run.ts'
import type { Bench } from '../bench.ts'
import { answerSchema, chooseExamples, type Example, programSchema } from './example.ts'
import { javascriptExamples } from './javascript.ts'
import { pythonScript } from './python-script.ts'

const place = '/var/tmp/ot-agent-reproduce'
const answers = z.array(answerSchema.nullable())
/** How many failing tests are examined, spread over all of them. */
const looks = 8

/**
 * Programs that show a bug, derived from the failing tests and run with and without it. Null when tests of this kind
 * cannot be turned into programs.
 */
export async function findExamples(
  changed: Readonly<Record<string, string>>,
  failToPass: readonly string[],
  bench: Bench,
  signal: AbortSignal,
): Promise<Example[] | null> {
  const python = pythonRunner(bench.run)
  if (!python) return javascriptExamples(changed, bench, signal)
  const step = Math.max(1, Math.floor(failToPass.length / looks))
  const ids = failToPass.filter((_, i) => i % step === 0).slice(0, looks)
  const call = (...args: string[]) => [python.start, `${place}/reproduce.py`, ...args.map(shellQuote)].join(' ')
  const found = await bench.inSandbox(changed, async (sandbox) => {
    await sandbox.write(`${place}/reproduce.py`, pythonScript)
    await run(sandbox, call('collect', python.runner, `${place}/programs.json`, ...ids), bench.run, signal)
    const programs = parsed(z.array(programSchema), await textOf(sandbox, 'programs.json', signal)) ?? []
    return { programs, actual: programs.length > 0 ? await outcomes(sandbox) : [] }
  })
  if (found.programs.length === 0) return []
  const expected = await bench.inSandbox({}, async (sandbox) => {
    await sandbox.write(`${place}/reproduce.py`, pythonScript)
    await sandbox.write(`${place}/programs.json`, JSON.stringify(found.programs))
    return outcomes(sandbox)
  })
  return chooseExamples('python', found.programs, expected, found.actual)

  /** Run twice with different hash seeds: what depends on the order of a set is not the bug's doing. */
  async function outcomes(sandbox: Sandbox): Promise<z.output<typeof answers>> {
    const given: z.output<typeof answers>[] = []
    for (const seed of [1, 2]) {
      const command = call('run', `${place}/programs.json`, `${place}/answers.json`)
      await run(sandbox, `PYTHONHASHSEED=${seed} ${command}`, bench.run, signal)
      given.push(parsed(answers, await textOf(sandbox, 'answers.json', signal)) ?? [])
    }
    const [first = [], second = []] = given
    return first.map((one, i) => (JSON.stringify(one) === JSON.stringify(second[i]) ? one : null))
  }
}

/** How Python is started for the tests: variables, program and runner. */
function pythonRunner({ commands, format }: TestRun): { readonly start: string; readonly runner: string } | null {
  const form = /^((?:\w+=[^\s'"$`;|&]*\s+)*)(python[\d.]*)\s(?:.*?\s)?-m\s+(pytest|unittest)\b/
  const [, variables = '', program = '', runner] = form.exec(commands[0] ?? '') ?? []
  return runner !== undefined && format === runner ? { start: `${variables}${program}`, runner } : null
}

async function run(sandbox: Sandbox, command: string, { workdir, timeoutSec }: TestRun, signal: AbortSignal) {
  const limit = Math.min(300, timeoutSec)
  await sandbox.exec(
    ['timeout', '-k', '5', String(Math.ceil(limit)), 'sh', '-c', `export PYTHONDONTWRITEBYTECODE=1; ${command}`],
    {
      ...{ cwd: workdir, timeoutSec: limit + 30, signal },
    },
  )
}

async function textOf(sandbox: Sandbox, name: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await sandbox.exec(['head', '-c', '1000000', `${place}/${name}`], { cwd: '/', signal })
  return stdout
}

/** Parses what the sandbox wrote; null if it is invalid, because a test's program can write anything. */
function parsed<T>(schema: z.ZodType<T>, text: string): T | null {
  return schema.safeParse(parseJson(text)).data ?? null
}
