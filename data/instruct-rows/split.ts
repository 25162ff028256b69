import { type RawRow, z } from 'ot-agent'

const paper = z.object({
  title: z.string(),
  abstract: z.string(),
  full_text: z.object({ section_name: z.array(z.string().nullable()), paragraphs: z.array(z.array(z.string())) }),
  qas: z.object({
    question: z.array(z.string()),
    question_id: z.array(z.string()),
    answers: z.array(
      z.object({
        answer: z.array(
          z.object({
            unanswerable: z.boolean(),
            extractive_spans: z.array(z.string()),
            yes_no: z.boolean().nullable(),
            free_form_answer: z.string(),
          }),
        ),
      }),
    ),
  }),
})

/**
 * A paper with its questions, one row per question. A question that the paper leaves open has no answer to check
 * against.
 */
export function splitPaper(row: RawRow): RawRow[] {
  const parsed = paper.safeParse(row.fields)
  if (!parsed.success) return [row]
  const { title, abstract, full_text, qas } = parsed.data
  const sections = full_text.section_name.map(
    (name, i) => `## ${name ?? ''}\n\n${full_text.paragraphs[i]?.join('\n\n')}`,
  )
  const text = [`# ${title}`, abstract, ...sections].join('\n\n')
  return qas.question.map((question, i) => {
    const answers = (qas.answers[i]?.answer ?? []).flatMap(
      ({ unanswerable, extractive_spans, yes_no, free_form_answer }) => {
        if (unanswerable) return []
        if (yes_no !== null) return [yes_no ? 'yes' : 'no']
        return [free_form_answer, ...(extractive_spans.length === 1 ? extractive_spans : [])].filter(
          (answer) => answer !== '',
        )
      },
    )
    const fields = { title, question, paper: text, answers }
    return { id: `${row.id}-${qas.question_id[i] ?? i}`, source: row.source, fields }
  })
}

const scenario = z.object({
  user_scenario: z.object({ instructions: z.string() }),
  evaluation_criteria: z.object({
    actions: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })),
  }),
})

/** A customer's request and the calls that fulfil it. Only the check knows which calls and values are correct. */
export function splitScenario(row: RawRow): RawRow[] {
  const parsed = scenario.safeParse(row.fields)
  if (!parsed.success) return [row]
  const { user_scenario, evaluation_criteria } = parsed.data
  const { actions } = evaluation_criteria
  const tools = new Map(actions.map(({ name, arguments: values }) => [name, Object.keys(values).sort()]))
  const calls = actions.map(({ name, arguments: values }) => {
    const given = Object.keys(values)
      .sort()
      .map((key) => `${key}=${String(values[key])}`)
    return `${name}(${given.join(', ')})`
  })
  const listed = [...tools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, keys]) => `- ${name}(${keys.join(', ')})`)
  const fields = { said: user_scenario.instructions, tools: listed.join('\n'), calls: calls.join('; ') }
  return [{ id: row.id, source: row.source, fields }]
}
