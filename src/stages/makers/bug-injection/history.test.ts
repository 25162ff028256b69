import { expect, test } from 'vitest'
import { findReverts } from './history.ts'
import { mutate } from './mutate.ts'
import { parseSource } from './source.ts'

const now = `class Cache:
    def get(self, key, default=None):
        """Returns what is stored.

        Expired entries count as missing.
        """
        entry = self.entries.get(key)
        if entry is None or entry.expired():
            return default
        return entry.value

    def clear(self):
        self.entries.clear()


def size(cache, unit='entries'):
    return len(cache.entries)
`
const then = `class Cache:
    def get(self, key, default=None):
        """Returns what is stored."""
        entry = self.entries.get(key)
        if entry is None:  # not there
            return default
        return entry.value

    def clear(self):
        """Forgets everything."""
        # All of it.
        self.entries.clear()


def size(cache):
    return len(cache.entries) + 1
`

test('a function that a later version fixed is put back whole; new parameters and comments are no fix', () => {
  const source = parseSource('cache.py', now)!
  const reverts = findReverts([source], { 'cache.py': { data: then } })
  expect(reverts).toMatchObject([{ mutator: 'reverted-fix', path: 'cache.py' }])
  const broken = mutate(source, [reverts[0]!.edit])
  expect(broken).toContain('if entry is None:  # not there\n')
  expect(broken).toContain("def size(cache, unit='entries'):")
  expect(broken).toContain('        return entry.value\n\n    def clear(self):\n        self.entries.clear()')
})

test('methods of JavaScript are found by their class; a file that was not there then has no fixes', () => {
  const text = (limit: string) => `class Queue {\n  take(n) {\n    return this.items.slice(0, ${limit})\n  }\n}\n`
  const source = parseSource('q.js', text('n'))!
  const [revert] = findReverts([source], { 'q.js': { data: text('n - 1') } })
  expect(mutate(source, [revert!.edit])).toBe(text('n - 1'))
  expect(findReverts([source], { 'other.js': { data: text('n - 1') } })).toEqual([])
})

test('a change of many lines is no fix', () => {
  const text = (mark: string) =>
    `def f():\n${Array.from({ length: 20 }, (_, i) => `    ${mark}${i} = ${i}\n`).join('')}`
  const source = parseSource('f.py', text('a'))!
  expect(findReverts([source], { 'f.py': { data: text('b') } })).toEqual([])
})
