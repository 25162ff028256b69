import { nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation, type Tree } from '../work.ts'
import { simpleWork } from './simple-work.ts'

const endings = ['txt', 'log', 'csv', 'md', 'json', 'conf', 'bak', 'tmp']

/** Some lines of words. */
export function someText({ random }: Draw, lines = random.int(2, 8)): string {
  return Array.from({ length: lines }, () => `${random.few(plainWords, random.int(3, 9)).join(' ')}\n`).join('')
}

/** Files in folders up to three deep, some with spaces in their names. */
function someFiles(draw: Draw, count: number): Record<string, string> {
  const { random, level } = draw
  const spaces = level === 'easy' ? 0 : 0.25
  const folders = ['', ...random.few(nouns, random.int(2, 4))]
  const deep = folders.flatMap((folder) => (folder === '' ? [''] : [folder, `${folder}/${random.pick(nouns)}`]))
  const files: Record<string, string> = {}
  while (Object.keys(files).length < count) {
    const folder = random.pick(deep)
    const name = `${random.few(plainWords, random.int(1, 2)).join(random.chance(spaces) ? ' ' : '-')}.${random.pick(endings)}`
    files[folder === '' ? name : `${folder}/${name}`] ??= someText(draw)
  }
  return files
}

const trees = (files: Readonly<Record<string, string>>): Tree =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path, file(text)]))
const base = (path: string) => path.slice(path.lastIndexOf('/') + 1)
const endingOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)
const nameFaults = (files: object) => (Object.keys(files).some((path) => path.includes(' ')) ? ['spaces-in-names'] : [])
const inBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

const renameBatch: Operation = {
  name: 'rename-batch',
  domains: ['files'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 16, 30))
    const ending = random.pick(endings)
    const to = random.pick(['old', 'text', 'dat', 'orig', 'keep'])
    const upper = random.chance(0.5)
    const rename = (path: string) => {
      if (endingOf(path) !== ending) return path
      const name = base(path).replace(/\.[^.]*$/, '')
      return `${path.slice(0, path.length - base(path).length)}${(upper ? name.toUpperCase() : name).replaceAll(' ', '_')}.${to}`
    }
    const moved = Object.entries(files).map(([path, text]) => [rename(path), text] as const)
    if (new Set(moved.map(([path]) => path)).size < moved.length) return null
    const ask = random.pick([
      `Somewhere under \`${root}\` there are files whose names end in \`.${ending}\`. Rename all of them, whatever folder they are in: the ending becomes \`.${to}\`, spaces in the name become underscores${upper ? ', and the name before the ending becomes upper case' : ''}. Other files keep their names, and no content changes.`,
      `Give every \`.${ending}\` file below \`${root}\` (also in sub-folders) the ending \`.${to}\` instead, replace the spaces in its name by \`_\`${upper ? ' and turn the name (not the ending) into capital letters' : ''}. Folders, contents and all other files stay.`,
    ])
    return simpleWork(draw, {
      domain: 'files',
      operation: 'rename-batch',
      shape: 'tree',
      faults: nameFaults(files),
      ask: [ask],
      before: trees(files),
      after: trees(Object.fromEntries(moved)),
      solve: `find . -type f -name '*.${ending}' -print0 | while IFS= read -r -d '' path; do
  name=$(basename "$path" .${ending})
  name=\${name// /_}
  mv -- "$path" "$(dirname "$path")/$${upper ? '{name^^}' : 'name'}.${to}"
done`,
    })
  },
}

