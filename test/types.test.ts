import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'

const project = mkdtempSync(join(tmpdir(), 'user-project-'))

/** The project of a user who installed the package: compiled as strictly as possible, and without our sources. */
beforeAll(() => {
  const own = join(project, 'node_modules/ot-agent')
  mkdirSync(own, { recursive: true })
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
  cpSync('package.json', join(own, 'package.json'))
  execFileSync(process.execPath, ['scripts/types.mjs', dirname(join(own, exports['.'].types))])
  mkdirSync(join(project, 'node_modules/@types'))
  for (const name of ['zod', '@types/node', 'undici-types']) link(name)
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  cpSync('examples/agent-template/my-agent.ts', join(project, 'my-agent.ts'))
  writeFileSync(
    join(project, 'plugin.ts'),
    `import { type Agent, definePlugin, loadTask, makeProvider, runTrial, UserError, z } from 'ot-agent'
import MyAgent from './my-agent.js'
export default definePlugin({
  name: 'mine',
  summary: 'one of my own',
  options: z.strictObject({ max_iterations: z.number().int().positive().default(10) }),
  make: (options): Agent => new MyAgent(options),
})
export const used = [loadTask, makeProvider, runTrial, UserError]
`,
  )
  const guide = readFileSync('docs/guides/your-own-source.md', 'utf8')
  const blocks = [...guide.matchAll(/```(?:ts|typescript)\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  writeFileSync(join(project, 'generator.ts'), blocks.find((text) => text.includes('extends DataGenerator')) ?? '')
  writeFileSync(
    join(project, 'wrong.ts'),
    `import type { Agent } from 'ot-agent'
export const wrong: Agent = { name: 'wrong', version: '1', solve: async ({ instruction }) => instruction.length }
`,
  )
})

test('a strict project of a user has no error in its agent, its pipeline as a class or our declarations, and is told of its own', () => {
  const files = ['my-agent.ts', 'plugin.ts', 'generator.ts', 'wrong.ts'].map((name) => join(project, name))
  const program = ts.createProgram(files, {
    strict: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    isolatedModules: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [join(project, 'node_modules/@types')],
    noEmit: true,
    preserveSymlinks: true,
  })
  const ours = program.getSourceFiles().filter(({ fileName }) => fileName.includes('/ot-agent/'))
  expect(ours.length).toBeGreaterThan(10)
  expect(ours.filter(({ fileName }) => !fileName.endsWith('.d.ts'))).toEqual([])
  const mine = files.flatMap((path) => program.getSourceFile(path) ?? [])
  const diagnostics = [...ours, ...mine].flatMap((file) => ts.getPreEmitDiagnostics(program, file))
  const found = diagnostics.map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n')
    return `${file?.fileName.replace(`${project}/`, '')}: ${text}`
  })
  expect(found).toEqual([expect.stringMatching(/^wrong\.ts: .*number/s)])
})

function link(name: string): void {
  symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name))
}
