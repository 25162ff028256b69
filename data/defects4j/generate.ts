import { join } from 'node:path'
import {
  applyFilePatch,
  type Dropped,
  definePipeline,
  openRepository,
  PatchError,
  parsePatch,
  parseRepositorySpec,
  type RepositoryFiles,
  z,
} from 'ot-agent'
import { type Measured, measure, readJars, type Subject } from './bench.ts'
import { draftOf } from './draft.ts'
import { symptomsOf } from './issue.ts'
import { isUtf8 } from './java-text.ts'
import { provide, readBugs, refPattern, titleInChanges } from './rows.ts'
import { fileOf, type Suite } from './runner.ts'

const testName = z.string().regex(/^[\w.$]+::\w+$/)
const bugFields = z.object({
  /** The project without the bug: a clone, from which `ref` is taken, or a folder as in makers/bug-injection. */
  repo: z.string().min(1),
  ref: z.string().regex(refPattern).nullish(),
  project: z.string().min(1),
  /** The patch that introduces the bug. */
  patch: z.string().min(1),
  /** Tests that fail with the bug, as `package.Class::method`, and test classes related to the code. */
  triggers: z.array(testName).min(1),
  relevant: z.array(z.string().regex(/^[\w.$]+$/)).default([]),
  title: z.string().nullish(),
  report: z.string().default(''),
  /** A folder of jars that the tests may need. */
  libs: z.string().nullish(),
})
export type Bug = z.output<typeof bugFields>

/**
 * Real bugs in Java projects from Defects4J: the original fix is the solution, and the tests that came with it are
 * hidden.
 */