const byEnding: Operation = {
  name: 'sort-by-ending',
  domains: ['files'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 16, 30))
    const target = random.pick(['sorted', 'by-type', 'archive', 'kinds'])
    const moved = Object.entries(files).map(
      ([path, text]) => [`${target}/${endingOf(path)}/${base(path)}`, text] as const,
    )
    if (
      new Set(moved.map(([path]) => path)).size < moved.length ||
      Object.keys(files).some((path) => path.startsWith(target))
    )
      return null
    const ask = random.pick([
      `Tidy up \`${root}\`: move every file in it, however deep, to \`${root}/${target}/ENDING/\`, where ENDING is what follows the last dot of its name. Names stay as they are. The old folders, empty by then, must go.`,
      `Sort all files below \`${root}\` by kind: a file \`a.txt\`, wherever it lies, ends up as \`${root}/${target}/txt/a.txt\`, and so on for every other ending. Remove the folders that become empty.`,
    ])
    return simpleWork(draw, {
      domain: 'files',
      operation: 'sort-by-ending',
      shape: 'tree',
      faults: nameFaults(files),
      ask: [ask],
      before: trees(files),
      after: trees(Object.fromEntries(moved)),
      solve: `find . -type f -not -path './${target}/*' -print0 | while IFS= read -r -d '' path; do
  ending=\${path##*.}
  mkdir -p "${target}/$ending"
  mv -- "$path" "${target}/$ending/"
done
find . -mindepth 1 -type d -empty -delete`,
    })
  },
}

const removeCopies: Operation = {
  name: 'remove-copies',
  domains: ['files'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = someFiles(draw, byLevel(level, 10, 18, 32))
    const paths = Object.keys(files)
    for (const path of random.few(paths, byLevel(level, 3, 6, 12))) files[path] = files[random.pick(paths)] ?? ''
    const first = new Map<string, string>()
    for (const path of paths.toSorted(inBytes)) if (!first.has(files[path] ?? '')) first.set(files[path] ?? '', path)
    const kept = new Set(first.values())
    const report = random.pick(['removed.txt', 'copies.txt', 'duplicates.txt'])
    const gone = paths.filter((path) => !kept.has(path)).sort(inBytes)
    if (gone.length === 0 || paths.includes(report)) return null
    const ask = random.pick([
      `Some files under \`${root}\` have the same content. Of each group of equal files keep the one whose path (relative to \`${root}\`, such as \`a/b.txt\`) comes first in byte order and delete the others. List what you deleted in \`${root}/${report}\`, one relative path per line, in byte order.`,
      `Find files with identical content below \`${root}\` and delete all but one of each: the one with the first relative path in byte order stays. Write the relative paths of the deleted files to \`${root}/${report}\`, sorted in byte order, one per line (for example \`a/b.txt\`).`,
    ])
    return simpleWork(draw, {
      domain: 'files',
      operation: 'remove-copies',
      shape: 'tree',
      faults: [...nameFaults(files), 'duplicate-files'],
      ask: [ask, 'Folders that become empty stay.'],
      before: trees(files),
      after: {
        ...trees(Object.fromEntries(paths.filter((path) => kept.has(path)).map((path) => [path, files[path] ?? '']))),
        ...folders(paths),
        [report]: file(gone.map((path) => `${path}\n`).join('')),
      },
      solve: `list=$(mktemp)
find . -type f -printf '%P\\n' | sort | while IFS= read -r path; do
  printf '%s %s\\n' "$(sha256sum < "$path" | cut -c 1-64)" "$path"
done | awk 'seen[$1]++ { print substr($0, 66) }' > "$list"
while IFS= read -r path; do rm -- "$path"; done < "$list"
sort "$list" > ${report}
rm "$list"`,
    })
  },
}

/** The folders that some paths lie in. */
function folders(paths: readonly string[]): Tree {
  const all = paths.flatMap((path) =>
    path
      .split('/')
      .slice(0, -1)
      .map((_, at, parts) => parts.slice(0, at + 1).join('/')),
  )
  return Object.fromEntries(all.map((path) => [path, { kind: 'dir' }]))
}

