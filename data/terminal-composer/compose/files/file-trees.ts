import { byLevel, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { base, endingOf, endings, folders, inBytes, nameFaults, someFiles, trees } from './some-files.ts'

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
      // Lists the old folders, so that the tests notice whether they are gone.
      before: { ...folders(Object.keys(files)), ...trees(files) },
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
  hardest: 'easy',
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

/** Operations on files and folders as a whole. */
export const treeOperations: readonly Operation[] = [renameBatch, byEnding, removeCopies, flatten, sizeReport]
