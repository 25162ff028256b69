import type { DraftFile } from '../../../core/row.ts'
import { sandboxPaths } from '../../../core/task-paths.ts'
import { shellQuote } from '../../../lib/shell.ts'

/**
 * The output format of a test runner, by which tests are told apart. `tap`: node --test, tape, tap. `marks`: lines with
 * a tick or a cross, as printed by mocha and jest. `pytest-names`: pytest, with tests named `Class.test`.
 * `unittest-lines`: unittest, with tests named by their line, `test (module.Class)`, or their description. `name-ok`:
 * `test_name ok`. `exit`: each command is one test, decided by its exit code.
 */
export const testFormats = [
  'pytest',
  'pytest-names',
  'unittest',
  'unittest-lines',
  'name-ok',
  'tap',
  'marks',
  'exit',
] as const
export type TestFormat = (typeof testFormats)[number]

/** How a repository's own tests are run. */
export interface TestRun {
  readonly commands: readonly string[]
  readonly format: TestFormat
  /** Where the repository is in the sandbox. */
  readonly workdir: string
  /** For each command. */
  readonly timeoutSec: number
}

export type TestStatus = 'pass' | 'fail'

/** Tests that a fix must repair, and tests that it must not break. */
export interface DecidingTests {
  readonly failToPass: readonly string[]
  readonly passToPass: readonly string[]
}

/**
 * Runs the commands and writes one line per test to the given file: `pass` or `fail`, a tab, the name. The same script
 * measures while tasks are made and verifies afterwards. It needs a shell, timeout and awk.
 */
export function renderTestRun({ commands, format, workdir, timeoutSec }: TestRun): string {
  const judge =
    format === 'exit'
      ? `if [ "$code" -eq 0 ]; then printf 'pass\\t%s\\n' "$1"; else printf 'fail\\t%s\\n' "$1"; fi >> "$report"`
      : `awk -v format=${format} -f "$here/report.awk" "$log" >> "$report"`
  return `#!/bin/sh
# Runs the repository's tests: run-tests.sh REPORT LOG
here=$(dirname "$0")
report=$1
log=$2.part
: > "$report"
: > "$2"
export PYTHONDONTWRITEBYTECODE=1 CI=1 NO_COLOR=1 FORCE_COLOR=0
run() {
  ( cd ${shellQuote(workdir)} && timeout -k 5 ${Math.ceil(timeoutSec)} sh -c "$1" ) > "$log" 2>&1 < /dev/null
  code=$?
  ${judge}
  cat "$log" >> "$2"
  printf '\\nexit code %s\\n' "$code" >> "$2"
}
${commands.map((command) => `run ${shellQuote(command)} "$2"`).join('\n')}
rm -f "$log"
`
}

/** Turns a test runner's output into one line per test. */
export const reportAwk = `# pass or fail, a tab, and the name of each test
function say(status, name) {
  sub(/[ \\t\\r]+$/, "", name)
  if (name != "") print status "\\t" name
}
{ gsub(/\\033\\[[0-9;]*m/, "") }
format == "tap" {
  match($0, /^ */)
  depth = int(RLENGTH / 4)
  line = substr($0, RLENGTH + 1)
  if (line ~ /^# Subtest: /) { above[depth] = substr(line, 12); next }
  if (line ~ /^# /) { group = substr(line, 3); next }
  if (line !~ /^(not )?ok( |$)/) next
  status = line ~ /^not / ? "fail" : "pass"
  # Without a dash it is one assertion, and the comment above names its test.
  isAssertion = line !~ /^(not )?ok *[0-9]* - /
  sub(/^(not )?ok *[0-9]*( - )? */, "", line)
  if (line ~ /# *(SKIP|TODO|skip|todo)/) next
  name = isAssertion && group != "" ? group " > " line : line
  for (i = depth - 1; i >= 0; i--) name = above[i] " > " name
  say(status, name)
}
format ~ /^pytest/ && /^(PASSED|FAILED|ERROR|XPASS) / {
  status = $1 == "PASSED" || $1 == "XPASS" ? "pass" : "fail"
  name = substr($0, length($1) + 2)
  if (status == "fail" && (cut = index(name, " - ")) > 0) name = substr(name, 1, cut - 1)
  if (format == "pytest-names" && index(name, "::") > 0) {
    name = substr(name, index(name, "::") + 2)
    gsub(/::/, ".", name)
  }
  say(status, name)
}
format == "unittest" {
  if ($0 ~ /^[A-Za-z_0-9]+ \\([A-Za-z_0-9.<>]+\\)/) {
    # Since Python 3.11 the method stands in the parentheses too.
    pending = $2
    gsub(/[()]/, "", pending)
    if (substr(pending, length(pending) - length($1)) != "." $1) pending = pending "." $1
  }
  if (pending != "" && $0 ~ /(^|\\.\\.\\. )(ok|expected failure)$/) { say("pass", pending); pending = "" }
  else if (pending != "" && $0 ~ /(^|\\.\\.\\. )(FAIL|ERROR|unexpected success)$/) { say("fail", pending); pending = "" }
  else if (pending != "" && $0 ~ /\\.\\.\\. skipped/) pending = ""
}
# What stands before the verdict: a test with a description is called by that.
format == "unittest-lines" && / \\.\\.\\. (ok|expected failure|FAIL|ERROR|unexpected success)$/ {
  status = $0 ~ / (ok|expected failure)$/ ? "pass" : "fail"
  line = $0
  sub(/ \\.\\.\\. [A-Za-z ]+$/, "", line)
  # Since Python 3.11 the method stands in the parentheses too.
  size = split(line, word, " ") == 2 ? length(word[1]) + 2 : 0
  if (size > 0 && substr(word[2], length(word[2]) - size + 1) == "." word[1] ")")
    line = word[1] " " substr(word[2], 1, length(word[2]) - size) ")"
  say(status, line)
}
# As the runner of SymPy prints them.
format == "name-ok" && /^test_[A-Za-z_0-9]* (ok|F|E)( |$)/ { say($2 == "ok" ? "pass" : "fail", $1) }
format == "marks" {
  line = $0
  sub(/^[ \\t]+/, "", line)
  status = line ~ /^(✓|✔|√) / ? "pass" : (line ~ /^(✕|✖|✗|×) / || line ~ /^[0-9]+\\) /) ? "fail" : ""
  if (status == "") next
  sub(/^[^ ]+ /, "", line)
  sub(/ \\(?[0-9.]+ ?m?s\\)?$/, "", line)
  say(status, line)
}
`

