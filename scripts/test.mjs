// Runs the tests: node scripts/test.mjs [--long | --soak] [PATTERN...], where a pattern is part of a test file's path.
// The last line is exactly `N passed, N failed, N skipped`; skipped tests are listed by name with their reason.
// OT_AGENT_TEST_UNTIL is a time in seconds since 1970: what has not begun by then is skipped, too.
import { createVitest } from 'vitest/node'

const suite = ['long', 'soak'].find((name) => process.argv.includes(`--${name}`))
const patterns = process.argv.slice(2).filter((argument) => argument !== `--${suite}`)

const vitest = await createVitest('test', {
  run: true,
  config: suite === undefined ? 'vitest.config.ts' : `vitest.${suite}.config.ts`,
  // A forgotten `test.only` would hide every other test.
  allowOnly: false,
  passWithNoTests: false,
})
const interrupted = cancelOnSignals()
const problems = await run()
const counts = count(vitest.state.getTestModules(), problems)
await vitest.close()
report(counts)
process.exit(interrupted() ?? (counts.failed.length > 0 || counts.passed === 0 ? 1 : 0))

/** Runs the test files that match the patterns; returns errors from outside any test. */
async function run() {
  try {
    const { unhandledErrors } = await vitest.start(patterns)
    return unhandledErrors.map((error) => `unhandled error: ${firstLine(error)}`)
  } catch (error) {
    return [firstLine(error)]
  }
}

function count(modules, problems) {
  const counts = { passed: 0, failed: [...problems], skipped: [] }
  for (const module of modules) {
    const file = module.relativeModuleId
    for (const error of module.errors()) counts.failed.push(`${file}: ${firstLine(error)}`)
    for (const suite of module.children.allSuites()) {
      for (const error of suite.errors()) counts.failed.push(`${file} > ${suite.fullName}: ${firstLine(error)}`)
    }
    for (const test of module.children.allTests()) countTest(counts, test, `${file} > ${test.fullName}`)
  }
  return counts
}

function countTest(counts, test, name) {
  const result = test.result()
  if (result.state === 'passed') counts.passed += 1
  else if (result.state === 'failed') counts.failed.push(`${name}: ${firstLine(result.errors[0])}`)
  else if (isSkipped(test, result) && !isCutShort(test)) counts.skipped.push(name + skipReason(test, result))
  else counts.failed.push(`${name}: did not run`)
}

/** A test also counts as skipped if a hook of an enclosing suite threw. */
function isCutShort(test) {
  for (let at = test.parent; ; at = at.parent) {
    if (at.errors().length > 0) return true
    if (at.type === 'module') return false
  }
}

/** Tests of a suite that was skipped when its turn came have no result of their own. */
function isSkipped(test, { state }) {
  return state === 'skipped' || givenReason(test) !== undefined
}

function skipReason(test, { note }) {
  const reason = note ?? givenReason(test)
  if (reason) return `: ${reason}`
  return /\((needs|skipped)\b/.test(test.fullName) ? '' : ': switched off in its file'
}

/** The `skipReason` in the meta of a test, of an enclosing suite or of its file; undefined if there is none. */
function givenReason(test) {
  for (let at = test; ; at = at.parent) {
    const reason = at.meta().skipReason
    if (reason || at.type === 'module') return reason
  }
}

function report({ passed, failed, skipped }) {
  const lines = ['']
  if (failed.length > 0) lines.push('failed:', ...failed.map((line) => `  ${line}`), '')
  if (skipped.length > 0) lines.push('skipped:', ...skipped.map((line) => `  ${line}`), '')
  if (passed === 0 && failed.length === 0) lines.push('no test ran', '')
  lines.push(`${passed} passed, ${failed.length} failed, ${skipped.length} skipped`)
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** The first Ctrl-C stops after the tests now running, the second at once. */
function cancelOnSignals() {
  const numbers = { SIGINT: 2, SIGTERM: 15 }
  let code
  for (const [name, number] of Object.entries(numbers)) {
    process.on(name, () => {
      if (code !== undefined) process.exit(code)
      code = 128 + number
      void vitest.cancelCurrentRun('keyboard-input')
    })
  }
  return () => code
}

function firstLine(error) {
  return String(error?.message ?? error)
    .trim()
    .split('\n')[0]
}
