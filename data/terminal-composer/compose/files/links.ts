import { nouns, plainWords } from '../words.ts'
import { byLevel, file, type Operation, type Tree } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { inBytes, someFiles, trees } from './some-files.ts'

const brokenLinks: Operation = {
  name: 'broken-links',
  domains: ['links'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = Object.fromEntries(
      Object.entries(someFiles(draw, byLevel(level, 6, 10, 16))).filter(([path]) => !path.includes(' ')),
    )
    const top = Object.keys(files).filter((path) => !path.includes('/'))
    if (Object.keys(files).length < 3) return null
    const links: Record<string, string> = {}
    for (const name of random.few(nouns, byLevel(level, 4, 8, 14)))
      links[`${name}.link`] = random.chance(0.5)
        ? random.pick(Object.keys(files))
        : `${random.pick(nouns)}/${random.pick(plainWords)}.txt`
    const isBroken = (to: string) => !Object.hasOwn(files, to)
    const broken = Object.entries(links)
      .filter(([, to]) => isBroken(to))
      .map(([path]) => path)
      .sort(inBytes)
    if (broken.length === 0 || broken.length === Object.keys(links).length || top.some((path) => path in links))
      return null
    const report = random.pick(['dead-links.txt', 'broken.txt', 'dangling.txt'])
    const linkTree = (kept: (to: string) => boolean): Tree =>
      Object.fromEntries(
        Object.entries(links)
          .filter(([, to]) => kept(to))
          .map(([path, to]) => [path, { kind: 'link', to }]),
      )
    const ask = random.pick([
      `Some symbolic links in \`${root}\` lead nowhere. Delete those and write their names to \`${root}/${report}\` as \`NAME -> TARGET\` (TARGET as it is stored in the link), one per line, in byte order. Links that lead to a file stay as they are.`,
      `Clean up the symbolic links in \`${root}\`: remove every link whose target does not exist, and record each in \`${root}/${report}\` in the form \`NAME -> TARGET\`, sorted in byte order. Do not touch the others.`,
    ])
    return simpleWork(draw, {
      domain: 'links',
      operation: 'broken-links',
      shape: 'tree',
      faults: ['broken-links'],
      ask: [ask],
      before: { ...trees(files), ...linkTree(() => true) },
      after: {
        ...trees(files),
        ...linkTree((to) => !isBroken(to)),
        [report]: file(broken.map((path) => `${path} -> ${links[path]}\n`).join('')),
      },
      solve: `find . -xtype l -printf '%P -> %l\\n' | sort > /tmp/dead.txt
find . -xtype l -delete
mv /tmp/dead.txt ${report}`,
    })
  },
}

const linksToCopies: Operation = {
  name: 'links-to-copies',
  hardest: 'easy',
  domains: ['links'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = Object.fromEntries(
      Object.entries(someFiles(draw, byLevel(level, 5, 9, 14))).filter(([path]) => !path.includes(' ')),
    )
    if (Object.keys(files).length < 2) return null
    const names = random.few(nouns, byLevel(level, 3, 5, 9)).map((name) => `link-${name}`)
    const links = Object.fromEntries(names.map((name) => [name, random.pick(Object.keys(files))]))
    const toLinks = random.chance(0.5)
    const asLinks: Tree = Object.fromEntries(Object.entries(links).map(([path, to]) => [path, { kind: 'link', to }]))
    const asFiles: Tree = Object.fromEntries(Object.entries(links).map(([path, to]) => [path, file(files[to] ?? '')]))
    if (toLinks && new Set(Object.values(files)).size < Object.keys(files).length) return null
    const ask = toLinks
      ? `Files in \`${root}\` whose names begin with \`link-\` are copies of other files below \`${root}\`. Save space: replace each of them by a relative symbolic link of the same name to the file it is a copy of (the link's target is the path relative to \`${root}\`, such as \`a/b.txt\`).`
      : `In \`${root}\` there are symbolic links whose names begin with \`link-\`. Replace each by a regular file of the same name with the content of what it leads to. What they lead to stays as it is.`
    return simpleWork(draw, {
      domain: 'links',
      operation: 'links-to-copies',
      shape: toLinks ? 'copies' : 'links',
      ask: [ask, random.pick(['Nothing that is not named `link-...` changes.', 'All other files stay untouched.'])],
      before: { ...trees(files), ...(toLinks ? asFiles : asLinks) },
      after: { ...trees(files), ...(toLinks ? asLinks : asFiles) },
      solve: toLinks
        ? `for name in link-*; do
  find . -type f -not -name 'link-*' -printf '%P\\n' | while IFS= read -r path; do
    if cmp -s "$name" "$path"; then ln -sf "$path" "$name"; fi
  done
done`
        : `for name in link-*; do cp --remove-destination -L "$(readlink "$name")" "$name"; done`,
    })
  },
}

/** Operations on symbolic links. */
export const linkOperations: readonly Operation[] = [brokenLinks, linksToCopies]
