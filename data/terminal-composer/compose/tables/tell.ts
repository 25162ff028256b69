import type { Draws } from 'ot-agent'
import type { Draw } from '../work.ts'
import type { Fault } from './faults.ts'
import type { TableDraft } from './table-draft.ts'

/** The instruction of a task on records, paragraph by paragraph. */
export function tellTable(
  { random, root }: Draw,
  draft: TableDraft,
  bounds: readonly string[],
  script?: string,
): string[] {
  const { domain, from, to, chain, columns, partCount } = draft
  const place =
    partCount > 1 ? `the folder \`${root}/${draft.input}\` (${partCount} files)` : `\`${root}/${draft.input}\``
  const parts =
    partCount > 1
      ? [
          random.pick([
            'Read them in the order of their names; together they are one set of records.',
            'They belong together, one after the other in the order of their names.',
          ]),
        ]
      : []
  const form = `${random.pick(['Form of the input', 'How it is written', 'The format'])}: ${random.pick(from.describe(columns.before))}.`
  const opening = capital(random.pick(domain.openings).replace('FILE', place))
  const faults = [...draft.faults.cells, ...draft.faults.lines, ...draft.faults.files].map((fault) =>
    sayFault(random, fault, draft, root),
  )
  return [
    [opening, ...parts, form].join(' '),
    ...(faults.length > 0 ? [random.shuffle(faults).join(' ')] : []),
    tellSteps(
      random,
      chain.map(({ say }) => say),
    ),
    tellOutput(random, draft, { root, form: random.pick(to.describe(columns.after)), script }),
    ...(bounds.length > 0 ? [bounds.join(' ')] : []),
    ...(script === undefined && !bounds.some((bound) => /input/.test(bound))
      ? [random.pick(['Do not change the input.', 'The input stays as it is.', 'Leave the input untouched.'])]
      : []),
  ]
}

function sayFault(random: Draws, fault: Fault, { from, columns, rejects }: TableDraft, root: string): string {
  const categories = columns.before.filter(({ kind }) => kind === 'category').map(({ name }) => `\`${name}\``)
  const rule =
    from.separator === undefined
      ? 'it does not begin with `{` and end with `}`'
      : `it does not have exactly ${columns.before.length} fields`
  return random
    .pick(fault.say)
    .replace('CATEGORIES', categories.join(' and '))
    .replace('RULE', rule)
    .replace('REJECTS', `${root}/${rejects}`)
}

function tellSteps(random: Draws, says: readonly string[]): string {
  const [only] = says
  if (says.length === 1 && only !== undefined) return `${capital(only)}.`
  if (random.chance(0.5)) {
    const lead = random.pick(['What to do, in this order:', 'Do the following, one after the other:', 'The steps:'])
    return `${lead}\n\n${says.map((say, at) => `${at + 1}. ${capital(say)}.`).join('\n')}`
  }
  const links = ['First', 'Then', 'After that', 'Finally']
  return says.map((say, at) => `${at === says.length - 1 ? links[3] : links[at]}, ${say}.`).join(' ')
}

interface OutputPlace {
  readonly root: string
  readonly form: string
  readonly script: string | undefined
}

function tellOutput(
  random: Draws,
  { output, input, partCount, domain }: TableDraft,
  { root, form, script }: OutputPlace,
): string {
  if (script === undefined) {
    const folder = output.includes('/') ? ' (create the folder)' : ''
    return random.pick([
      `Write the result to \`${root}/${output}\`${folder}: ${form}. Every line ends with a line feed unless something else is said here.`,
      `The result belongs in \`${root}/${output}\`${folder}, in this form: ${form}. Lines end with a single line feed, the last one too, if nothing else is asked for.`,
    ])
  }
  const what = partCount > 1 ? 'a folder of such files' : 'such a file'
  return [
    `Do not do this by hand: write a bash script \`${root}/${script}\` that is called as \`bash ${root}/${script} INPUT OUTPUT\`, where INPUT is ${what} (like \`${root}/${input}\`) and OUTPUT is the file to write, in this form: ${form}. Lines end with a single line feed.`,
    `It will be tried on other ${domain.records} of the same form, from another folder, and twice in a row: the second call must give the same result. It must not touch its input and must end with exit code 0.`,
  ].join(' ')
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
