import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byExample } from '../../data/stackexchange/by-example.ts'
import { byProgram } from '../../data/stackexchange/by-program.ts'
import { provider, scratch, withSandboxes } from './kit.ts'

const block = (before: string, text: string) => ({ before, text, language: null })

/** A question with two files and a table, whose columns are padded with more spaces than the command prints. */
function row(commands: string | string[], title = 'Join the rows of two lists') {
  const code = [
    block('prices.txt', 'bread 2\nmilk 1\ntea 4\nsalt 3'),
    block('stock.txt', 'milk 30\nbread 12\nsalt 7'),
    block('I tried:', 'join prices.txt stock.txt'),
    block('It should be', 'bread  2  12\nmilk   1  30\nsalt   3  7'),
  ]
  const answer = { score: 4, accepted: true, body: '', code: [commands].flat().map((command) => block('', command)) }
  return { id: '7', source: 'unix', fields: { title, body: 'Both lists are unsorted.', code, answer } }
}

const joined = "awk 'NR == FNR { n[$1] = $2; next } $1 in n { print $0, n[$1] }' stock.txt prices.txt"
/** Prints the same for the shown input; without a price it also prints a line. */
const guessed = 'awk \'NR == FNR { n[$1] = $2; next } $1 != "tea" { print $0, n[$1] }\' stock.txt prices.txt'
const again = 'awk \'NR == FNR { n[$1] = $2; next } n[$1] != "" { print $1, $2, n[$1] }\' stock.txt prices.txt'

withSandboxes('Stack Exchange by example', () => {
  const at = { sandboxes: provider, signal: new AbortController().signal, workDir: join(scratch, 'se'), seed: 1 }
  const make = (asked: ReturnType<typeof row>) => byExample(asked, { ...at, isLast: false })

  test('code of an answer that prints a text of the question makes a task, whatever the words around it', async () => {
    const made = await make(row([joined, again]))
    expect(made).toMatchObject({
      instruction: expect.stringContaining('How many blanks are between words does not matter.'),
      files: { 'environment/stock.txt': {}, 'environment/prices.txt': {}, 'tests/expected.txt': {} },
    })
  })

  test.each([
    ['prints something else', row('sort prices.txt stock.txt'), 'no command prints what the question shows'],
    ['prints the same for all inputs', row("printf 'bread 2 12\\nmilk 1 30\\nsalt 3 7\\n' # prices.txt"), 'told apart'],
    ['answers a question that asks to explain', row('sort prices.txt', 'Why is join silent?'), 'explanation'],
  ])('code that %s makes none', async (_, asked, detail) => {
    expect(await make(asked)).toMatchObject({ drop: 'no-checkable-answer', detail: expect.stringContaining(detail) })
  })
  test('answers that print the same for what is shown, and not for other inputs, show that a question is ambiguous', async () => {
    for (const other of [guessed, `${joined} | sort`])
      expect(await make(row([joined, other]))).toMatchObject({ drop: 'answers-differ', id: '7' })
  })

  test('by program, answers that agree on what is shown have to agree on other inputs', async () => {
    const asked = (...commands: string[]) => {
      const whole = row(commands, 'Select the rows above 1')
      return byProgram({ ...whole, fields: { ...whole.fields, code: whole.fields.code.slice(0, 1) } }, at)
    }
    const above = "awk '$2 > 1' prices.txt"
    expect(await asked(above, "awk '$2 >= 2 { print }' prices.txt")).toMatchObject({ files: { 'tests/reference': {} } })
    expect(await asked(above, 'awk \'$1 != "milk"\' prices.txt')).toMatchObject({ drop: 'answers-differ', id: '7' })
  })
})
