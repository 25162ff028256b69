// Runs the benchmarks of bench/*.ts, each in its own process: node scripts/bench.mjs [--json] [--only NAME]...
// Results go into the table of docs/performance.md; benchmarks that did not run keep their rows there.
// A benchmark's default export is { name, run(): Promise<Row[]> }, with Row = { name, value, unit, goal?, ok? }. A missed goal is
// reported and is no error: time on a shared machine is not a test.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, makeScratchDir } from './bundle.mjs'

const options = parseOptions()
const names = chosenBenches(options.only ?? [])
const dir = makeScratchDir()
const results = []
for (const name of names) results.push(await runBench(name))
if (options.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`)
else printTable(results)
savePage('docs/performance.md', results)
process.exitCode = results.some((result) => result.error !== undefined) ? 1 : 0

function parseOptions() {
  try {
    return parseArgs({ options: { json: { type: 'boolean' }, only: { type: 'string', multiple: true } } }).values
  } catch (error) {
    fail(error.message, 'usage: npm run bench -- [--json] [--only NAME]')
  }
}

function chosenBenches(only) {
  const files = readdirSync('bench').filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const known = files.map((file) => basename(file, '.ts')).sort()
  const unknown = only.find((name) => !known.includes(name))
  if (unknown !== undefined) fail(`unknown bench ${JSON.stringify(unknown)}`, `known: ${known.join(', ')}`)
  return only.length === 0 ? known : only
}

async function runBench(name) {
  process.stderr.write(`bench ${name} ...\n`)
  const program = await bundle(join('bench', `${name}.ts`), dir)
  const main = join(dir, `${name}.main.mjs`)
  writeFileSync(
    main,
    `import bench from ${JSON.stringify(program)}\nprocess.send(await bench.run(), () => process.exit(0))\n`,
  )
  // What a bench prints is progress, so it goes to stderr; its rows arrive as a message.
  const child = spawn(process.execPath, ['--enable-source-maps', main], { stdio: ['ignore', 2, 2, 'ipc'] })
  const [rows, code] = await rowsOf(child)
  return rows === undefined
    ? { bench: name, rows: [], error: `ended with ${code} before it returned its rows` }
    : { bench: name, rows }
}

function rowsOf(child) {
  return new Promise((resolve, reject) => {
    let rows
    child.on('message', (message) => {
      rows = message
    })
    child.on('error', reject)
    child.on('close', (code, signal) => resolve([rows, signal ?? `exit code ${code}`]))
  })
}

function printTable(results) {
  const lines = [['bench', 'measure', 'value', 'unit', 'goal', '']]
  for (const { bench, rows, error } of results) {
    if (error !== undefined) lines.push([bench, error, '', '', '', 'failed'])
    for (const row of rows) lines.push([bench, row.name, shown(row.value), row.unit, shown(row.goal), verdict(row)])
  }
  const widths = lines[0].map((_, i) => Math.max(...lines.map((line) => line[i].length)))
  for (const line of lines)
    process.stdout.write(
      `${line
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd()}\n`,
    )
}

/** Updates the Markdown table of all benches, ordered by name. */
function savePage(path, results) {
  const now = new Date().toISOString().slice(0, 10)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const kept = lines.filter((line) => /^\| [a-z]/.test(line) && !line.startsWith('| bench |'))
  const ran = new Set(results.filter(({ error }) => error === undefined).map(({ bench }) => bench))
  const fresh = results.flatMap(({ bench, rows }) =>
    rows.map((row) => [bench, row.name, shown(row.value), row.unit, shown(row.goal), verdict(row), now]),
  )
  const table = [
    ...kept.filter((line) => !ran.has(line.slice(2).split(' |')[0])),
    ...fresh.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`),
  ]
  const order = (line) => line.slice(2).split(' |')[0]
  table.sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0))
  const [{ model = 'unknown' } = {}] = cpus()
  const machine = `${cpus().length} x ${model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
  writeFileSync(
    path,
    `# Performance

\`npm run bench\` writes this page and replaces the rows of the benchmarks it runs; \`--only NAME\` runs one of bench/. The last run was on ${machine}.
Each row has the date it was measured. On a shared machine figures are worse than they could be, so a missed goal is a hint, not a failure.
How the bench \`harbor\` compares with the real Harbor, and its latest figures: [0085](decisions/0085-fewer-calls-of-container-engines.md).

| bench | measure | value | unit | goal | | on |
|---|---|--:|---|--:|---|---|
${table.join('\n')}
`,
  )
}

function verdict(row) {
  if (row.ok === undefined) return ''
  return row.ok ? 'met' : 'missed'
}

function shown(value) {
  if (value === undefined) return ''
  return typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(4) : String(value)
}

function fail(message, hint) {
  process.stderr.write(`error: ${message}\nhint: ${hint}\n`)
  process.exit(2)
}
