// Writes the type declarations that users of the package need: node scripts/types.mjs FOLDER
// Only those of src/index.ts and everything they refer to: declarations for every file would take longer than the rest
// of the build.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'src')

/** Writes `index.d.ts` and its dependencies into a folder. */
function writeTypes(folder) {
  const program = ts.createProgram([join(source, 'index.ts')], options())
  const done = new Set()
  const rest = [join(source, 'index.ts')]
  for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
    if (done.has(path)) continue
    done.add(path)
    const text = declarationsOf(program, path)
    const target = join(folder, relative(source, path)).replace(/\.ts$/, '.d.ts')
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text.replaceAll(specifier, '$1$2.js$3'))
    for (const [, , name] of text.matchAll(specifier)) rest.push(resolve(dirname(path), `${name.slice(1)}.ts`))
  }
}

/** A relative import in a declaration of ours: from './x.ts', import("./x.ts"). */
const specifier = /(from |import\()(["']\.{1,2}\/[^"']+)\.ts(["'])/g

writeTypes(resolve(process.argv[2] ?? 'dist/types'))

function options() {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options: own } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: ['src/index.ts'] },
    ts.sys,
    root,
  )
  return { ...own, noEmit: false, declaration: true, emitDeclarationOnly: true, noCheck: true, rootDir: source }
}

function declarationsOf(program, path) {
  const file = program.getSourceFile(path)
  if (file === undefined) throw new Error(`${path}: declarations name a file that the program does not have`)
  let written = null
  const { diagnostics } = program.emit(
    file,
    (_, text) => {
      written = text
    },
    undefined,
    true,
  )
  if (written !== null && diagnostics.length === 0) return written
  throw new Error(
    `${path}: ${ts.flattenDiagnosticMessageText(diagnostics[0]?.messageText ?? 'nothing came out', '\n')}`,
  )
}
