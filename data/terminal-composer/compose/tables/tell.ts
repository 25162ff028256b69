import type { Words } from '../wording.ts'
import type { Draw } from '../work.ts'
import type { Fault } from './faults.ts'
import type { TableDraft } from './table-draft.ts'

/** The instruction of a task on records, paragraph by paragraph. */
export function tellTable(
  { random, words, root }: Draw,
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
          words.say(
            random.pick([
              'Read them in the order of their names; together they are one set of records.',
              'They belong together, one after the other in the order of their names.',
            ]),
            [
              'Taken in the order of their names, the files form a single set of records.',
              'Treat them as one set of records, sorted by file name.',
              'Each file holds a part of the records: go through the files by name, from first to last.',
              'Joined in name order, these files make up one list of records.',
            ],
          ),
        ]
      : []
  const label = words.say(random.pick(['Form of the input', 'How it is written', 'The format']), [
    'Input format',
    'What it looks like',
    'The data has this form',
    'Layout of the data',
  ])
  const form = `${label}: ${words.say(random.pick(from.describe(columns.before)), from.describeElse(columns.before))}.`
  const opening = capital(words.say(random.pick(domain.openings), domain.moreOpenings).replace('FILE', place))
  const faults = [...draft.faults.cells, ...draft.faults.lines, ...draft.faults.files].map((fault) =>
    sayFault({ random, words }, fault, draft, root),
  )
  return [
    [opening, ...parts, form].join(' '),
    ...(faults.length > 0 ? [random.shuffle(faults).join(' ')] : []),
    tellSteps(
      { random, words },
      chain.map(({ say }) => say),
    ),
    tellOutput({ random, words }, draft, {
      root,
      form: words.say(random.pick(to.describe(columns.after)), to.describeElse(columns.after)),
      script,
    }),
    ...(bounds.length > 0 ? [bounds.join(' ')] : []),
    ...(script === undefined && !bounds.some((bound) => /input/.test(bound))
      ? [
          words.say(
            random.pick(['Do not change the input.', 'The input stays as it is.', 'Leave the input untouched.']),
            [
              'The input must be the same afterwards.',
              'Only read the input; never write to it.',
              'Nothing about the input may change.',
              'Make no changes to the input data.',
            ],
          ),
        ]
      : []),
  ]
}

/** What chooses between wordings. */
type Saying = Pick<Draw, 'random' | 'words'>

function sayFault(
  { random, words }: Saying,
  fault: Fault,
  { from, columns, rejects }: TableDraft,
  root: string,
): string {
  const categories = columns.before.filter(({ kind }) => kind === 'category').map(({ name }) => `\`${name}\``)
  const rule =
    from.separator === undefined
      ? 'it does not begin with `{` and end with `}`'
      : `it does not have exactly ${columns.before.length} fields`
  return words
    .say(random.pick(fault.say), fault.sayElse)
    .replace('CATEGORIES', categories.join(' and '))
    .replace('RULE', rule)
    .replace('REJECTS', `${root}/${rejects}`)
}

function tellSteps({ random, words }: Saying, says: readonly string[]): string {
  const [only] = says
  if (says.length === 1 && only !== undefined) return `${capital(only)}.`
  if (random.chance(0.5)) {
    const lead = words.say(
      random.pick(['What to do, in this order:', 'Do the following, one after the other:', 'The steps:']),
      ['Go through these steps in order:', 'Work in this order:', 'Please do this, step by step:', 'To do:'],
    )
    return `${lead}\n\n${says.map((say, at) => `${at + 1}. ${capital(say)}.`).join('\n')}`
  }
  const links = [
    words.say('First', ['To begin with', 'To start with', 'First of all']),
    words.say('Then', ['Next', 'Afterwards', 'Second']),
    words.say('After that', ['Next', 'Following that', 'Third']),
    words.say('Finally', ['Last of all', 'In the end', 'As the last step']),
  ]
  return says.map((say, at) => `${at === says.length - 1 ? links[3] : links[at]}, ${say}.`).join(' ')
}

interface OutputPlace {
  readonly root: string
  readonly form: string
  readonly script: string | undefined
}

function tellOutput(
  { random, words }: Saying,
  { output, input, partCount, domain }: TableDraft,
  { root, form, script }: OutputPlace,
): string {
  if (script === undefined) {
    const folder = output.includes('/') ? ' (create the folder)' : ''
    const usual = random.pick([
      `Write the result to \`${root}/${output}\`${folder}: ${form}. Every line ends with a line feed unless something else is said here.`,
      `The result belongs in \`${root}/${output}\`${folder}, in this form: ${form}. Lines end with a single line feed, the last one too, if nothing else is asked for.`,
    ])
    return words.say(usual, [
      `Save what comes out as \`${root}/${output}\`${folder}. Its format: ${form}. End each line, including the last, with a line feed, except where this text says otherwise.`,
      `I expect the outcome in \`${root}/${output}\`${folder}, laid out as follows: ${form}. Unless stated otherwise, every line is terminated by one line feed.`,
      `Output: \`${root}/${output}\`${folder}. Format of the output: ${form}. Each line (also the final one) ends in a line feed if nothing else is requested.`,
      `Put the result into \`${root}/${output}\`${folder}; it must be written like this: ${form}. A line feed ends every line unless you are told otherwise here.`,
    ])
  }
  return tellScript(words, { input, partCount, domain, root, form, script })
}

type ScriptPlace = Pick<TableDraft, 'input' | 'partCount' | 'domain'> & OutputPlace

function tellScript(words: Words, { input, partCount, domain, root, form, script }: ScriptPlace): string {
  const what = partCount > 1 ? 'a folder of such files' : 'such a file'
  const call = `\`bash ${root}/${script} INPUT OUTPUT\``
  return [
    words.say(
      `Do not do this by hand: write a bash script \`${root}/${script}\` that is called as ${call}, where INPUT is ${what} (like \`${root}/${input}\`) and OUTPUT is the file to write, in this form: ${form}. Lines end with a single line feed.`,
      [
        `What I want is a bash script, \`${root}/${script}\`, not a result. It is run as ${call}: it reads INPUT, ${what} (like \`${root}/${input}\`), and writes the file OUTPUT in this form: ${form}. Every line ends with one line feed.`,
        `Put this into a bash script \`${root}/${script}\`. I will call it as ${call}. INPUT names ${what}, for example \`${root}/${input}\`; OUTPUT names the file that the script creates, in this form: ${form}. A single line feed ends each line.`,
        `Automate this as the bash script \`${root}/${script}\`, with two arguments: ${call}. The first is ${what} (for example \`${root}/${input}\`), the second the file for the result, which has this form: ${form}. Each line ends with a single line feed.`,
      ],
    ),
    words.say(
      `It will be tried on other ${domain.records} of the same form, from another folder, and twice in a row: the second call must give the same result. It must not touch its input and must end with exit code 0.`,
      [
        `I will run it on different ${domain.records} in the same format, from a different working directory, and twice in a row; the second run must produce the same result. It leaves its input alone and exits with code 0.`,
        `Other ${domain.records} of the same form will be fed to it, from another directory, and each call is repeated once: the repetition must give the same result. Its exit code must be 0, and its input must stay unchanged.`,
        `It has to work from any folder and for other ${domain.records} in this format. Calling it again must give the same result. It must not modify its input, and its exit code must be 0.`,
      ],
    ),
  ].join(' ')
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
