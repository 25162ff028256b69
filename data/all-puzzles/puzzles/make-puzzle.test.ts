import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { TaskDraft } from '../../../src/core/row.ts'
import { makeStage } from '../../../src/plugins/make-stage.ts'
import { stageLaws } from '../../../test/contracts/stage.ts'
import puzzles from './index.ts'
import { familyNames, makePuzzle } from './make-puzzle.ts'

stageLaws('puzzles', { make: () => makeStage(puzzles, { count: 24 }), rows: [] })

const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-puzzles-'))
afterAll(() => rmSync(scratch, { recursive: true }))

/** A task's own verdict on an answer. */
function judged(draft: TaskDraft, answer: string): string {
  for (const name of ['check.awk', 'facts.txt', 'puzzle.txt'])
    writeFileSync(join(scratch, name), draft.files[`tests/${name}`]!.data)
  writeFileSync(join(scratch, 'answer.txt'), answer)
  const run = spawnSync('awk', ['-f', 'check.awk', 'facts.txt', 'puzzle.txt', 'answer.txt'], {
    cwd: scratch,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  expect(run.stderr).toBe('')
  return run.stdout.trim()
}

const answerOf = (draft: TaskDraft) =>
  /END_OF_ANSWER'\n([\s\S]*)END_OF_ANSWER\n$/.exec(String(draft.files['solution/solve.sh']!.data))![1]!

describe.each(familyNames)('%s', (family) => {
  const drafts = Array.from({ length: 6 }, (_, index) => makePuzzle({ seed: 3, index, families: [family] }))

  test('the check accepts the known answer and nothing like it', () => {
    for (const draft of drafts) {
      const answer = answerOf(draft)
      const lines = answer.trimEnd().split('\n')
      expect(judged(draft, answer)).toBe('right')
      for (const wrong of [
        `${lines.slice(1).join('\n')}\n`,
        `${answer}nonsense\n`,
        `${answer}${lines[0]}\n`,
        'x\n',
        `${draft.files['environment/puzzle.txt']!.data}`,
      ]) {
        expect(judged(draft, wrong), `${draft.instruction}\n${wrong}`).toBe('')
      }
    }
  })

  test('puzzles differ, and the same index gives the same one', () => {
    expect(new Set(drafts.map(({ instruction }) => instruction)).size).toBe(drafts.length)
    expect(makePuzzle({ seed: 3, index: 2, families: [family] })).toEqual(drafts[2])
  })
})

test('a correct answer other than the known one is accepted', () => {
  const draft = makePuzzle({ seed: 1, index: 0, families: ['colouring'], levels: ['easy'] })
  const swapped = answerOf(draft).replaceAll('red', 'tmp').replaceAll('green', 'red').replaceAll('tmp', 'green')
  expect(swapped).not.toBe(answerOf(draft))
  expect(judged(draft, swapped)).toBe('right')
})

test('instructions count in English and describe the file as it is', () => {
  const jugs = Array.from({ length: 80 }, (_, index) => makePuzzle({ seed: 4711, index, families: ['jugs'] }))
  expect(jugs.filter(({ instruction }) => instruction.includes('exactly 1 liter '))).not.toHaveLength(0)
  expect(jugs.filter(({ instruction }) => /exactly (?:1 liters|\d+ litres)/.test(instruction))).toEqual([])
  const sum = makePuzzle({ seed: 4711, index: 0, families: ['cryptarithm'] })
  expect(sum.instruction).toContain('three words, one per line')
  expect(String(sum.files['environment/puzzle.txt']!.data).trim().split('\n')).toHaveLength(3)
})
