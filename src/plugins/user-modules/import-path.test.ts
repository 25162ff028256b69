import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { absoluteImportPath, parseImportPath } from './import-path.ts'

test.each([
  ['./my-agent.ts', { from: '/here/my-agent.ts', isPackage: false, exportName: null }],
  ['./my-agent.ts:MyAgent', { from: '/here/my-agent.ts', isPackage: false, exportName: 'MyAgent' }],
  ['../a b/agent.mjs:$x_1', { from: '/a b/agent.mjs', isPackage: false, exportName: '$x_1' }],
  ['/opt/agents/dir', { from: '/opt/agents/dir', isPackage: false, exportName: null }],
  ['./odd:name.ts', { from: '/here/odd:name.ts', isPackage: false, exportName: null }],
  ['npm:agents', { from: 'agents', isPackage: true, exportName: null }],
  ['npm:left-pad', { from: 'left-pad', isPackage: true, exportName: null }],
  ['npm:agents:Mine', { from: 'agents', isPackage: true, exportName: 'Mine' }],
  ['npm:@lab/agents/fast:Mine', { from: '@lab/agents/fast', isPackage: true, exportName: 'Mine' }],
])('reads %s', (text, expected) => {
  expect(parseImportPath(text, '/here')).toEqual(expected)
})

test.each(['', ' ', ':Agent', 'npm:', 'npm:../up', 'npm:a/../../b', 'npm:/abs', 'npm:a b'])(
  'refuses %j as no import path',
  (text) => {
    expect(() => parseImportPath(text, '/here')).toThrow(/^expected an import path, got /)
  },
)

test('an absolute spelling means the same, wherever it is read', () => {
  for (const text of ['./a.ts', './a.ts:B', 'npm:c', 'npm:@d/e:F']) {
    const whole = absoluteImportPath(text, '/here')
    expect(parseImportPath(whole, '/elsewhere')).toEqual(parseImportPath(text, '/here'))
  }
  expect(absoluteImportPath('./a.ts:B', '/here')).toBe('/here/a.ts:B')
})

test('Python is refused, with a way to port it', () => {
  for (const text of ['my_agent.py', './my_agent.py:MyAgent', 'my_agent:MyAgent', 'lab.agents.mine:Agent']) {
    expect(() => parseImportPath(text, '/here')).toThrow(
      `${text}: expected a TypeScript or JavaScript file, got a Python module`,
    )
  }
})

test('what looks like a module of Python may be a file here', async () => {
  const dir = await makeTempDir()
  await writeTree(dir, { 'my_agent.ts': '' })
  expect(parseImportPath('my_agent:MyAgent', dir)).toMatchObject({ from: join(dir, 'my_agent'), exportName: 'MyAgent' })
})
