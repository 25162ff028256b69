import { z } from 'zod'
import type { Sandbox } from '../../../../core/sandbox.ts'
import { parseJson } from '../../../../lib/parse-json.ts'
import { shellQuote } from '../../../../lib/shell.ts'
import { asText, isTestFile } from '../../../shared/repositories/test-files.ts'
import type { Bench } from '../bench.ts'
import { parseSource } from '../source.ts'
import { type Answer, answerSchema, chooseExamples, type Example, type Program } from './example.ts'
import { programsOf } from './javascript-programs.ts'

const answers = z.object({ at: z.number().int(), answer: answerSchema })
/** The maximum number of calls tried, spread over the tests. */
const most = 200

/** The values checked by test assertions, with and without the bug. Null when there are no JavaScript tests. */
export async function javascriptExamples(
  changed: Readonly<Record<string, string>>,
  bench: Bench,
  signal: AbortSignal,
): Promise<Example[] | null> {
  if (bench.sources.every(({ language }) => language !== 'javascript')) return null
  const all = Object.entries(bench.files).flatMap(([path, { data }]) => {
    const source = isTestFile(path) ? parseSource(path, asText(data) ?? '') : null
    return source?.language === 'javascript' ? programsOf(source) : []
  })
  const step = Math.ceil(all.length / most)
  const programs = all.filter((_, i) => i % step === 0)
  if (programs.length === 0) return []
  const expected = wholes.get(bench) ?? runAll(programs, {}, bench, signal)
  wholes.set(bench, expected)
  expected.catch(() => wholes.delete(bench))
  return chooseExamples('javascript', programs, await expected, await runAll(programs, changed, bench, signal))
}

/** The results of programs without any bug, by repository. */
const wholes = new WeakMap<Bench, Promise<(Answer | null)[]>>()

async function runAll(
  programs: readonly Program[],
  changed: Readonly<Record<string, string>>,
  bench: Bench,
  signal: AbortSignal,
): Promise<(Answer | null)[]> {
  const { workdir } = bench.run
  return bench.inSandbox(changed, async (sandbox) => {
    const given: (Answer | null)[] = programs.map(() => null)
    // Programs with the same imports share a process.
    for (const imports of new Set(programs.map((program) => program.imports.join('\n')))) {
      const own = programs.flatMap((program, at) => (program.imports.join('\n') === imports ? [{ program, at }] : []))
      // Next to the source, so that imports look as a user of the project would write them.
      const file = `${workdir}/ot-agent-examples.${imports.includes('require(') ? 'cjs' : 'mjs'}`
      await sandbox.write(file, moduleOf(imports, own))
      for (const [at, answer] of await runModule(sandbox, file, workdir, signal)) given[at] = answer
    }
    return given
  })
}

async function runModule(
  sandbox: Sandbox,
  file: string,
  workdir: string,
  signal: AbortSignal,
): Promise<(readonly [number, Answer])[]> {
  const command = `timeout -k 5 30 node ${shellQuote(file)} 2>/dev/null < /dev/null | head -c 1000000`
  const { stdout } = await sandbox.exec(['sh', '-c', command], { cwd: workdir, timeoutSec: 60, signal })
  return stdout.split('\n').flatMap((line) => {
    const { data } = answers.safeParse(parseJson(line))
    return data ? [[data.at, data.answer] as const] : []
  })
}

function moduleOf(imports: string, own: readonly { readonly program: Program; readonly at: number }[]): string {
  const load = imports.includes('require(')
    ? "const { inspect: inspectAnswer } = require('node:util')"
    : "import { inspect as inspectAnswer } from 'node:util'"
  const functions = own.map(
    ({ program: { setup, expr }, at }) => `[${at}, async () => {\n${setup.join('\n')}\nreturn (${expr})\n}],`,
  )
  return `${imports}
${load}
const say = (at, answer) => process.stdout.write('\\n' + JSON.stringify({ at, answer }) + '\\n')
async function runAll() {
  for (const [at, run] of [
${functions.join('\n')}
  ]) {
    try {
      const value = await run()
      const listed = typeof value?.next === 'function'
      const text = inspectAnswer(listed ? [...value].slice(0, 100) : value, { depth: 6 })
      say(at, { kind: 'value', text, type: typeof value, plain: true, listed })
    } catch (error) {
      const text = \`\${error?.name}: \${error?.message}\`
      say(at, { kind: 'error', text, type: String(error?.name), plain: true, listed: false })
    }
  }
}
runAll()
`
}
