import { shellQuote } from 'ot-agent'
import { byLevel, type Draw, file, type Operation, type Probe, type Tree, type Work } from '../work.ts'
import { type Constraint, constraints, type Output } from './constraints.ts'
import { tableDomains } from './domains.ts'
import { drawFaults, drawInput, type Faults, readerShell } from './input.ts'
import { shapes } from './shapes.ts'
import { type DrawnStep, phases, type Step } from './step.ts'
import { arrangeSteps } from './steps-arrange.ts'
import { enrichSteps } from './steps-enrich.ts'
import { filterSteps } from './steps-filter.ts'
import { reduceSteps } from './steps-reduce.ts'
import { beginTable, type Table, type TableDomain } from './table.ts'
import type { TableDraft } from './table-draft.ts'
import { tellTable } from './tell.ts'

const steps: readonly Step[] = [...filterSteps, ...enrichSteps, ...reduceSteps, ...arrangeSteps]

/** Every step as an operation: it is always part of the chain, and others may come before and after it. */
export const tableOperations: readonly Operation[] = steps.map((step) => ({
  name: step.name,
  domains: tableDomains.map(({ name }) => name),
  make: (draw, domainName) => {
    const domain = tableDomains.find(({ name }) => name === domainName)
    if (!domain) throw new Error(`no table domain ${domainName}`)
    return composeTable(draw, domain, step)
  },
}))

function composeTable(draw: Draw, domain: TableDomain, main: Step): Work | null {
  const drawn = drawTable(draw, domain, main)
  if (!drawn) return null
  const { draft, input } = drawn
  const { from, to, faults, partCount } = draft
  const partNames = partPaths(draw, draft)
  const extras = draft.chain.flatMap((step) => Object.entries(step.extras ?? {}))
  const before: Tree = {
    ...Object.fromEntries(extras.map(([path, text]) => [path, file(text)])),
    ...Object.fromEntries(partNames.map((path, at) => [path, file(input.parts[at] ?? '')])),
  }
  const axes = {
    domain: domain.name,
    operation: main.name,
    shape: `${from.name}-to-${to.name}${partCount > 1 ? '-in-parts' : ''}`,
    faults: [...faults.cells, ...faults.lines, ...faults.files].map(({ name }) => name),
  }
  const wantsScript = draw.level !== 'easy' && input.rejects === null && draw.random.chance(0.25)
  const work = wantsScript ? scriptWork : fileWork
  return work(draw, drawn, { before, axes, partNames })
}

/** A task on records with its data: the input and the expected result. */
interface DrawnTable {
  readonly draft: TableDraft
  readonly input: ReturnType<typeof drawInput>
  readonly result: Table
  /** The same task with other data. */
  readonly again: (label: string) => { readonly parts: readonly Buffer[]; readonly result: Table }
}

function drawTable(draw: Draw, domain: TableDomain, main: Step): DrawnTable | null {
  const { random, level } = draw
  const rowCount = random.int(byLevel(level, 14, 40, 90), byLevel(level, 40, 90, 240))
  const begin = beginTable(domain, random)
  const from = random.pick(shapes)
  const faults = drawFaults(random, from, byLevel(level, random.int(0, 1), random.int(1, 2), random.int(2, 4)))
  const partCount = level === 'easy' || random.chance(0.6) ? 1 : random.int(2, 5)
  const inputFrom = (draws: Draw['random']) =>
    drawInput(draws, begin(draws, rowCount), { shape: from, faults, partCount })
  const input = inputFrom(random)
  const chain = drawChain(draw, domain, main, input.clean)
  if (!chain) return null
  const outcome = (table: Table) => chain.reduce((at, step) => step.apply(at), table)
  const result = outcome(input.clean)
  if (result.rows.length < 2) return null
  const again = (label: string) => {
    const { parts, clean } = inputFrom(random.fork(label))
    return { parts, result: outcome(clean) }
  }
  const columns = { before: input.clean.columns, after: result.columns }
  const draft = { domain, chain, from, to: random.pick(shapes), faults, partCount, columns }
  return { draft: { ...draft, ...drawNames(draw, draft) }, input, result, again }
}

