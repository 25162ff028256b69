// Prints task check results as a Markdown table, one row per report of `ot-agent tasks check --json`: node
// scripts/yields.mjs NAME=check.json...
import { readFileSync } from 'node:fs'

const reports = process.argv.slice(2).map((word) => {
  const [name, ...file] = word.split('=')
  if (file.length === 0)
    fail(`expected NAME=FILE, got ${word}`, 'write a report with: ot-agent tasks check TASKS --json > FILE')
  const report = read(file.join('='))
  if (report?.schema !== 'tasks-check/1' || !Array.isArray(report.checks))
    fail(
      `${file.join('=')}: expected a report of tasks check`,
      'write one with: ot-agent tasks check TASKS --json > FILE',
    )
  return { name, ...report }
})
if (reports.length === 0)
  fail('expected at least one NAME=FILE, got none', 'node scripts/yields.mjs nl2bash=check.json')

const columns = reports[0].checks
  .map(({ name }) => name)
  .filter((name) => reports.some((report) => madeOf(report, name) > 0))
print(['pipeline', 'checked', ...columns, 'accepted'])
print(['pipeline', 'checked', ...columns, 'accepted'].map(() => '---'))
for (const report of reports)
  print([report.name, report.tasks.length, ...columns.map((name) => cell(report, name)), report.accepted])

/** How many tasks passed a check, out of those checked; a dash if it does not apply. */
function cell(report, name) {
  const made = madeOf(report, name)
  return made === 0 ? '-' : `${checkOf(report, name).ok}/${made}`
}

function madeOf(report, name) {
  const { ok = 0, fail = 0, unknown = 0 } = checkOf(report, name)
  return ok + fail + unknown
}

function checkOf(report, wanted) {
  return report.checks.find(({ name }) => name === wanted) ?? {}
}

function print(cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    fail(`${file}: ${error.message}`, 'write a report with: ot-agent tasks check TASKS --json > FILE')
  }
}

function fail(what, hint) {
  process.stderr.write(`error: ${what}\nhint: ${hint}\n`)
  process.exit(2)
}
