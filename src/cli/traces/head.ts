import { Command } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { type HeadRow, headRows } from '../../app/traces/head-rows.ts'
import { oneLine, visible, visibleJson } from '../../lib/visible.ts'
import { shortened } from '../fit.ts'
import { note } from '../output.ts'

/** `ot-agent traces head`: prints the first rows of a dataset. */
export default () =>
  new Command()
    .description(
      'Prints the first rows of a dataset of conversations, message by message. It can be any dataset: parquet or JSON Lines ' +
        'with ShareGPT conversations or messages.\n' +
        'Control characters are shown as escapes.',
    )
    .argument(
      '<dataset>',
      'a .parquet, .jsonl, .json, .csv or .xlsx file, a folder or pattern of such files, or the run of a recipe',
    )
    .option('-n, --rows <n>', 'number of rows', wholeNumber(1), 3)
    .option('--full', 'do not shorten long texts')
    .option('--json', 'print each row as one line of JSON, with every column')
    .action(async (dataset, { rows, full, json }) => {
      let seen = 0
      for await (const row of headRows(dataset, rows)) {
        seen++
        process.stdout.write(json ? `${visibleJson(JSON.stringify(row.row))}\n` : `${render(row, full === true)}\n`)
      }
      if (seen === 0) note('the dataset has no rows')
    })

/** Only the beginning and end of a longer text are printed. */
const shownChars = 1200

function render({ number, facts, messages, row }: HeadRow, full: boolean): string {
  const { id, task, source, result, model } = facts
  const named = [id, task && `task ${task}`, source && `from ${source}`, result && `result ${result}`, model]
  const sizes = [`${facts.turns} turns`, `about ${facts.tokens} tokens`]
  const head = [`== row ${number}`, ...[...named, ...sizes].filter((fact) => fact !== null && fact !== '')].join(' · ')
  const parts = messages.flatMap(({ role, reasoning, content, calls }): [string, string][] => [
    ...(reasoning === null ? [] : [[`${role} thinks`, reasoning] as [string, string]]),
    ...(content.trim() === '' ? [] : [[role, content] as [string, string]]),
    ...calls.map((call): [string, string] => [`${role} calls ${call.name}`, call.arguments]),
  ])
  if (parts.length === 0) parts.push(['columns', JSON.stringify(row, null, 2)])
  const limit = full ? Number.POSITIVE_INFINITY : shownChars
  return `${oneLine(head)}\n${parts.map(([who, text]) => `${oneLine(who)}:\n${indented(text, limit)}`).join('\n')}\n`
}

function indented(text: string, limit: number): string {
  return visible(shortened(text.replace(/\s+$/, ''), limit)).replace(/^/gm, '    ')
}