function drawNames({ random }: Draw, draft: Omit<TableDraft, 'input' | 'output' | 'rejects'>) {
  const { domain, from, to, faults, partCount } = draft
  const stem = random.pick(domain.stems)
  const folder = random.pick(['', '', 'out/', 'report/', 'done/'])
  return {
    input: partCount > 1 ? stem : `${stem}.${from.ending}${compression(faults)}`,
    output: `${folder}${random.pick(['result', 'summary', 'selected', 'answer', 'prepared'])}.${to.ending}`,
    rejects: random.pick(['rejects.txt', 'broken-lines.txt', 'set-aside.txt']),
  }
}

function compression({ files }: Faults): string {
  return files.find(({ ending }) => ending)?.ending ?? ''
}

/** What both kinds of work share. */
interface Given {
  readonly before: Tree
  readonly axes: Omit<Work['axes'], 'constraints'>
  readonly partNames: readonly string[]
}

/** The work is done once and leaves a file that has to be correct and meet some more conditions. */
function fileWork(draw: Draw, { draft, input, result }: DrawnTable, { before, axes, partNames }: Given): Work {
  const text = draft.to.render(result)
  const chosen = drawConstraints(draw)
  const others = {
    made: input.rejects !== null || chosen.some(({ on }) => on === 'beside'),
    read: draft.chain.flatMap(({ extras = {} }) => Object.keys(extras)),
  }
  const output: Output = { path: draft.output, text, table: result, shape: draft.to, inputs: partNames, others }
  const bounds = chosen.map((constraint) => constraint.draw(output, draw.random, draw.words))
  const after: Record<string, Tree[string]> = { ...before, [draft.output]: file(text) }
  if (input.rejects) after[draft.rejects] = file(input.rejects.map((line) => `${line}\n`).join(''))
  for (const [path, entry] of bounds.flatMap(({ after: over }) => Object.entries(over ?? {}))) {
    if (entry === null) delete after[path]
    else after[path] = merge(after[path], entry, text)
  }
  const says = bounds.map(({ say }) => say)
  const shells = bounds.flatMap(({ shell }) => (shell ? [shell] : []))
  return {
    ask: tellTable(draw, draft, says),
    before,
    after,
    closed: bounds.some((bound) => bound.closed),
    probes: bounds.flatMap((bound): readonly Probe[] => bound.probes ?? []),
    solve: solveShell(draw.root, draft, partNames, shells),
    axes: { ...axes, constraints: chosen.map(({ name }) => name) },
  }
}

/** The main step surrounded by steps of other phases, more of them at harder levels. */
function drawChain(
  { random, words, level, root }: Draw,
  domain: TableDomain,
  main: Step,
  clean: Table,
): DrawnStep[] | null {
  // Reducing records would lose what another step adds to them, so a chain does only one of the two.
  const middle = main.phase === 'filter' || main.phase === 'arrange' ? [random.pick(['enrich', 'reduce'] as const)] : []
  const around = ['filter', 'filter', ...middle, 'arrange'].filter(
    (phase) => phase === 'filter' || phase !== main.phase,
  )
  const others = random.few(around, byLevel(level, random.int(0, 1), random.int(1, 2), random.int(2, 3)))
  const kinds = new Set([main, ...others.map((phase) => random.pick(steps.filter((step) => step.phase === phase)))])
  const inOrder = phases.flatMap((phase) => [...kinds].filter((step) => step.phase === phase))
  const chain: DrawnStep[] = []
  const usedFiles = new Set<string>()
  let table = clean
  for (const step of inOrder) {
    if (table.rows.length < 2) return null
    const at = { random, words, table, record: domain.record, records: domain.records, root }
    const drawn = canDraw(step, table) ? step.draw(at) : null
    const files = Object.keys(drawn?.extras ?? {})
    if (!drawn || files.some((path) => usedFiles.has(path))) {
      if (step === main) return null
      continue
    }
    for (const path of files) usedFiles.add(path)
    chain.push(drawn)
    const next = drawn.apply(table)
    // A filter that passes everything asks for nothing.
    if (step.phase === 'filter' && next.rows.length === table.rows.length) return null
    table = next
  }
  return chain
}

/** Reducing records removes columns of some kinds. */
function canDraw(step: Step, table: Table): boolean {
  if (step.phase !== 'arrange') return true
  return table.columns.some(({ kind }) => kind === 'int' || kind === 'money')
}

