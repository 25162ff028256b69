import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shellScript } from './render-turn.ts'
import { inStyle, solutionTurns } from './solution-turns.ts'
import type { WorkTurn } from './turn.ts'

/** Runs what the turns type, in a temporary folder instead of /tmp/solution. */
function play(files: Readonly<Record<string, Uint8Array>>, env: Record<string, string> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'solution-'))
  const turns = solutionTurns(
    Object.entries(files).map(([path, bytes]) => ({ path, bytes })),
    env,
  )
  const script = turns.map((turn) => shellScript((turn as WorkTurn).commands)).join('\n')
  const ran = spawnSync('bash', ['-c', script.replaceAll('/tmp/solution', dir)], { encoding: 'utf8', cwd: dir })
  return { ...ran, dir, turns }
}

test('what is typed writes every file byte for byte', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 9000 }),
    fc.string({ unit: 'grapheme', maxLength: 200 }).map((text) => Buffer.from(`${text}\n`)),
    fc
      .array(fc.stringMatching(/^[ -~]{0,99}$/), { maxLength: 200 })
      .map((lines) => Buffer.from(`${lines.join('\n')}\n`)),
  )
  fc.assert(
    fc.property(bytes, (data) => {
      const { dir } = play({ 'solve.sh': Buffer.from('#!/bin/sh\n'), 'sub dir/it’s data': data })
      expect(readFileSync(join(dir, 'sub dir/it’s data')).equals(Buffer.from(data))).toBe(true)
    }),
    { numRuns: 25 },
  )
})

test('the solution runs with its literal variables, and its end can be seen', () => {
  const { stdout, turns } = play(
    { 'solve.sh': Buffer.from('#!/bin/bash\necho "got $PLAIN, $SECRET"\nexit 3\n') },
    { PLAIN: 'a b', SECRET: `\${HOST_SECRET}` },
  )
  expect(stdout).toContain('got a b, \n')
  expect(stdout).toContain('solution ended with 3')
  expect((turns.at(-1) as WorkTurn).until?.test(stdout)).toBe(true)
  expect(JSON.stringify(turns)).not.toContain('HOST_SECRET')
})

test('the echo of the command is not taken for its end', () => {
  const last = solutionTurns([{ path: 'solve.sh', bytes: Buffer.from('true\n') }], {}).at(-1) as WorkTurn
  expect(last.until?.test(last.commands[0]!.keystrokes)).toBe(false)
})

test('a solution that names its own place is put there', () => {
  const turns = solutionTurns([{ path: 'solve.sh', bytes: Buffer.from('cp /solution/a /b\n') }], {})
  expect(shellScript((turns[1] as WorkTurn).commands)).toContain("> /solution/solve.sh <<'END_OF_FILE'")
})

test('a solution is told in one turn, in three or a command at a time, and types the same', () => {
  const turns = solutionTurns([{ path: 'solve.sh', bytes: Buffer.from('true\n') }], {})
  const told = (['one', 'few', 'many'] as const).map((each) => inStyle(turns, { turns: each, wordy: false }))
  expect(told.map((each) => each.length)).toEqual([1, 3, 6])
  const typed = told.map((each) => each.flatMap(({ commands }) => commands))
  expect(typed[0]).toEqual(typed[1])
  expect(typed[2]).toEqual(typed[1])
  expect(told.map((each) => each.map(({ until }) => until !== null).indexOf(true))).toEqual([0, 2, 5])
})

test('a wordy stand-in describes each command before it types it', () => {
  const turns = solutionTurns([{ path: 'solve.sh', bytes: Buffer.from('true\n') }], {})
  const [look] = inStyle(turns, { turns: 'few', wordy: true })
  expect(look?.plan).toContain('Step 1: I type `pwd; ls -la`')
  expect(look?.commands).toEqual(turns[0]?.commands)
})
