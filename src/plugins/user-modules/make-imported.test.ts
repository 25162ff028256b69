import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { loadImported } from './load-imported.ts'
import { makeImportedAgent, makeImportedProvider } from './make-imported.ts'

let dir: string
beforeEach(async () => {
  dir = await makeTempDir()
})

async function agentOf(name: string, text: string, options: Record<string, unknown> = {}, exported = '') {
  const path = join(dir, name)
  await writeTree(dir, { [name]: text })
  return makeImportedAgent(path + exported, options)
}

const solve = `async solve() { return { kind: 'finished' as const } }`

test('a class is made anew with the options, each time', async () => {
  const text = `export default class Mine {
    static made = 0
    readonly name: string
    readonly version = '1.0.0'
    constructor(private readonly options: { turns: number }) { Mine.made += 1; this.name = 'mine-' + Mine.made + '-' + this.options.turns }
    ${solve}
  }`
  expect((await agentOf('mine.ts', text, { turns: 7 })).name).toBe('mine-1-7')
  expect((await makeImportedAgent(join(dir, 'mine.ts'), { turns: 8 })).name).toBe('mine-2-8')
})

test('a plug-in checks its options and gets them with their defaults', async () => {
  const text = `import { definePlugin, z } from 'ot-agent'
  export default definePlugin({
    name: 'mine', summary: 'mine', options: z.strictObject({ turns: z.number().default(3) }),
    make: ({ turns }) => ({ name: 'mine-' + turns, version: '1', ${solve} }),
  })`
  expect((await agentOf('mine.ts', text, { api_base: 'http://x/v1' })).name).toBe('mine-3')
  await expect(makeImportedAgent(join(dir, 'mine.ts'), { turn: 1 })).rejects.toThrow(/^agent mine: .*"turn"/)
})

test('an object is the agent itself, and takes no options', async () => {
  const text = `export default { name: 'mine', version: '1', ${solve} }`
  expect((await agentOf('mine.ts', text, { api_base: 'http://x/v1' })).name).toBe('mine')
  await expect(makeImportedAgent(join(dir, 'mine.ts'), { turns: 1 })).rejects.toThrow(
    /mine\.ts: expected no options.*turns$/,
  )
})

test('an export can be named, and the only class needs no name', async () => {
  const two = `export class A { name = 'a'; version = '1'; ${solve} }
  export class B { name = 'b'; version = '1'; ${solve} }
  export const prompt = 'hello'`
  expect((await agentOf('two.ts', two, {}, ':B')).name).toBe('b')
  await expect(makeImportedAgent(join(dir, 'two.ts'), {})).rejects.toMatchObject({
    message: expect.stringMatching(/expected a default export or one class or plug-in, found A, B$/),
    hint: expect.stringMatching(/two\.ts:A$/),
  })
  await expect(makeImportedAgent(`${join(dir, 'two.ts')}:C`, {})).rejects.toThrow(/export named C, found A, B, prompt$/)
  const one = `export class A { name = 'a'; version = '1'; ${solve} }\nexport const limit = 3`
  expect((await agentOf('one.ts', one)).name).toBe('a')
})

test('a file knows where it lies, imports its neighbours, and need not be TypeScript', async () => {
  await writeTree(dir, {
    'prompt.txt': 'be brief',
    'lib/read.ts': `import { readFileSync } from 'node:fs'
      export const read = (name: string): string => readFileSync(new URL('../' + name, import.meta.url), 'utf8')`,
    'old.cjs': `const { readFileSync } = require('node:fs')
      exports.Old = class { name = readFileSync(__dirname + '/prompt.txt', 'utf8'); version = '1'; solve() {} }`,
  })
  const text = `import { read } from './lib/read.js'
    export default { name: read('prompt.txt'), version: '1', ${solve} }`
  expect((await agentOf('mine.ts', text)).name).toBe('be brief')
  expect((await makeImportedAgent(`${join(dir, 'old.cjs')}:Old`, {})).name).toBe('be brief')
  expect((await makeImportedAgent(join(dir, 'old.cjs'), {})).name).toBe('be brief')
})

test('a folder is its index file, an ending may be left out, packages are found beside the file', async () => {
  await writeTree(dir, {
    'mine/index.ts': `import { name } from 'names'\nexport default { name, version: '1', ${solve} }`,
    'mine/node_modules/names/package.json': '{"name":"names","type":"module","exports":{"import":"./n.js"}}',
    'mine/node_modules/names/n.js': `export const name = 'from a package'`,
  })
  for (const path of ['mine', 'mine/index', 'mine/index.ts']) {
    expect((await makeImportedAgent(join(dir, path), {})).name).toBe('from a package')
  }
})