const flatten: Operation = {
  name: 'flatten',
  domains: ['files'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 14, 26))
    const sign = random.pick(['__', '--', '+', '@'])
    const moved = Object.fromEntries(Object.entries(files).map(([path, text]) => [path.replaceAll('/', sign), text]))
    if (Object.keys(moved).length < Object.keys(files).length) return null
    const ask = random.pick([
      `Flatten \`${root}\`: every file moves directly into \`${root}\`, and its new name is its old relative path with each \`/\` replaced by \`${sign}\` (so \`a/b/c.txt\` becomes \`a${sign}b${sign}c.txt\`). No folder is left.`,
      `There shall be no sub-folders in \`${root}\` any more. Move their files up and put their folders into the name, joined by \`${sign}\`: \`a/b.txt\` turns into \`a${sign}b.txt\`. Contents do not change.`,
    ])
    return simpleWork(draw, {
      domain: 'files',
      operation: 'flatten',
      shape: 'tree',
      faults: nameFaults(files),
      ask: [ask],
      before: trees(files),
      after: trees(moved),
      solve: `find . -mindepth 2 -type f -printf '%P\\0' | while IFS= read -r -d '' path; do mv -- "$path" "\${path//\\//${sign}}"; done
find . -mindepth 1 -type d -empty -delete`,
    })
  },
}

const sizeReport: Operation = {
  name: 'size-report',
  domains: ['files'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 16, 30))
    const count = random.int(3, 6)
    const report = random.pick(['largest.tsv', 'sizes.tsv', 'top-files.tsv'])
    const lines = Object.entries(files)
      .map(([path, text]) => ({ path, size: text.length }))
      .sort((a, b) => b.size - a.size || inBytes(a.path, b.path))
      .slice(0, count)
    const ask = random.pick([
      `Which ${count} files below \`${root}\` are the largest? Write them to \`${root}/${report}\`: size in bytes, a tab, path relative to \`${root}\` (such as \`a/b.txt\`), one file per line, largest first; of files of the same size the one whose path comes first in byte order comes first. The report itself does not count.`,
      `Write a list of the ${count} biggest files under \`${root}\` to \`${root}/${report}\`, each line being the number of bytes, a tab and the relative path (\`a/b.txt\`). Biggest first; equal sizes in the byte order of their paths; the list is not part of the list.`,
    ])
    return simpleWork(draw, {
      domain: 'files',
      operation: 'size-report',
      shape: 'tree',
      faults: nameFaults(files),
      ask: [ask],
      before: trees(files),
      after: { ...trees(files), [report]: file(lines.map(({ path, size }) => `${size}\t${path}\n`).join('')) },
      solve: `list=$(find . -type f -printf '%s\\t%P\\n' | sort -t $'\\t' -k 1,1nr -k 2 | sed -n '1,${count}p')
printf '%s\\n' "$list" > ${report}`,
    })
  },
}

const modes: Operation = {
  name: 'normalise-modes',
  domains: ['permissions'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = someFiles(draw, byLevel(level, 6, 12, 20))
    const scripts = new Set(random.few(Object.keys(files), random.int(2, 4)))
    const [fileMode, scriptMode, dirMode] = random.pick([
      ['640', '750', '750'],
      ['600', '700', '700'],
      ['644', '755', '755'],
      ['660', '770', '770'],
      ['444', '555', '755'],
    ] as const)
    const content = (path: string) => (scripts.has(path) ? `#!/bin/sh\n# ${files[path]}` : (files[path] ?? ''))
    const paths = Object.keys(files)
    const wild = () => random.pick(['600', '644', '666', '777', '755', '640', '700'])
    const before = Object.fromEntries(paths.map((path) => [path, file(content(path), wild())]))
    const after = Object.fromEntries(
      paths.map((path) => [path, file(content(path), scripts.has(path) ? scriptMode : fileMode)]),
    )
    const dirs = (mode: () => string): Tree =>
      Object.fromEntries(Object.keys(folders(paths)).map((path) => [path, { kind: 'dir', mode: mode() }]))
    const ask = random.pick([
      `The permissions below \`${root}\` are a mess. Set them right: folders ${dirMode}, files that begin with the two characters \`#!\` ${scriptMode}, all other files ${fileMode}. The mode of \`${root}\` itself does not matter, and nothing else may change.`,
      `Bring the modes in \`${root}\` into order. Every sub-folder gets ${dirMode}. A file is a script when its first two bytes are \`#!\`: scripts get ${scriptMode}, other files ${fileMode}. Contents and names stay.`,
    ])
    return simpleWork(draw, {
      domain: 'permissions',
      operation: 'normalise-modes',
      shape: 'tree',
      faults: [...nameFaults(files), 'wrong-modes'],
      ask: [ask],
      before: { ...dirs(() => random.pick(['755', '777', '700'])), ...before },
      after: { ...dirs(() => dirMode), ...after },
      solve: `find . -mindepth 1 -type d -exec chmod ${dirMode} {} +
find . -type f -print0 | while IFS= read -r -d '' path; do
  if [ "$(head -c 2 "$path")" = '#!' ]; then chmod ${scriptMode} "$path"; else chmod ${fileMode} "$path"; fi
done`,
    })
  },
}

