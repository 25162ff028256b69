import { nouns, plainWords } from '../words.ts'
import { byLevel, file, type Operation, type Tree } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { inBytes, someFiles, trees } from './some-files.ts'

const brokenLinks: Operation = {
  name: 'broken-links',
  domains: ['links'],
  make: (draw) => {
    const { random, words, level, root } = draw
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
    const ask = words.say(
      random.pick([
        `Some symbolic links in \`${root}\` lead nowhere. Delete those and write their names to \`${root}/${report}\` as \`NAME -> TARGET\` (TARGET as it is stored in the link), one per line, in byte order. Links that lead to a file stay as they are.`,
        `Clean up the symbolic links in \`${root}\`: remove every link whose target does not exist, and record each in \`${root}/${report}\` in the form \`NAME -> TARGET\`, sorted in byte order. Do not touch the others.`,
      ]),
      [
        `Find the symbolic links in \`${root}\` whose targets do not exist. For each of them, write a line \`NAME -> TARGET\` to \`${root}/${report}\`, with the target exactly as it is stored in the link, and delete the link. The lines are in byte order; links to something that exists stay as they are.`,
        `Dangling symbolic links have piled up in \`${root}\`. Please remove them, but keep a record: \`${root}/${report}\` gets one line per removed link, \`NAME -> TARGET\`, where TARGET is the text stored in the link. Sort the record in byte order. Links that work must not be changed.`,
        `After the cleanup, no symbolic link in \`${root}\` may point to something that does not exist: delete the ones that do. All other links remain exactly as they are. List the deleted ones in \`${root}/${report}\`, in byte order and one per line, as \`NAME -> TARGET\` (TARGET being what the link contains, unaltered).`,
        `Which symbolic links in \`${root}\` are broken, that is, have a target that does not exist? List them in \`${root}/${report}\`, one per line as \`NAME -> TARGET\` (with TARGET taken from the link as it is) and in byte order, and delete these links. Leave the links that lead to a file alone.`,
        `\`${root}/${report}\` should list, in byte order, one \`NAME -> TARGET\` per line for each symbolic link in \`${root}\` that leads nowhere, with TARGET as the link has it. These links themselves should be gone afterwards, while links with an existing target are kept untouched.`,
      ],
    )
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
    const { random, words, level, root } = draw
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
      ? words.say(
          `Files in \`${root}\` whose names begin with \`link-\` are copies of other files below \`${root}\`. Save space: replace each of them by a relative symbolic link of the same name to the file it is a copy of (the link's target is the path relative to \`${root}\`, such as \`a/b.txt\`).`,
          [
            `In \`${root}\`, every file whose name starts with \`link-\` is a duplicate of another file below \`${root}\`. To save space, turn each into a symbolic link with the same name that points to the file it duplicates; the target is relative, namely the path of that file as seen from \`${root}\`, for example \`a/b.txt\`.`,
            `Disk space is wasted in \`${root}\`: the files there with names beginning with \`link-\` are copies of other files below \`${root}\`. Delete each copy and put in its place, under the same name, a relative symbolic link to the original, with the original's path relative to \`${root}\` as its target (like \`a/b.txt\`).`,
            `Replace copies by symbolic links. The copies are the files in \`${root}\` with names that begin with \`link-\`; the original of each is another file somewhere below \`${root}\`. Every copy gives way to a symbolic link of the same name whose target is the path of the original relative to \`${root}\`, in the form \`a/b.txt\`.`,
            `Could you save some space in \`${root}\`? Each file there with a name that starts with \`link-\` has the content of another file below \`${root}\`, of which it is a copy. Under its old name, it should become a symbolic link to that file. Use relative links: the target is the path from \`${root}\` on, such as \`a/b.txt\`.`,
          ],
        )
      : words.say(
          `In \`${root}\` there are symbolic links whose names begin with \`link-\`. Replace each by a regular file of the same name with the content of what it leads to. What they lead to stays as it is.`,
          [
            `Turn the symbolic links in \`${root}\` whose names begin with \`link-\` into regular files: each keeps its name and gets the content of what it points to. What the links point to does not change.`,
            `Some entries of \`${root}\` are symbolic links with names starting with \`link-\`. I need real copies instead: in place of each link a regular file that has the link's name and the content of its target. The targets must remain as they are.`,
            `Every symbolic link in \`${root}\` with a name that starts with \`link-\` should give way to a regular file that has the same name, filled with the content that the link leads to. Leave what the links lead to unchanged.`,
            `Please do away with symbolic links in \`${root}\`: wherever the name of one begins with \`link-\`, put a regular file of that name in its place, with its content taken from what the link led to. Do not alter the targets.`,
            `What is a symbolic link in \`${root}\` and has a name beginning with \`link-\` must be a regular file in the end, under the same name and with the content of the link's target. The targets stay untouched.`,
          ],
        )
    return simpleWork(draw, {
      domain: 'links',
      operation: 'links-to-copies',
      shape: toLinks ? 'copies' : 'links',
      ask: [
        ask,
        words.say(random.pick(['Nothing that is not named `link-...` changes.', 'All other files stay untouched.']), [
          'Only what is named `link-...` may change.',
          'Do not change any other file.',
          'Everything else stays the way it is.',
          'Leave the remaining files alone.',
          'No other file may be altered.',
        ]),
      ],
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