/** Parses a report: a test that failed even once has failed. */
export function parseReport(text: string): Map<string, TestStatus> {
  const statuses = new Map<string, TestStatus>()
  for (const line of text.split('\n')) {
    const [, status, name] = /^(pass|fail)\t(.+)$/.exec(line) ?? []
    if (name !== undefined && statuses.get(name) !== 'fail') statuses.set(name, status === 'pass' ? 'pass' : 'fail')
  }
  return statuses
}

/** What a repository's verifier needs besides the names of tests. */
export interface VerifierParts {
  readonly run: TestRun
  readonly tests: DecidingTests
  /** Copied over the repository before the tests run: the correct tests, whatever the agent did to them. */
  readonly files: Readonly<Record<string, DraftFile>>
  /** Shell lines that run before the files are copied. */
  readonly prepare?: readonly string[]
}

/**
 * The tests of a task about a repository. Test files come from here and replace those in the repository; every deciding
 * test must pass by name, so that a test that did not run does not count.
 */
export function verifierFiles({ run, tests, files, prepare = [] }: VerifierParts): Record<string, DraftFile> {
  const paths = Object.keys(files)
  const list = (names: readonly string[]) => ({ data: names.map((name) => `${name}\n`).join('') })
  return {
    'tests/test.sh': { data: renderVerifier(run.workdir, paths.length > 0, prepare), executable: true },
    'tests/run-tests.sh': { data: renderTestRun(run), executable: true },
    'tests/report.awk': { data: reportAwk },
    'tests/fail-to-pass.txt': list(tests.failToPass),
    'tests/pass-to-pass.txt': list(tests.passToPass),
    ...(paths.length > 0 && { 'tests/replaced.txt': list(paths) }),
    ...Object.fromEntries(Object.entries(files).map(([path, file]) => [`tests/files/${path}`, file])),
  }
}

function renderVerifier(workdir: string, hasFiles: boolean, prepare: readonly string[]): string {
  const { tests, verifierLogs } = sandboxPaths
  const repository = shellQuote(workdir)
  const replace = `while IFS= read -r path; do rm -rf ${repository}/"$path"; done < ${tests}/replaced.txt
cp -R ${tests}/files/. ${repository}/`
  return `#!/bin/sh
# Every test of fail-to-pass.txt and pass-to-pass.txt has to pass.
reward=0
${[...prepare, ...(hasFiles ? [replace] : [])].join('\n')}
sh ${tests}/run-tests.sh ${verifierLogs}/report.txt ${verifierLogs}/tests.log
if awk -F '\\t' '
  FILENAME == ARGV[1] { if ($1 == "pass") passed[$2] = 1; else failed[$2] = 1; next }
  $0 != "" { count++; if (!($0 in passed) || ($0 in failed)) { print "does not pass: " $0; bad = 1 } }
  END { exit bad || !count }
' ${verifierLogs}/report.txt ${tests}/fail-to-pass.txt ${tests}/pass-to-pass.txt; then
  reward=1
fi
echo "$reward" > ${verifierLogs}/reward.txt
`
}
