// How often weaker solvers fail composed tasks, by category and difficulty:
//   node scripts/failure-rates.mjs sample TASKS OUT [PER]    copies the first PER tasks (3) of each category and difficulty
//   node scripts/failure-rates.mjs forget TASKS OUT [MOST]   copies each task up to MOST times (3), with one step left out of
//                                                            its solution
//   node scripts/failure-rates.mjs table JOB...              prints the results of these jobs as Markdown
// Run the copies with `ot-agent run -p OUT -a AGENT`: a model tries a sample, and the oracle runs solutions that forget
// a step.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const difficulties = ['easy', 'medium', 'hard']
const [command, ...args] = process.argv.slice(2)
const commands = { sample, forget, table }
if (!Object.hasOwn(commands, command ?? '') || args.length < (command === 'table' ? 1 : 2))
  fail(
    `expected sample TASKS OUT, forget TASKS OUT or table JOB, got ${process.argv.slice(2).join(' ') || 'nothing'}`,
    'node scripts/failure-rates.mjs table jobs/NAME',
  )
commands[command](...args)

function sample(tasks, out, per = '3') {
  const taken = new Map()
  for (const name of tasksIn(tasks)) {
    const { category, difficulty } = placeOf(join(tasks, name))
    const place = `${category}/${difficulty}`
    const before = taken.get(place) ?? 0
    if (before >= Number(per)) continue
    taken.set(place, before + 1)
    cpSync(join(tasks, name), join(out, name), { recursive: true })
  }
  process.stdout.write(`${[...taken.values()].reduce((a, b) => a + b, 0)} tasks of ${taken.size} places in ${out}\n`)
}

function forget(tasks, out, most = '3') {
  let count = 0
  for (const name of tasksIn(tasks)) {
    const weaker = withoutOneStep(readFileSync(join(tasks, name, 'solution/solve.sh'), 'utf8'))
    for (const [at, script] of spread(weaker, Number(most)).entries()) {
      const copy = join(out, `${name}-forgets-${at + 1}`)
      cpSync(join(tasks, name), copy, { recursive: true })
      writeFileSync(join(copy, 'solution/solve.sh'), script, { mode: 0o755 })
      hurry(join(copy, 'task.toml'))
      count++
    }
  }
  process.stdout.write(`${count} weaker solutions in ${out}\n`)
}

/** A solution that forgets to start a service may wait for it forever. */
function hurry(file) {
  const toml = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    toml.replace(/(\[agent\][^[]*?timeout_sec = )[\d.]+/, (_, before) => `${before}60.0`),
  )
}

/**
 * The script without one of its lines or blocks, once for each that can be left out and still leaves a valid program.
 * Lines that only print, comment or set up are not steps.
 */
function withoutOneStep(script) {
  const lines = script.split('\n')
  const body = lines.findIndex((line) => /^cd /.test(line)) + 1
  const weaker = []
  for (let at = body; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (!isStep(line)) continue
    const end = endOfStep(lines, at)
    const rest = [...lines.slice(0, at), ...lines.slice(end)].join('\n')
    if (isProgram(rest)) weaker.push(rest)
    if (end > at + 1) at = end - 1
  }
  return weaker
}

/** A complete step: a line that opens a loop, a function or a block, or declares something, is part of others. */
function isStep(line) {
  const isNone =
    /^\s*(?:#|set |export |mkdir |sed -n |trap |out=|work=|done\b|fi\b|\}|END_OF|rm |my |use |sub |open |close |chmod )/
  const opens = /^\s*(?:for|while|until|if|elsif|else)\b(?!.*(?:\bdone\b|\bfi\b|\}\s*$))|\(\) \{/
  return line.trim() !== '' && !isNone.test(line) && !opens.test(line) && isBalanced(line)
}

function isBalanced(line) {
  const count = (mark) => line.split(mark).length - 1
  return count('{') === count('}') && count('(') === count(')') && count("'") % 2 === 0
}

/** A line with a here-document ends where the document does. */
function endOfStep(lines, at) {
  const mark = /<<'(\w+)'/.exec(lines[at] ?? '')?.[1]
  const end = mark === undefined ? -1 : lines.indexOf(mark, at + 1)
  // A document that is a program has its own steps.
  return end < 0 || /^\s*cat > |perl - /.test(lines[at] ?? '') ? at + 1 : end + 1
}

function isProgram(script) {
  return spawnSync('bash', ['-n'], { input: script, stdio: ['pipe', 'ignore', 'pipe'] }).stderr.length === 0
}

/** At most this many of them, evenly spread. */
function spread(all, most) {
  if (all.length <= most) return all
  return Array.from({ length: most }, (_, i) => all[Math.floor(((i + 0.5) * all.length) / most)])
}

function table(...jobs) {
  const rates = new Map()
  const all = new Map()
  let unscored = 0
  for (const { category, difficulty, reward } of jobs.flatMap(trialsOf)) {
    if (reward === null) unscored++
    else
      for (const [key, counts] of [
        [category, rates],
        ['all', all],
      ]) {
        const own = counts.get(key) ?? new Map()
        const [failed, tried] = own.get(difficulty) ?? [0, 0]
        counts.set(key, own.set(difficulty, [failed + (reward < 1 ? 1 : 0), tried + 1]))
      }
  }
  print(['failed of tried', ...difficulties])
  print(['---', '---', '---', '---'])
  for (const [key, own] of [...[...rates].sort(([a], [b]) => (a < b ? -1 : 1)), ...all])
    print([key, ...difficulties.map((name) => (own.has(name) ? own.get(name).join(' of ') : '-'))])
  if (unscored > 0) process.stdout.write(`\n${unscored} trials without a score\n`)
}

function trialsOf(job) {
  if (!existsSync(join(job, 'job.json')))
    fail(`${job}: expected a job, found none`, 'run one with: ot-agent run -p TASKS')
  const results = readdirSync(job, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(job, name, 'result.json'))
  return results
    .filter((file) => existsSync(file))
    .map((file) => {
      const { task_id, verifier_result } = JSON.parse(readFileSync(file, 'utf8'))
      return { ...placeOf(task_id.path), reward: verifier_result?.rewards?.reward ?? null }
    })
}

/** Tasks ordered by the number at the end of their names, which is the order they were drawn in. */
function tasksIn(dir) {
  const names = readdirSync(dir).filter((name) => existsSync(join(dir, name, 'task.toml')))
  if (names.length === 0)
    fail(
      `${dir}: expected a folder of tasks, found none`,
      'make some with: ot-agent generate data/terminal-composer/generate.ts',
    )
  const number = (name) => Number(/\d+$/.exec(name)?.[0] ?? 0)
  return names.sort((a, b) => number(a) - number(b))
}

function placeOf(taskDir) {
  const toml = readFileSync(join(taskDir, 'task.toml'), 'utf8')
  const read = (key) => new RegExp(`^${key} = "([^"]*)"`, 'm').exec(toml)?.[1] ?? '?'
  return { category: read('category'), difficulty: read('difficulty') }
}

function print(cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
}

function fail(what, hint) {
  process.stderr.write(`error: ${what}\nhint: ${hint}\n`)
  process.exit(2)
}