const modeReport: Operation = {
  name: 'mode-report',
  domains: ['permissions'],
  make: (draw) => {
    const { random, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 14, 24))
    const before = Object.fromEntries(
      Object.entries(files).map(([path, text]) => [
        path,
        file(text, random.pick(['600', '644', '664', '666', '640', '604', '606'])),
      ]),
    )
    const [bit, words, mask] = random.pick([
      [2, 'that others (neither owner nor group) may write', '-o=w'],
      [4, 'that others (neither owner nor group) may read', '-o=r'],
      [16, 'that their group may write', '-g=w'],
      [32, 'that their group may read', '-g=r'],
    ] as const)
    const found = Object.entries(before)
      .filter(([, entry]) => entry.kind === 'file' && (Number.parseInt(entry.mode ?? '0', 8) & bit) !== 0)
      .map(([path]) => path)
      .sort(inBytes)
    if (found.length === 0 || found.length === Object.keys(files).length) return null
    const report = random.pick(['exposed.txt', 'audit.txt', 'open-files.txt'])
    const fixed = random.chance(0.5)
    const after = fixed
      ? Object.fromEntries(
          Object.entries(before).map(([path, entry]) => [
            path,
            entry.kind === 'file'
              ? file(entry.data, (Number.parseInt(entry.mode ?? '0', 8) & ~bit).toString(8))
              : entry,
          ]),
        )
      : before
    const then = fixed
      ? ' Then take exactly that permission away from them and leave all other bits alone.'
      : ' Change no permissions.'
    const ask = random.pick([
      `List the files below \`${root}\` ${words} in \`${root}/${report}\`: relative paths such as \`a/b.txt\`, one per line, in byte order; the report itself is not in it.${then}`,
      `An audit of \`${root}\`: which files are there ${words}? Their relative paths (\`a/b.txt\`), in byte order and one per line, go into \`${root}/${report}\`, without the report itself.${then}`,
    ])
    return simpleWork(draw, {
      domain: 'permissions',
      operation: 'mode-report',
      shape: 'tree',
      faults: nameFaults(files),
      constraints: fixed ? ['repair'] : [],
      ask: [ask],
      before,
      after: { ...after, [report]: file(found.map((path) => `${path}\n`).join('')) },
      solve: `list=$(find . -type f -perm ${mask} -printf '%P\\n' | sort)
${fixed ? `find . -type f -perm ${mask} -exec chmod ${mask.slice(1).replace('=', '-')} {} +\n` : ''}printf '%s\\n' "$list" > ${report}`,
    })
  },
}

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

/** Operations on files and folders as such. */
export const treeOperations: readonly Operation[] = [
  renameBatch,
  byEnding,
  removeCopies,
  flatten,
  sizeReport,
  modes,
  modeReport,
  brokenLinks,
  linksToCopies,
]