test('a default export goes by the name of its class too', async () => {
  await writeFile(
    join(dir, 'named-default.ts'),
    `export default class Mine { name = 'mine'; version = '1'; async solve() {} }`,
  )
  expect((await makeImportedAgent(`${join(dir, 'named-default.ts')}:Mine`, {})).name).toBe('mine')
  await expect(makeImportedAgent(`${join(dir, 'named-default.ts')}:Other`, {})).rejects.toThrow(/found default$/)
})

test('a package that is not installed is named with the command that installs it', async () => {
  await expect(makeImportedAgent('npm:no-such-agents', {})).rejects.toMatchObject({
    message: expect.stringMatching(/^npm:no-such-agents: expected an installed package, found none from /),
    hint: 'install it first: npm install no-such-agents',
  })
  await expect(agentOf('needy.ts', `import 'no-such-package'\nexport default {}`)).rejects.toMatchObject({
    message: expect.stringMatching(/needy\.ts:1: Could not resolve "no-such-package"$/),
    hint: 'install it in the folder of the file: npm install no-such-package',
  })
})

test('a mistake in the source is shown with its file and line', async () => {
  await expect(agentOf('bad.ts', 'export default {\n  name: "x",\n  solve( { return }\n}\n')).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(/bad\.ts:4: Expected/),
    hint: 'the line is: }',
  })
  await writeTree(dir, { 'far.ts': `import './lib/broken.ts'`, 'lib/broken.ts': 'const a = 1\nimport.meta.url +' })
  await expect(makeImportedAgent(join(dir, 'far.ts'), {})).rejects.toThrow(/lib\/broken\.ts:2: /)
})

test('a file that fails while it is imported is shown with the line that threw', async () => {
  const text = `interface Config { readonly a: number }\n\nexport const config: Config = JSON.parse('{')\n`
  await expect(agentOf('throws.ts', text)).rejects.toMatchObject({
    message: expect.stringMatching(/throws\.ts: expected a module that loads, got .*JSON/),
    hint: expect.stringMatching(/^thrown at /),
  })
})

test.each([
  ['{ name: "x", version: "1" }', 'no solve'],
  [
    '{ name: "", version: 1, solve: 2 }',
    'name that is string, not text, version that is number, not text, solve that is number, not function',
  ],
  ['class { name = "x"; solve() {} }', 'no version'],
  ['{ name: "x", version: "1", solve() {}, check: true }', 'check that is boolean, not function or nothing'],
  ['42', 'a number'],
])('what lacks a part of an agent is refused: %s', async (text, problem) => {
  await expect(agentOf('mine.ts', `export default ${text}`)).rejects.toThrow(
    `mine.ts: expected an agent with name, version and solve(at), got ${problem}`,
  )
})

test('a bare function and a class that throws are refused', async () => {
  await expect(agentOf('f.ts', 'export default () => ({})')).rejects.toThrow('expected a plug-in, a class or an object')
  const text = `export default class Picky { constructor() { throw new Error('no key') } }`
  await expect(agentOf('c.ts', text, { key: 1 })).rejects.toThrow('expected new Picky(options) to work, got no key')
})

test('nothing there, or Python, is said so', async () => {
  await expect(makeImportedAgent(join(dir, 'none.ts'), {})).rejects.toThrow(
    'none.ts: expected a TypeScript or JavaScript',
  )
  await mkdir(join(dir, 'empty'))
  await expect(makeImportedAgent(join(dir, 'empty'), {})).rejects.toThrow('or a folder with an index.ts, found none')
  for (const path of ['lab.my_agent:MyAgent', 'my_agent.py'])
    await expect(makeImportedAgent(path, {})).rejects.toThrow(
      `${path}: expected a TypeScript or JavaScript file, got a Python module`,
    )
})

test('the digest follows every file that is imported by its path, and not the folder they lie in', async () => {
  const tree = { 'mine/a.ts': `export { default } from './b.ts'`, 'mine/b.ts': 'export default 1' }
  await writeTree(dir, tree)
  const { digest } = await loadImported(join(dir, 'mine/a.ts'))
  await rename(join(dir, 'mine'), join(dir, 'moved'))
  expect((await loadImported(join(dir, 'moved/a.ts'))).digest).toBe(digest)
  await writeTree(dir, tree)
  await writeFile(join(dir, 'mine/b.ts'), 'export default 2')
  expect((await loadImported(`${join(dir, 'mine/a.ts')}:default`)).digest).not.toBe(digest)
})

test('a sandbox can be imported too', async () => {
  const path = join(dir, 'box.ts')
  await writeFile(
    path,
    `export default { name: 'box', can: {}, async preflight() {}, lease() {}, async reap() { return [] } }`,
  )
  expect((await makeImportedProvider(path, {})).name).toBe('box')
  await writeFile(join(dir, 'half.ts'), `export default { name: 'box', can: {}, lease() {} }`)
  await expect(makeImportedProvider(join(dir, 'half.ts'), {})).rejects.toThrow(
    'expected a sandbox provider, got no preflight, no reap',
  )
})