export default definePipeline({
  name: 'defects4j',
  summary: 'Real bugs of Java projects, decided by JUnit tests that came with the fix',
  options: z.strictObject({
    projects: z.array(z.string()).default([]).describe('of Defects4J, for example Csv,Lang (default: all)'),
    maxTestClasses: z
      .number()
      .int()
      .min(1)
      .default(12)
      .describe('test classes that run; those that show the bug first'),
    maxLines: z.number().int().min(1).default(60).describe('bugs whose shortest reproduction is longer are skipped'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: ({ inputDir, options }) => readBugs(inputDir, options.projects),
  },
  needs: ({ inputDir }) => {
    const what = 'a checkout of Defects4J with the repositories of its projects'
    return [inputDir === null ? { kind: 'missing', what, provide } : { kind: 'folder', path: inputDir, what, provide }]
  },
  strategy: 'real-bug',
  make: async (row, { options, dir, sandboxes, workDir, signal, random, log }) => {
    const { id } = row
    const parsed = bugFields.safeParse(row.fields)
    if (!parsed.success) return { drop: 'bad-row', detail: parsed.error.issues[0]?.message ?? '', id }
    if (sandboxes === null) return { drop: 'no-sandbox', detail: 'tests are run while tasks are made', id }
    const bug = parsed.data
    const { repo, ref } = bug
    const spec = ref ? ({ kind: 'clone', path: repo, ref } as const) : parseRepositorySpec(repo, dir)
    const files = await openRepository(spec, workDir, signal, log)
    const at = { sandboxes, workDir: join(workDir, 'benches'), signal }
    const subject = subjectOf(bug, files, { most: options.maxTestClasses, shuffle: (names) => random.shuffle(names) })
    if ('drop' in subject) return { ...subject, id }
    let used = subject
    let measured = await measure(used, at)
    if (typeof measured === 'string' && bug.libs) {
      used = withJars(subject, await readJars(bug.libs))
      if (used.suite.hasJars) measured = await measure(used, at)
    }
    if (typeof measured !== 'string' && !shows(bug, measured)) {
      used = { ...used, suite: { ...used.suite, isWhole: true } }
      measured = await measure(used, at)
    }
    if (typeof measured === 'string') return { drop: 'not-runnable', detail: measured, id }
    if (!shows(bug, measured))
      return { drop: 'not-reproduced', detail: `none of ${bug.triggers.length} tests fails with the bug alone`, id }
    const symptoms = symptomsOf(bug, used, measured, options.maxLines)
    if (typeof symptoms === 'string') return { drop: 'no-reproduction', detail: symptoms, id }
    const title = bug.title ?? titleInChanges(listOfChanges(files), bug.report)
    return draftOf({ ...bug, title }, used, measured, symptoms)
  },
})

function shows({ triggers }: Bug, { failing }: Measured): boolean {
  return triggers.some((name) => failing.has(name))
}

/** What runs, and on what; the source and test roots follow from where the bug and the tests are. */
function subjectOf(
  { patch, triggers, relevant }: Bug,
  files: RepositoryFiles,
  { most, shuffle }: { most: number; shuffle: (names: readonly string[]) => readonly string[] },
): Subject | Dropped {
  const broken = brokenFiles(patch, files)
  if (typeof broken === 'string') return { drop: 'bad-patch', detail: broken }
  const triggering = [...new Set(triggers.map((name) => name.replace(/::.*/, '')))]
  const testRoot = rootOf(triggering[0] ?? '', files)
  const sourceRoot = packageRoot([...broken.keys()], files)
  if (testRoot === null || sourceRoot === null || sourceRoot === testRoot)
    return { drop: 'odd-layout', detail: 'expected sources and tests in folders by package' }
  const exists = (name: string) => Object.hasOwn(files, fileOf(testRoot, name)) && !name.includes('$')
  const missing = triggering.find((name) => !exists(name))
  if (missing !== undefined) return { drop: 'odd-layout', detail: `no file of ${missing} below ${testRoot}` }
  // Tests named after the classes with the bug are the most relevant.
  const names = [...broken.keys()].map((path) => /(\w+)\.java$/.exec(path)?.[1] ?? '?')
  const others = shuffle(relevant.filter((name) => exists(name) && !triggering.includes(name)))
  const near = (name: string) => names.some((own) => name.replace(/^.*\./, '').includes(own))
  const classes = [...triggering, ...others.filter(near), ...others.filter((name) => !near(name))]
  const resourceDirs = [sourceRoot, testRoot].flatMap((root) => {
    const dir = root.replace(/(?:^|\/)java$/, (end) => end.replace('java', 'resources'))
    return dir !== root && Object.keys(files).some((path) => path.startsWith(`${dir}/`)) ? [dir] : []
  })
  const suite: Suite = {
    ...{ sourceRoot, testRoot, resourceDirs, hasJars: false, isWhole: false },
    encoding: Object.entries(files).every(([path, { data }]) => !path.endsWith('.java') || isUtf8(data))
      ? 'UTF-8'
      : 'ISO-8859-1',
    classes: classes.slice(0, Math.max(most, triggering.length)),
  }
  return { files, broken, suite, triggering, jars: {} }
}

function listOfChanges(files: RepositoryFiles): string {
  const path = Object.keys(files).find((each) => /(?:^|\/)changes\.xml$/.test(each))
  return Buffer.from(files[path ?? '']?.data ?? '').toString('utf8')
}

function withJars(subject: Subject, jars: Subject['jars']): Subject {
  return { ...subject, jars, suite: { ...subject.suite, hasJars: Object.keys(jars).length > 0 } }
}

/** The files with the bug; a string says why there are none. */
function brokenFiles(patch: string, files: RepositoryFiles): Map<string, string | null> | string {
  const broken = new Map<string, string | null>()
  try {
    for (const file of parsePatch(patch)) {
      const before = file.oldPath === null ? '' : (files[file.oldPath]?.data ?? '')
      if (!isUtf8(before)) return `${file.oldPath} is not in UTF-8`
      if (file.oldPath !== null && file.oldPath !== file.newPath) broken.set(file.oldPath, null)
      if (file.newPath !== null) broken.set(file.newPath, applyFilePatch(Buffer.from(before).toString('utf8'), file))
    }
  } catch (error) {
    if (error instanceof PatchError) return error.message
    throw error
  }
  return broken
}

/** The folder that packages start in, derived from the path of a class. */
function rootOf(name: string, files: RepositoryFiles): string | null {
  const end = `/${name.replaceAll('.', '/')}.java`
  const [path] = Object.keys(files).filter((each) => each.endsWith(end))
  return path === undefined ? null : path.slice(0, -end.length)
}

/** The same, derived from the package that a changed file declares. */
function packageRoot(paths: readonly string[], files: RepositoryFiles): string | null {
  for (const path of paths) {
    const text = Buffer.from(files[path]?.data ?? '').toString('utf8')
    const [, name] = /^\s*package\s+([\w.]+)\s*;/m.exec(text) ?? []
    if (name !== undefined && path.endsWith('.java')) {
      const root = rootOf(`${name}.${/(\w+)\.java$/.exec(path)?.[1]}`, { [path]: { data: '' } })
      if (root !== null) return root
    }
  }
  return null
}
