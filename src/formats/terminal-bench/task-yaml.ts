import { YAMLParseError } from 'yaml'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { readYaml } from '../../lib/read-yaml.ts'
import { refuseIn, refuseIssue } from '../harbor-task/schema.ts'

/** A Terminal-Bench task.yaml in our types. */
export interface TaskYaml {
  readonly instruction: string
  readonly agentTimeoutSec: number
  readonly testTimeoutSec: number
  readonly parserName: string
  readonly runsTestsInAgentShell: boolean
  /** Everything that has no other place in a Harbor task. */
  readonly metadata: Readonly<Record<string, unknown>>
}

const seconds = z.number({ error: 'a number of seconds' }).positive({ error: 'more than 0 seconds' })

const schema = z.looseObject(
  {
    instruction: z.string({ error: 'the text of the instruction' }).optional(),
    // The oldest tasks have several wordings; the benchmark used `base`.
    descriptions: z.array(z.object({ key: z.string(), description: z.string() }), { error: 'a list' }).optional(),
    max_agent_timeout_sec: seconds.default(360),
    max_test_timeout_sec: seconds.default(60),
    parser_name: z.string({ error: 'the name of a parser' }).optional(),
    run_tests_in_same_shell: z.boolean({ error: 'true or false' }).default(false),
  },
  { error: 'a map of keys' },
)

/** Parses a task.yaml; `file` is its name in messages. */
export function parseTaskYaml(text: string, file: string): TaskYaml {
  const raw = parseYaml(text, file)
  const parsed = schema.safeParse(raw)
  if (!parsed.success) return refuseIssue(parsed.error, raw, refuseIn(file))
  const { instruction, descriptions, max_agent_timeout_sec, max_test_timeout_sec, ...rest } = parsed.data
  const { run_tests_in_same_shell: runsTestsInAgentShell, ...metadata } = rest
  const wording = instruction ?? descriptions?.find(({ key }) => key === 'base')?.description
  if (wording === undefined) {
    throw new UserError(
      `${file}: expected an instruction, found none`,
      'a Terminal-Bench task.yaml says what to do under instruction:',
    )
  }
  return {
    instruction: wording.endsWith('\n') ? wording : `${wording}\n`,
    agentTimeoutSec: max_agent_timeout_sec,
    testTimeoutSec: max_test_timeout_sec,
    parserName: rest.parser_name ?? 'pytest',
    runsTestsInAgentShell,
    metadata,
  }
}

/** Parses YAML; a syntax error is a UserError with line and column. */
export function parseYaml(text: string, file: string): unknown {
  try {
    return readYaml(text, { merge: true })
  } catch (error) {
    const isTheirs = [YAMLParseError, ReferenceError, SyntaxError].some((kind) => error instanceof kind)
    if (!isTheirs || !(error instanceof Error)) throw error
    const at = error instanceof YAMLParseError ? error.linePos?.[0] : undefined
    const place = at ? `:${at.line}:${at.col}` : ''
    const reason = error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '')
    throw new UserError(`${file}${place}: expected YAML, got an error: ${reason}`, `correct ${file}`)
  }
}
