import { createHash } from 'node:crypto'
import { makeDraws, type TaskDraft } from 'ot-agent'
import { lights, maze, queens, sudoku } from './families/grids.ts'
import { cryptarithm, jugs, knapsack, subsetSum } from './families/numbers.ts'
import { colouring, satisfy, scheduling } from './families/relations.ts'
import { wordLadder } from './families/words.ts'
import { type Family, type Level, levels, type Puzzle } from './family.ts'

/** Every kind of puzzle. */
const families: readonly Family[] = [
  sudoku,
  queens,
  maze,
  lights,
  cryptarithm,
  knapsack,
  subsetSum,
  jugs,
  satisfy,
  colouring,
  scheduling,
  wordLadder,
]

export const familyNames: readonly string[] = families.map(({ name }) => name).sort()

export interface PuzzleRequest {
  readonly seed: number
  readonly index: number
  readonly families?: readonly string[]
  readonly levels?: readonly Level[]
}

/** The puzzle at an index of the sample: the same seed and index give the same task. */
export function makePuzzle(request: PuzzleRequest): TaskDraft {
  const { seed, index } = request
  const choice = makeDraws(seed, `puzzle/${index}`)
  const level = choice.pick(request.levels ?? levels)
  const family = choice.pick(families.filter(({ name }) => request.families?.includes(name) ?? true))
  for (let attempt = 0; attempt < 500; attempt++) {
    const puzzle = family.draw(choice.fork(`attempt ${attempt}`), level)
    if (puzzle) return draftOf(request, family, level, puzzle)
  }
  throw new Error(`${family.name}: no puzzle in 500 draws (seed ${seed}, index ${index})`)
}

function draftOf({ seed, index }: PuzzleRequest, family: Family, level: Level, puzzle: Puzzle): TaskDraft {
  const dir = `/app/${family.name}-${index}`
  const place = (text: string) =>
    text.replaceAll('PUZZLE', `${dir}/puzzle.txt`).replaceAll('ANSWER', `${dir}/answer.txt`)
  const facts = Object.entries(puzzle.facts ?? {}).map(([name, value]) => `${name} ${value}\n`)
  return {
    name: `puzzle-${family.name}-${String(index).padStart(6, '0')}`,
    instruction: `${puzzle.ask.map(place).join('\n\n')}\n`,
    files: {
      'environment/Dockerfile': { data: `FROM debian:12-slim\nWORKDIR ${dir}\nCOPY puzzle.txt ${dir}/puzzle.txt\n` },
      'environment/puzzle.txt': { data: puzzle.text },
      'tests/test.sh': { data: testScript(dir), executable: true },
      'tests/check.awk': { data: checkProgram(family) },
      'tests/puzzle.txt': { data: puzzle.text },
      'tests/facts.txt': { data: ['family 1\n', ...facts].join('') },
      'solution/solve.sh': { data: solveScript(dir, puzzle.answer), executable: true },
    },
    config: {
      metadata: { difficulty: level, category: 'puzzles', tags: [family.name], family: family.name },
      verifier: { timeout_sec: 60 },
      agent: { timeout_sec: 900 },
      environment: { cpus: 1, memory_mb: 512, storage_mb: 1024, allow_internet: false },
    },
    lineage: {
      pipeline: 'all-puzzles',
      strategy: 'puzzles',
      rowId: `${seed}-${index}`,
      rowDigest: createHash('sha256').update(`${family.name}\0${level}\0${seed}\0${index}`).digest('hex'),
      seed,
    },
  }
}

/** The whole awk program; `file` says whether a line belongs to the facts, the puzzle or the answer. */
function checkProgram(family: Family): string {
  return `function accept() { print "right" }\nFNR == 1 { file++ }\n${family.check}\n`
}

function testScript(dir: string): string {
  return `#!/bin/bash
# Any right answer is accepted; the puzzle is read from the tests, not from where the agent could change it.
set -u
export LC_ALL=C
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

[ -f ${dir}/answer.txt ] && [ ! -L ${dir}/answer.txt ] || fail "there is no answer"
answer=$(mktemp)
head -c 100000 ${dir}/answer.txt | tr -d '\\r' | sed -e 's/[ \\t]*$//' -e '/^$/d' > "$answer"
[ -s "$answer" ] || fail "the answer is empty"
[ "$(awk -f /tests/check.awk /tests/facts.txt /tests/puzzle.txt "$answer")" = right ] || fail "the answer is not right"
echo "the answer is right"
reward=1
`
}

function solveScript(dir: string, answer: string): string {
  return `#!/bin/bash\nset -euo pipefail\ncat > ${dir}/answer.txt <<'END_OF_ANSWER'\n${answer}END_OF_ANSWER\n`
}
