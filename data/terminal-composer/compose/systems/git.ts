import { firstNames, lastNames, nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

interface Commit {
  readonly author: string
  readonly subject: string
  readonly at: number
  /** Files that it writes, or deletes if the text is null. */
  readonly files: ReadonlyMap<string, string | null>
}

/** A history in the format of `git fast-import`. */
function importStream(commits: readonly Commit[]): string {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  return commits
    .map(({ author, subject, at, files }) => {
      const who = `${author} <${author.split(' ')[0]?.toLowerCase()}@example.com> ${at} +0000`
      const changes = [...files].map(([path, text]) =>
        text === null ? `D ${path}\n` : `M 100644 inline ${path}\n${data(text)}`,
      )
      return `commit refs/heads/main\nauthor ${who}\ncommitter ${who}\n${data(subject)}${changes.join('')}`
    })
    .join('\n')
}

/** Build commands that turn the stream into a repository. */
const setup = [
  'git init -q -b main repo',
  'git -C repo fast-import --quiet < history.stream',
  'git -C repo reset -q --hard main',
  'rm history.stream',
]

const verbs = ['Add', 'Change', 'Fix', 'Rework', 'Tune', 'Review']

function beginCommits({ random, level }: Draw) {
  const authors = random.few(firstNames, byLevel(level, 2, 3, 5)).map((name) => `${name} ${random.pick(lastNames)}`)
  const commits: Commit[] = []
  let at = random.int(1_400_000_000, 1_700_000_000)
  const subjects = new Set<string>()
  const commit = (files: ReadonlyMap<string, string | null>) => {
    at += random.int(600, 90_000)
    let subject = ''
    while (subject === '' || subjects.has(subject))
      subject = `${random.pick(verbs)} ${random.few(plainWords, 2).join(' ')}`
    subjects.add(subject)
    const made = { author: random.pick(authors), subject, at, files }
    commits.push(made)
    return made
  }
  return { commits, commit }
}

const someText = ({ random }: Draw) =>
  lines(Array.from({ length: random.int(3, 7) }, () => random.few(plainWords, 4).join(' ')))

const recover: Operation = {
  name: 'git-recover-file',
  domains: ['git'],
  needs: ['git'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const { commits, commit } = beginCommits(draw)
    const [path = '', ...others] = random
      .few(nouns, byLevel(level, 3, 5, 7))
      .map((name) => `${random.pick(['doc', 'src', 'etc'])}/${name}.txt`)
    commit(new Map([path, ...others].map((name) => [name, someText(draw)])))
    let text = ''
    // Deleted, restored and deleted again, more often at harder levels; only the last text is correct.
    for (let life = byLevel(level, 1, 1, 2); life > 0; life--) {
      for (let nth = random.int(2, byLevel(level, 2, 4, 6)); nth > 0; nth--) {
        text = someText(draw)
        commit(
          new Map([
            [path, text],
            [random.pick(others), someText(draw)],
          ]),
        )
        commit(new Map([[random.pick(others), someText(draw)]]))
      }
      commit(
        new Map([
          [path, null],
          [random.pick(others), someText(draw)],
        ]),
      )
      commit(new Map([[random.pick(others), someText(draw)]]))
    }
    const out = random.pick(['recovered.txt', 'rescued.txt', 'out/last-version.txt'])
    return reportWork(draw, {
      domain: 'git',
      operation: 'git-recover-file',
      shape: 'history',
      faults: ['deleted-file'],
      isOpen: true,
      ask: [
        words.say(
          random.pick([
            `The branch \`main\` of the git repository \`${root}/repo\` once had a file \`${path}\`, which is gone now. Write the contents that it had right before it was deleted (for the last time, if it was deleted more than once) to \`${root}/${out}\`.`,
            `Somewhere in the history of \`${root}/repo\` (a git repository, branch \`main\`) the file \`${path}\` was deleted. Recover its last version as \`${root}/${out}\`.`,
            `\`${path}\` no longer exists in the git repository \`${root}/repo\`. Save the newest version of it that \`main\` ever had to \`${root}/${out}\`.`,
          ]),
          [
            `A file called \`${path}\` used to be on the branch \`main\` of the git repository \`${root}/repo\`, until it was deleted. Get back the contents that it had right before its deletion (the last one, if there were several) and save them as \`${root}/${out}\`.`,
            `Please recover a deleted file: \`${path}\`, once part of the branch \`main\` of the git repository \`${root}/repo\`. I want the contents that it had immediately before it was deleted, or before the last time if that happened more than once. Write them to \`${root}/${out}\`.`,
            `\`${root}/${out}\` should have the contents of the last version of \`${path}\`, a file that was deleted in the history of the branch \`main\` of the git repository \`${root}/repo\`. If it was deleted several times, the version before the last deletion is meant.`,
            `What did \`${path}\` contain just before it was deleted from \`main\` in the git repository \`${root}/repo\`? If it was deleted repeatedly, the last deletion counts. Put those contents into \`${root}/${out}\`.`,
            `In the git repository \`${root}/repo\`, the branch \`main\` has no file \`${path}\` any more. Look up the newest version of it that was ever on \`main\` and write that to \`${root}/${out}\`.`,
          ],
        ),
        words.say(
          random.pick([
            'Leave the repository as it is.',
            'The repository and its files must not change.',
            'Do not commit anything.',
          ]),
          [
            'Do not change anything in the repository.',
            'The repository itself must stay untouched.',
            'Only read from the repository: no new commits, no changed files.',
            'Make no changes to the repository or its files.',
            'When you are done, the repository must be the same as before.',
          ],
        ),
      ],
      before: { 'history.stream': file(importStream(commits)) },
      after: {},
      setup,
      out,
      text,
      solve: `commit=$(git -C repo log -n 1 --format=%H --diff-filter=D -- ${path})
git -C repo show "$commit^:${path}"`,
    })
  },
}

const lastChange: Operation = {
  name: 'git-last-change',
  domains: ['git'],
  needs: ['git'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const { commits, commit } = beginCommits(draw)
    const keys = random.few(nouns, byLevel(level, 5, 9, 14)).map((name) => `${name}_${random.pick(plainWords)}`)
    const values = new Map(keys.map((key) => [key, String(random.int(1, 999))]))
    const path = random.pick(['settings.ini', 'conf/service.conf', 'app.properties'])
    const shown = () => lines([...values].map(([key, value]) => `${key} = ${value}`))
    const first = commit(
      new Map([
        [path, shown()],
        ['README', someText(draw)],
      ]),
    )
    const by = new Map(keys.map((key) => [key, first]))
    for (let nth = byLevel(level, 8, 20, 40); nth > 0; nth--) {
      const changed = random.chance(0.25) ? [] : random.few(keys, random.int(1, 2))
      for (const key of changed) values.set(key, String(random.int(1000 * nth, 1000 * nth + 999)))
      const made = commit(new Map([changed.length > 0 ? [path, shown()] : ['README', someText(draw)]]))
      for (const key of changed) by.set(key, made)
    }
    const text = [...by]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { author, subject }]) => `${key}: ${subject} (${author})`)
    const out = random.pick(['changes.txt', 'last-changes.txt', 'out/origins.txt'])
    return reportWork(draw, {
      domain: 'git',
      operation: 'git-last-change',
      shape: 'settings-history',
      isOpen: true,
      ask: [
        words.say(
          random.pick([
            `\`${path}\` in the git repository \`${root}/repo\` has lines \`KEY = VALUE\`. For each key, find the commit on \`main\` that gave it its present value, and write \`KEY: SUBJECT (AUTHOR)\` to \`${root}/${out}\`, with the subject of the commit and the name of its author, one line per key, sorted by key in byte order.`,
            `Who set what? The settings in \`${path}\` of the git repository \`${root}/repo\` (lines \`KEY = VALUE\`, branch \`main\`) were changed over time. Write one line \`KEY: SUBJECT (AUTHOR)\` per key to \`${root}/${out}\`, where SUBJECT is the first line of the message of the commit that last changed the value of this key, and AUTHOR is the name of its author. Sort the lines by key, in byte order.`,
          ]),
          [
            `The git repository \`${root}/repo\` keeps settings in \`${path}\`, as lines \`KEY = VALUE\`. Where does each of the present values on \`main\` come from? List the keys in \`${root}/${out}\`, one per line and sorted in byte order, as \`KEY: SUBJECT (AUTHOR)\`: SUBJECT is the first line of the message of the commit that gave the key its present value, and AUTHOR is the name of the author of that commit.`,
            `For each key in \`${path}\` (a file with lines \`KEY = VALUE\` in the git repository \`${root}/repo\`), which commit on the branch \`main\` gave it the value that it has now? Answer in \`${root}/${out}\` with one line per key in the form \`KEY: SUBJECT (AUTHOR)\`, where SUBJECT is the subject of that commit and AUTHOR the name of its author. The lines are sorted by key, in byte order.`,
            `Please write \`${root}/${out}\`, with one line \`KEY: SUBJECT (AUTHOR)\` for every key of \`${path}\`, in the byte order of the keys. \`${path}\` is a file with lines \`KEY = VALUE\` in the git repository \`${root}/repo\`; SUBJECT and AUTHOR are the subject and the name of the author of the commit on \`main\` that set the key to its present value.`,
            `Trace the settings in a git repository, \`${root}/repo\`, back to their origin. They are the lines \`KEY = VALUE\` of \`${path}\` on the branch \`main\`. For each key, look for the commit that last changed its value (or that added the key, if the value was never changed), and note the subject of that commit and the name of its author as \`KEY: SUBJECT (AUTHOR)\`. These lines, one for each key, go to \`${root}/${out}\`, sorted by key in byte order.`,
          ],
        ),
        words.say(random.pick(['Leave the repository as it is.', 'Nothing in the repository may change.']), [
          'Do not change anything in the repository.',
          'The repository itself must stay untouched.',
          'Only read from the repository; never write to it.',
          'Make no changes to the repository.',
          'When you are done, the repository must be the same as before.',
        ]),
      ],
      before: { 'history.stream': file(importStream(commits)) },
      after: {},
      setup,
      out,
      text: lines(text),
      solve: `git -C repo blame --line-porcelain main -- ${path} | awk '
/^author / { author = substr($0, 8) }
/^summary / { subject = substr($0, 9) }
/^\\t/ { sub(/^\\t/, ""); print $1 ": " subject " (" author ")" }' | sort`,
    })
  },
}

/** Operations on git histories. */
export const gitOperations: readonly Operation[] = [recover, lastChange]
