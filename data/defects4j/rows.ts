import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Dropped, type RawRow, UserError } from 'ot-agent'

export const provide =
  'git clone https://github.com/rjust/defects4j, run its init.sh, and name the folder with --input-dir'

/** A commit's name; never something git would read as an option. */
export const refPattern = /^\w[\w./-]*$/

/** Every active bug in a Defects4J checkout whose project's repository is present, as init.sh downloads them. */
export async function* readBugs(
  inputDir: string | null,
  only: readonly string[],
): AsyncGenerator<RawRow | Dropped, void, void> {
  const projects = await readdir(join(inputDir ?? '', 'framework/projects')).catch(() => null)
  if (inputDir === null || projects === null) throw new UserError('defects4j needs a checkout of Defects4J', provide)
  const wanted = only.length > 0 ? only : projects.sort()
  const unknown = wanted.find((project) => !projects.includes(project))
  if (unknown !== undefined)
    throw new UserError(
      `projects: Defects4J has no project ${JSON.stringify(unknown)}`,
      `it has ${projects.join(', ')}`,
    )
  for (const project of wanted) {
    const dir = join(inputDir, 'framework/projects', project)
    const bugs = await readFile(join(dir, 'active-bugs.csv'), 'utf8').catch(() => null)
    // Folders shared by the projects lie next to them.
    if (bugs === null) continue
    const settings = await readFile(join(inputDir, `framework/core/Project/${project}.pm`), 'utf8')
    const name = /my \$name\s*=\s*"([\w.-]+)"/.exec(settings)?.[1] ?? project.toLowerCase()
    const repo = join(inputDir, 'project_repos', `${name}.git`)
    for (const line of bugs.trim().split('\n').slice(1)) {
      const [number = '', , ref = '', report = ''] = line.split(',')
      const id = `${project}-${number}`
      if (!/^\d+$/.test(number) || !refPattern.test(ref)) {
        const got = JSON.stringify(line.slice(0, 100))
        yield { drop: 'unreadable-row', detail: `expected a bug's number and the commit of its fix, got ${got}`, id }
        continue
      }
      if (!(await stat(repo).catch(() => null))) {
        yield { drop: 'no-repository', detail: `no project_repos/${name}.git`, id }
        continue
      }
      const about = { project: name, repo, ref, report, libs: join(dir, 'lib') }
      const texts = await bugOf(dir, number).catch((error) => String(error))
      if (typeof texts === 'string') yield { drop: 'unreadable-row', detail: texts.slice(0, 200), id }
      else
        yield {
          id,
          source: 'defects4j',
          fields: { ...about, ...texts, title: titleOf(await messageOf(repo, ref), report) },
        }
    }
  }
}

async function bugOf(dir: string, number: string) {
  const read = (path: string) => readFile(join(dir, path), 'utf8')
  const [patch, triggers, relevant] = await Promise.all([
    read(`patches/${number}.src.patch`),
    read(`trigger_tests/${number}`),
    read(`relevant_tests/${number}`),
  ])
  return {
    patch,
    triggers: [...triggers.matchAll(/^--- ([\w.$]+::\w+)/gm)].map(([, name]) => name),
    relevant: relevant.split('\n').filter((name) => name !== ''),
  }
}

/** The first line of the commit message, or an empty string. */
async function messageOf(repo: string, ref: string): Promise<string> {
  const args = ['-C', repo, '-c', `safe.directory=${repo}`, 'log', '-1', '--format=%s', '--end-of-options', ref, '--']
  const { stdout } = await promisify(execFile)('git', args).catch(() => ({ stdout: '' }))
  return stdout.trim()
}

/**
 * The report's title if a commit message repeats it: after the report's number, or after the word fix. Other messages
 * say what was done, or whose patch it was.
 */
export function titleOf(message: string, report: string): string | null {
  const number = report.replace(/\W/g, '\\$&')
  const [, byNumber] = new RegExp(`^\\W*${number}\\b[\\])]?(?::|,| -)?\\s+(.+)$`).exec(message) ?? []
  const [, byWord] =
    /^(?:Fix(?:e[sd])?|Bug ?fix)(?: for)?(?: an?)?(?: issue| bug| problem)?(?: where| when| with| in which)?:? (.+)$/i.exec(
      message,
    ) ?? []
  const said = (byNumber ?? byWord)
    ?.replace(/https?:\S+|\[\d+\]/g, '')
    .replace(/[\s,;.]*[[(]*(?:\b[A-Z]+-|#)\d+[\])]*[:,]?\s*/g, '; ')
    .replace(/[.,;\s]+(?:thank(?:s| you)\b|submitted by|reported by|(?:this )?(?:also )?closes\b).*$/i, '')
    .replace(/^[;\s]+|[;.\s]+$/g, '')
  if (said === undefined || said.length < 15 || ofTheFix.test(said)) return null
  // Method names stay as they are.
  return said.replace(/^[a-z]+(?= )/, (word) => word.charAt(0).toUpperCase() + word.slice(1))
}

/** The report's title in a project's changelog, in the format Apache projects use. */
export function titleInChanges(xml: string, report: string): string | null {
  const action = new RegExp(`<action[^>]*\\bissue="${report.replace(/\W/g, '\\$&')}"[^>]*>([^<]*)</action>`)
  const [, text = ''] = action.exec(xml) ?? []
  return titleOf(
    `${report}: ${text
      .replace(/&quot;/g, '"')
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>')
      .replace(/&amp;/g, '&')
      .replace(/\s+/g, ' ')
      .trim()}`,
    report,
  )
}

/** A title with these words describes the change, not the problem. */
const ofTheFix =
  /\b(?:patch|submitted|thanks|applied|applying|part \d|implement(?:ed)?|added?|adding|refactor\w*|changed?|changing|removed?|reverted?|unit tests?|test case|instead of|now|provided)\b/i
