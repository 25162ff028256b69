import type { MadeSoFar } from '../../../core/whole-set.ts'
import { renderYaml } from '../../../lib/render-yaml.ts'

/** What a card says about a dataset besides how it was made. */
export interface Card {
  readonly name: string
  readonly summary: string
  readonly tags: readonly string[]
  /** Parts that a reader loads by name: its splits, each a glob of files and a number of rows. */
  readonly configs: Readonly<
    Record<string, readonly { readonly split: string; readonly path: string; readonly rows: number }[]>
  >
  /** More Markdown, between the numbers and how it was made. */
  readonly sections: readonly string[]
}

/**
 * A dataset's README.md as the Hub reads it: metadata for loading at the top; counts, drops, decontamination and
 * lineage below.
 */
export function renderCard({ name, summary, tags, configs, sections }: Card, made: MadeSoFar): string {
  const splits = Object.values(configs).flat()
  const front = {
    pretty_name: name,
    tags: ['agent', 'ot-agent', ...(made.rehearsal ? ['rehearsal'] : []), ...tags],
    configs: Object.entries(configs).map(([config_name, list]) => ({
      config_name,
      data_files: list.map(({ split, path }) => ({ split, path })),
    })),
  }
  const body = [
    `# ${escaped(name)}`,
    ...(made.rehearsal ? [rehearsalWarning] : []),
    summary,
    table(
      ['files', 'rows'],
      splits.map(({ path, rows }) => [path, rows]),
    ),
    ...sections,
    '## Sources',
    table(
      ['source', 'rows', 'share'],
      Object.entries(made.sources).map(([source, rows]) => [source, rows, shareOf(rows, made.sources)]),
    ),
    '## How it was made',
    `Recipe \`${made.recipe}\`, seed ${made.seed}. Rows that each stage took and gave, and why it dropped others:`,
    stageTable(made),
    ...replayOf(made),
    ...decontaminationOf(made),
    '## Lineage',
    'Every row has an `id`. `lineage` names the pipeline, the row of its source and that row’s SHA-256, the seed, and the model and prompt where one took part; the digest of the task’s content names the very task. `ot-agent recipe lineage ID -o RUN` walks a row through every stage of the run that made it.',
  ]
  return `---\n${renderYaml(front, { lineWidth: 0 })}---\n\n${body.join('\n\n')}\n`
}

const rehearsalWarning =
  '**This is a rehearsal, not a dataset.** Its rows were made from fixtures with a stand-in for the teacher, to see that every stage of the recipe works. Do not train on it.'

function shareOf(rows: number, sources: MadeSoFar['sources']): string {
  const all = Object.values(sources).reduce((sum, each) => sum + each, 0)
  return `${((100 * rows) / all).toFixed(1)} %`
}

function stageTable({ stages }: MadeSoFar): string {
  const rows = stages.flatMap(({ id, use, count }) => {
    if (count === null) return []
    const drops = Object.entries(count.drops).map(([reason, dropped]) => `${reason} ${dropped}`)
    return [[id, use, count.taken === 0 ? '' : count.taken, count.given, drops.join(', ')]]
  })
  return table(['stage', 'use', 'taken', 'given', 'dropped'], rows)
}

/** The result of replaying a sample. */
function replayOf({ replay }: MadeSoFar): readonly string[] {
  if (replay === undefined) return []
  if (replay === null) return ['## Replay', 'No row was replayed before this dataset was written.']
  const { rows, holds, trouble } = replay
  const found = `Before this dataset was written, ${rows} of its rows were replayed: their assistant turns were played back to the same agent, on the same task in a fresh sandbox. ${holds} of ${rows} hold: the agent sent the same messages, but for clocks and random names.`
  return ['## Replay', found, ...(trouble === null ? [] : [`One that does not: ${escaped(trouble)}.`])]
}

/** The reports of stages that compared rows with benchmarks. */
function decontaminationOf({ stages }: MadeSoFar): readonly string[] {
  const reports: string[] = []
  for (const { id, result } of stages) {
    const { schema, words, similarity, benchmarks, waived, dropped } = Object(result)
    if (schema !== 'decontamination/1') continue
    const named = (Array.isArray(benchmarks) ? benchmarks : []).map((each) => {
      const { name, tasks, pack } = Object(each)
      return [name, pack === undefined ? tasks : `${tasks} of ${pack}`]
    })
    reports.push(
      `Stage \`${escaped(id)}\` drops what shares ${words} words in a row with a benchmark task, or is ${similarity} alike: ${dropped} ${dropped === 1 ? 'row' : 'rows'}.`,
      table(['benchmark', 'tasks compared'], named),
      `Not compared, by the recipe’s own word: ${escaped((Array.isArray(waived) ? waived : []).join(', ')) || 'none'}.`,
    )
  }
  return [
    '## Decontamination',
    ...(reports.length > 0 ? reports : ['This recipe compared its rows with no benchmark.']),
  ]
}

function table(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  if (rows.length === 0) return 'None.'
  const line = (cells: readonly unknown[]) => `| ${cells.map((cell) => escaped(String(cell))).join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Names are untrusted: no markup, no line breaks. */
function escaped(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').replace(/[\\*[\]<>|#]/g, (sign) => `\\${sign}`)
}
