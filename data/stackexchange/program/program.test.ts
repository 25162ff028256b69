import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../../../test/needs.ts'
import { functionTest, runFunctionPy } from './function-test.ts'
import { probePy } from './probe-py.ts'

/** What the probe finds in the code blocks of a question and its answer. */
function probe(asked: string[], said: string[], ...others: string[][]) {
  const cwd = mkdtempSync(join(tmpdir(), 'probe-'))
  writeFileSync(
    join(cwd, 'posts.json'),
    JSON.stringify({ asked, answers: [said, ...others], said: [said, ...others].flat() }),
  )
  writeFileSync(join(cwd, 'probe.py'), probePy)
  const command = ['-I', 'probe.py', '1', String(otherSec)]
  const { stdout, stderr } = spawnSync('python3', command, { cwd, encoding: 'utf8', timeout: 600_000 })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

/** Seconds for all other answers together. */
const otherSec = 6

const double = 'def double(items):\n    return [2 * item for item in items]\n'

test('a function is called in the shape of the calls that posts show', needs('python3'), () => {
  const { name, signature, cases } = probe(['double([1, 2])'], [double])
  expect([name, signature]).toEqual(['double', 'double(items)'])
  expect(cases[0]).toEqual({ args: '([1, 2],)', result: '[2, 4]' })
  expect(cases.length).toBeGreaterThanOrEqual(10)
})

test('names and types of parameters tell the shape where no call is shown', needs('python3'), () => {
  expect(probe([], ['def backwards(text):\n    return text[::-1]\n'])).toMatchObject({ name: 'backwards' })
  expect(probe([], ['def half(value: int):\n    return value // 2\n'])).toMatchObject({ name: 'half' })
})

test.each([
  ['the question holds a right double already', [double, 'double([1, 2])'], [double]],
  ['no function whose arguments are known', [], [double]],
  ['double returns its argument', ['double([1, 2])'], ['def double(items):\n    return items\n']],
  ['double gives nearly the same', ['double([1, 2])'], ['def double(items):\n    return 1\n']],
  ['double fails on inputs', ['double([1, 2])'], ['def double(items):\n    return [9 / 0]\n']],
  ['no Python that stands alone', ['double([1, 2])'], [`import requests\n${double}`]],
  ['no Python that stands alone', ['double([1, 2])'], [`import random\n${double}`]],
  ['no Python that stands alone', [], ['sudo apt install x']],
  ['no Python that stands alone', ['double([1, 2])'], [`${double}\ndef half(items):\n    return np.array(items)\n`]],
])('%s: that is no task', needs('python3'), (problem, asked, said) => {
  expect(probe(asked, said)).toEqual({ problem: expect.stringContaining(problem) })
})

test('answers that mean the same have to give the same results', needs('python3'), () => {
  const found = (...others: string[][]) => probe(['double([1, 2])'], [double], ...others)
  const twice = 'def twice(them):\n    return [it + it for it in them]\n'
  expect(found([twice])).toMatchObject({ name: 'double' })
  expect(found(['def parts(them):\n    return [it // 9 for it in them]\n'])).toMatchObject({ name: 'double' })
  const differ = { problem: 'the answers give different results', differ: true }
  expect(found(['def double(items):\n    return items + items\n'])).toEqual(differ)
  expect(found([twice.replace('it + it', 'it + it if it < 9 else 0')])).toEqual(differ)
})

test('another answer that never ends is ignored, and the next is still run', needs('python3'), () => {
  const deaf =
    'def double(items):\n    while True:\n        try:\n            sum(range(10 ** 4))\n        except:\n            pass\n'
  expect(probe(['double([1, 2])'], [double], [deaf])).toMatchObject({ name: 'double' })
  const other = 'def double(items):\n    return items + items\n'
  expect(probe(['double([1, 2])'], [double], [deaf], [other])).toMatchObject({ differ: true })
})

test('an answer that is slow for some inputs is tried on the others', needs('python3'), () => {
  const slow = 'def double(items):\n    while len(items) > 2:\n        pass\n    return items + items\n'
  expect(probe(['double([1, 2])'], [double], [slow])).toMatchObject({ differ: true })
})

test('the cases are gone before the agent’s code runs, and values decide', needs('python3'), () => {
  const score = (solution: string) => {
    const cwd = mkdtempSync(join(tmpdir(), 'cases-'))
    const plan = {
      name: 'f',
      cases: [
        { args: '(2,)', result: '4.0' },
        { args: '(3,)', result: "{'a': [1]}" },
      ],
    }
    writeFileSync(join(cwd, 'cases.json'), JSON.stringify(plan))
    writeFileSync(join(cwd, 'solution.py'), solution)
    const local = (text: string) =>
      text.replaceAll('/tests', cwd).replaceAll('/app', cwd).replaceAll('/logs/verifier', cwd)
    writeFileSync(join(cwd, 'run_cases.py'), local(runFunctionPy('/app/solution.py')))
    writeFileSync(join(cwd, 'test.sh'), local(functionTest('/app/solution.py')))
    spawnSync('sh', [join(cwd, 'test.sh')], { encoding: 'utf8' })
    return spawnSync('cat', [join(cwd, 'reward.txt')], { encoding: 'utf8' }).stdout.trim()
  }
  expect(score('def f(n):\n    print("noise")\n    return {2: 4, 3: {"a": [1]}}[n]\n')).toBe('1')
  expect(score('def f(n):\n    return 4.0\n')).toBe('0')
  const thief =
    'import json, os\ndef f(n):\n    path = os.path.dirname(__file__) + "/cases.json"\n    return [eval(c["result"]) for c in json.load(open(path))["cases"] if eval(c["args"]) == (n,)][0]\n'
  expect(score(thief)).toBe('0')
})
