import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../../test/needs.ts'
import { checkAnswerPy } from './question-check.ts'

const dir = mkdtempSync(join(tmpdir(), 'answers-'))
writeFileSync(join(dir, 'check.py'), checkAnswerPy)

function isRight(wanted: string[], given: string): boolean {
  writeFileSync(join(dir, 'answers.json'), JSON.stringify(wanted))
  writeFileSync(join(dir, 'answer.txt'), given)
  const { status, stderr } = spawnSync('python3', ['-I', 'check.py', 'answers.json', 'answer.txt'], {
    cwd: dir,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return status === 0
}

test('values count, in any order and however they are written', needs('python3'), () => {
  expect(isRight(['Bergen'], 'bergen\n')).toBe(true)
  expect(isRight(['1,200'], '1200')).toBe(true)
  expect(isRight(['Karine Ruby (FRA)'], 'Karine Ruby')).toBe(true)
  expect(isRight(['Süd', 'A–B'], 'a-b\nSud\n')).toBe(true)
  expect(isRight(['Bergen'], 'Lund')).toBe(false)
  expect(isRight(['Bergen'], 'Bergen\nLund')).toBe(false)
  expect(isRight(['a', 'a'], 'a')).toBe(false)
  expect(isRight(['3'], '')).toBe(false)
})
