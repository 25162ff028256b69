import { expect, test } from 'vitest'
import { codeLines } from './shell-text.ts'

test('comments are removed, hashes inside words and quotes stay', () => {
  const script = '#!/bin/bash\n  # remark\necho "a # b" # c\necho $x# z#w\n\nprintf \'#\' #'
  expect(codeLines(script).map((line) => line.code)).toEqual(['echo "a # b"', 'echo $x# z#w', "printf '#'"])
})

test('depth counts the blocks open before a line', () => {
  const script = 'a\nif b; then\n  c\nelse\n  d\nfi\nfor x in y; do z; done\nf() {\n  g\n}\nh'
  const depths = codeLines(script).map(({ code, depth }) => `${depth} ${code}`)
  expect(depths).toEqual([
    '0 a',
    '0 if b; then',
    '1 c',
    '1 else',
    '1 d',
    '0 fi',
    '0 for x in y; do z; done',
    '0 f() {',
    '1 g',
    '0 }',
    '0 h',
  ])
})

test('words in quotes open nothing, and a backslash joins lines', () => {
  expect(codeLines('echo "if this" \\\n  \'for that\'\nb')).toMatchObject([{ depth: 0 }, { code: 'b', depth: 0 }])
})