function drawConstraints({ random, level }: Draw): Constraint[] {
  const count = byLevel(level, random.int(0, 1), random.int(1, 2), random.int(1, 3))
  const chosen: Constraint[] = []
  for (const constraint of random.shuffle(constraints)) {
    const isFree = chosen.every(
      (other) =>
        other.on !== constraint.on &&
        !(isForm(other) && needsPlain(constraint)) &&
        !(isForm(constraint) && needsPlain(other)),
    )
    if (chosen.length < count && isFree) chosen.push(constraint)
  }
  // Extra files come after the form and before the mode; the source goes last.
  return ['form', 'beside', 'mode', 'source', 'rest'].flatMap((on) =>
    chosen.filter((constraint) => constraint.on === on),
  )
}

const isForm = ({ on }: Constraint) => on === 'form'
const needsPlain = ({ on }: Constraint) => on === 'beside' || on === 'mode'

/** A later constraint may add a mode to what an earlier one wrote. */
function merge(old: Tree[string] | undefined, entry: Tree[string], plain: string): Tree[string] {
  if (old?.kind === 'file' && entry.kind === 'file' && entry.data === plain) return { ...old, ...entry, data: old.data }
  return entry
}

function partPaths({ random }: Draw, { input, from, faults, partCount }: TableDraft): string[] {
  if (partCount === 1) return [input]
  const prefix = random.pick(['part-', 'week ', 'file ', 'batch_'])
  const ending = `${from.ending}${compression(faults)}`
  return Array.from({ length: partCount }, (_, at) => `${input}/${prefix}${String(at + 1).padStart(2, '0')}.${ending}`)
}

function pipeline({ chain, from, faults, columns }: TableDraft, parts: string, rejects: string): string {
  const reader = readerShell(parts, { shape: from, columns: columns.before, faults, rejects })
  return [reader, ...chain.map(({ shell }) => shell)].join(' |\n  ')
}

function solveShell(root: string, draft: TableDraft, partNames: readonly string[], more: readonly string[]): string {
  const parts = partNames.map(shellQuote).join(' ')
  return `out=${draft.output}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$(dirname "$out")"
${pipeline(draft, parts, `${root}/${draft.rejects}`)} > "$work/records.tsv"
records() { cat "$work/records.tsv"; }
present() { ${draft.to.write(draft.columns.after)}; }
records | present > "$out"
${more.join('\n')}
`
}

/** The same work, but as a script that has to handle unseen data. */
function scriptWork(draw: Draw, { draft, again }: DrawnTable, { before, axes, partNames }: Given): Work | null {
  const { random, root } = draw
  const script = `${random.pick(['run', 'convert', 'process', 'job', 'make-report'])}.sh`
  const hidden: Record<string, Buffer> = {}
  const probes: Probe[] = []
  for (const label of ['1', '2']) {
    const { parts, result } = again(`hidden ${label}`)
    if (result.rows.length === 0) return null
    parts.forEach((data, at) => {
      hidden[`${label}/${partNames[at]}`] = data
    })
    const input = `"$scratch/in/${draft.input}"`
    // Twice, because repeating the work must change nothing.
    const run = `bash "${root}/${script}" ${input} "$scratch/result"`
    const command = `mkdir "$scratch/in" && cp -r "$hidden/${label}/." "$scratch/in" && cd "$scratch" && ${run} > /dev/null && ${run} > /dev/null && cat "$scratch/result"`
    probes.push({ command, stdout: draft.to.render(result) })
  }
  const body = pipeline(draft, draft.partCount > 1 ? '"$1"/*' : '"$1"', '/dev/null')
  return {
    ask: tellTable(draw, draft, [], script),
    before,
    after: { ...before, [script]: { kind: 'some' } },
    closed: false,
    probes,
    hidden,
    solve: `cat > ${script} <<'END_OF_SCRIPT'
#!/bin/bash
set -euo pipefail
export LC_ALL=C
present() { ${draft.to.write(draft.columns.after)}; }
${body} |
  present > "$2"
END_OF_SCRIPT
chmod 755 ${script}
`,
    axes: { ...axes, constraints: ['as-script', 'idempotent'] },
  }
}
