import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { needs } from '../../test/needs.ts'
import { applyFilePatch, PatchError, parsePatch, renderPatch, reversePatch } from './unified-diff.ts'

const line = fc.stringMatching(/^[a-c -+@\\]{0,4}$/)
const text = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
  .map(([lines, ends]) => lines.join('\n') + (ends ? '\n' : ''))

test('a patch makes the new file of the old, and the reversed one the old of the new, byte for byte', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      fc.pre(before !== after)
      const [file] = parsePatch(renderPatch('a.txt', before, after))
      const [back] = reversePatch([file!])
      expect(applyFilePatch(before, file!)).toBe(after)
      expect(applyFilePatch(after, back!)).toBe(before)
    }),
  )
})

test('git applies what is rendered here', needs('git'), async () => {
  const dir = await makeTempDir()
  mkdirSync(join(dir, 'src'))
  const cases: [string, string][] = [
    ['one\ntwo\nthree\n', 'one\nTWO\nthree\n'],
    ['no end', 'no end\nmore'],
    ['a\nb\nc\nd\ne\nf\ng\nh\n', 'a\nb\nc\nd\nf\ng\nh\n'],
  ]
  for (const [before, after] of cases) {
    writeFileSync(join(dir, 'src/x.txt'), before)
    const input = renderPatch('src/x.txt', before, after)
    const { status, stderr } = spawnSync('git', ['apply', '-'], { cwd: dir, input, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(readFileSync(join(dir, 'src/x.txt'), 'utf8')).toBe(after)
  }
})

test('several files and hunks of git are read, a file that is new among them', () => {
  const patch = [
    ...['diff --git a/x.py b/x.py', 'index 1..2 100644', '--- a/x.py', '+++ b/x.py'],
    ...['@@ -1,2 +1,2 @@ def f():', ' a', '-b', '+B', '@@ -9 +9,2 @@', ' i', '+j'],
    ...[
      'diff --git a/new.py b/new.py',
      'new file mode 100644',
      '--- /dev/null',
      '+++ b/new.py',
      '@@ -0,0 +1 @@',
      '+x',
      '',
    ],
  ].join('\n')
  const [first, second, ...others] = parsePatch(patch)
  expect(others).toEqual([])
  expect(applyFilePatch('a\nb\nc\nd\ne\nf\ng\nh\ni\n', first!)).toBe('a\nB\nc\nd\ne\nf\ng\nh\ni\nj\n')
  expect(second).toMatchObject({ oldPath: null, newPath: 'new.py' })
  expect(applyFilePatch('', second!)).toBe('x\n')
})

test.each([
  ['nothing at all', 'hello'],
  ['a path that leaves', '--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n'],
  ['an absolute path', '--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n'],
  ['a hunk cut off', '--- a/x\n+++ b/x\n@@ -1,3 +1 @@\n-a'],
  ['binary content', 'diff --git a/x b/x\nGIT binary patch\nliteral 3\n'],
])('%s is refused', (_, patch) => {
  expect(() => parsePatch(patch)).toThrow(PatchError)
})

test('a hunk that nearly fits everywhere is given up, not searched for without end', () => {
  const rows = 20_000
  const header = `--- a/x\n+++ b/x\n@@ -1,${rows + 1} +1,${rows + 1} @@\n`
  const [file] = parsePatch(`${header}${' a\n'.repeat(rows)}-end\n+END\n`)
  expect(applyFilePatch(`${'a\n'.repeat(rows)}end\n`, file!)).toBe(`${'a\n'.repeat(rows)}END\n`)
  expect(() => applyFilePatch(`${'a\n'.repeat(3 * rows)}end\n`, file!)).toThrow(PatchError)
})
