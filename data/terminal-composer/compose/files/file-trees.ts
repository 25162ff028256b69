import { byLevel, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { base, endingOf, endings, folders, inBytes, nameFaults, someFiles, trees } from './some-files.ts'

const renameBatch: Operation = {
  name: 'rename-batch',
  domains: ['files'],
  make: (draw) => {
    const { random, words, level, root } = draw
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
    const ask = words.say(
      random.pick([
        `Somewhere under \`${root}\` there are files whose names end in \`.${ending}\`. Rename all of them, whatever folder they are in: the ending becomes \`.${to}\`, spaces in the name become underscores${upper ? ', and the name before the ending becomes upper case' : ''}. Other files keep their names, and no content changes.`,
        `Give every \`.${ending}\` file below \`${root}\` (also in sub-folders) the ending \`.${to}\` instead, replace the spaces in its name by \`_\`${upper ? ' and turn the name (not the ending) into capital letters' : ''}. Folders, contents and all other files stay.`,
      ]),
      [
        `Look through \`${root}\` and all folders in it for files whose names end in \`.${ending}\`. Each of them gets a new name within its folder: \`.${to}\` instead of \`.${ending}\`, \`_\` in place of every space${upper ? ', and the part before the ending all in capital letters' : ''}. No other file is renamed, and contents stay as they are.`,
        `The \`.${ending}\` files under \`${root}\`, at any depth, need new names. In the new name, the ending is \`.${to}\` and each space has become an underscore${upper ? '; all letters before the ending are upper case (the ending itself is not)' : ''}. The files remain in their folders with the same content, and nothing changes for other files.`,
        `Please rename every file below \`${root}\`, sub-folders included, that ends in \`.${ending}\`: replace this ending by \`.${to}\` and each space in the name by \`_\`${upper ? ', and put what comes before the ending into upper case' : ''}. The folders, all other files and whatever is in the files remain unchanged.`,
        `What is now a \`.${ending}\` file anywhere in the tree \`${root}\` should become a \`.${to}\` file in the same folder, with the same content. Along with the ending, change spaces in its name to underscores${upper ? ' and convert the name, except for the ending, to upper case' : ''}. Do not rename folders or any other files.`,
        `To rename: all files in \`${root}\` and in every folder below it with the ending \`.${ending}\`. New ending: \`.${to}\`. Spaces in their names: each one turns into \`_\`.${upper ? ' Letters before the ending: all to upper case.' : ''} Anything else, be it another file, a folder or the content of a file, is left alone.`,
      ],
    )
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
    const { random, words, level, root } = draw
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
    const ask = words.say(
      random.pick([
        `Tidy up \`${root}\`: move every file in it, however deep, to \`${root}/${target}/ENDING/\`, where ENDING is what follows the last dot of its name. Names stay as they are. The old folders, empty by then, must go.`,
        `Sort all files below \`${root}\` by kind: a file \`a.txt\`, wherever it lies, ends up as \`${root}/${target}/txt/a.txt\`, and so on for every other ending. Remove the folders that become empty.`,
      ]),
      [
        `Reorganize the files in \`${root}\`, at every depth, by their endings (what comes after the last dot of the name). Each one moves to \`${root}/${target}/ENDING/\` without a change to its name, so that some \`a.txt\` becomes \`${root}/${target}/txt/a.txt\`. The old folders in \`${root}\` are empty after that; delete them.`,
        `In the end, every file from anywhere under \`${root}\` is directly in the folder \`${root}/${target}/ENDING/\`, where ENDING stands for the part of its name after the last dot. It keeps its name, and none of the old folders in \`${root}\` exists any more.`,
        `Could you group the files below \`${root}\`, sub-folders included, by what follows the last dot of their names? Those ending in \`.txt\` go to \`${root}/${target}/txt/\` (an \`a.txt\` from any folder is then \`${root}/${target}/txt/a.txt\`), and likewise for all the other endings. Do not rename the files, and remove the old folders, which have nothing left in them.`,
        `Source: all files in \`${root}\` and in any folder below it. Destination: \`${root}/${target}/ENDING/\`, ENDING being the characters after the last dot in the name of the file. Move each file there under the name it has now. Afterwards get rid of the old folders, since they are empty.`,
      ],
    )
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
    const { random, words, level, root } = draw
    const files = someFiles(draw, byLevel(level, 10, 18, 32))
    const paths = Object.keys(files)
    for (const path of random.few(paths, byLevel(level, 3, 6, 12))) files[path] = files[random.pick(paths)] ?? ''
    const first = new Map<string, string>()
    for (const path of paths.toSorted(inBytes)) if (!first.has(files[path] ?? '')) first.set(files[path] ?? '', path)
    const kept = new Set(first.values())
    const report = random.pick(['removed.txt', 'copies.txt', 'duplicates.txt'])
    const gone = paths.filter((path) => !kept.has(path)).sort(inBytes)
    if (gone.length === 0 || paths.includes(report)) return null
    const ask = words.say(
      random.pick([
        `Some files under \`${root}\` have the same content. Of each group of equal files keep the one whose path (relative to \`${root}\`, such as \`a/b.txt\`) comes first in byte order and delete the others. List what you deleted in \`${root}/${report}\`, one relative path per line, in byte order.`,
        `Find files with identical content below \`${root}\` and delete all but one of each: the one with the first relative path in byte order stays. Write the relative paths of the deleted files to \`${root}/${report}\`, sorted in byte order, one per line (for example \`a/b.txt\`).`,
      ]),
      [
        `Remove duplicates under \`${root}\`, that is, files with the same content, wherever they lie. Only one of each set survives: the one whose path relative to \`${root}\` (for example \`a/b.txt\`) is first in byte order. Record the deleted files in \`${root}/${report}\` by their relative paths, one per line, the lines in byte order.`,
        `\`${root}/${report}\` should list, one per line and sorted in byte order, the paths (relative to \`${root}\`, like \`a/b.txt\`) of all files below \`${root}\` that you delete as copies. To be deleted is each file for which there is another one with the same content whose relative path comes earlier in byte order.`,
        `Which files anywhere below \`${root}\` are equal in content? Let just one of each such group remain, namely the one that comes first when their paths relative to \`${root}\` are compared in byte order, and delete the rest. Then write the relative paths of all deleted files, each on its own line like \`a/b.txt\` and in byte order, to \`${root}/${report}\`.`,
        `Deduplicate \`${root}\` with all its sub-folders, comparing files by content. Keep, out of each set of identical files: the one with the first relative path in byte order. Delete: all others of the set. Report: \`${root}/${report}\` with the paths of the deleted files, relative to \`${root}\` as in \`a/b.txt\`, one per line, sorted in byte order.`,
      ],
    )
    return simpleWork(draw, {
      domain: 'files',
      operation: 'remove-copies',
      shape: 'tree',
      faults: [...nameFaults(files), 'duplicate-files'],
      ask: [
        ask,
        words.say('Folders that become empty stay.', [
          'Do not remove folders, even if they are empty afterwards.',
          'Keep folders that have no files left.',
          'A folder with nothing left in it stays.',
          'Folders are not deleted, not even those that are now empty.',
          'Leave emptied folders where they are.',
        ]),
      ],
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
    const { random, words, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 14, 26))
    const sign = random.pick(['__', '--', '+', '@'])
    const moved = Object.fromEntries(Object.entries(files).map(([path, text]) => [path.replaceAll('/', sign), text]))
    if (Object.keys(moved).length < Object.keys(files).length) return null
    const ask = words.say(
      random.pick([
        `Flatten \`${root}\`: every file moves directly into \`${root}\`, and its new name is its old relative path with each \`/\` replaced by \`${sign}\` (so \`a/b/c.txt\` becomes \`a${sign}b${sign}c.txt\`). No folder is left.`,
        `There shall be no sub-folders in \`${root}\` any more. Move their files up and put their folders into the name, joined by \`${sign}\`: \`a/b.txt\` turns into \`a${sign}b.txt\`. Contents do not change.`,
      ]),
      [
        `Bring all files from the sub-folders of \`${root}\`, however deep, up into \`${root}\` itself and delete the sub-folders. A file is then named after its old path relative to \`${root}\`, with \`${sign}\` in place of each \`/\`: what was \`a/b/c.txt\` is now \`a${sign}b${sign}c.txt\`. Contents do not change.`,
        `All that \`${root}\` should contain in the end is files, no folders. The new name of a file tells where it was: it is the path that the file had within \`${root}\`, written with \`${sign}\` wherever the path has \`/\`. For example, \`a${sign}b${sign}c.txt\` is the file that used to be \`a/b/c.txt\`, with the same content.`,
        `Can you get rid of the folders in \`${root}\` and keep every file? Move each one to the top, that is, directly into \`${root}\`, and turn its relative path into its name by replacing every \`/\` with \`${sign}\`, so that you get \`a${sign}b${sign}c.txt\` from \`a/b/c.txt\`. What is in the files stays the same.`,
        `Move: every file below \`${root}\`, from whatever depth, to \`${root}\` itself. New name: the folders of its relative path and its own name, joined by \`${sign}\` instead of \`/\` (\`a/b/c.txt\` gives \`a${sign}b${sign}c.txt\`). Remove: all folders in \`${root}\`, as they are empty by then. The contents of the files are not touched.`,
      ],
    )
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
    const { random, words, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 16, 30))
    const count = random.int(3, 6)
    const report = random.pick(['largest.tsv', 'sizes.tsv', 'top-files.tsv'])
    const lines = Object.entries(files)
      .map(([path, text]) => ({ path, size: text.length }))
      .sort((a, b) => b.size - a.size || inBytes(a.path, b.path))
      .slice(0, count)
    const ask = words.say(
      random.pick([
        `Which ${count} files below \`${root}\` are the largest? Write them to \`${root}/${report}\`: size in bytes, a tab, path relative to \`${root}\` (such as \`a/b.txt\`), one file per line, largest first; of files of the same size the one whose path comes first in byte order comes first. The report itself does not count.`,
        `Write a list of the ${count} biggest files under \`${root}\` to \`${root}/${report}\`, each line being the number of bytes, a tab and the relative path (\`a/b.txt\`). Biggest first; equal sizes in the byte order of their paths; the list is not part of the list.`,
      ]),
      [
        `Find the ${count} largest of all files in \`${root}\` and its sub-folders and report them in \`${root}/${report}\`. A line has the size in bytes, then a tab, then the path relative to \`${root}\` (for example \`a/b.txt\`). Sort by size in descending order, and files of equal size by path in byte order. Leave the report itself out of account.`,
        `\`${root}/${report}\` should have ${count} lines, one for each of the biggest files anywhere below \`${root}\` (the report is not one of them). Put the larger files first; if two have the same size, the path that is earlier in byte order goes first. Each line consists of the number of bytes, a tab and the relative path, such as \`a/b.txt\`.`,
        `Please rank the files below \`${root}\`, at any depth, by their size in bytes, from the largest down, ties being broken by the byte order of their paths. The first ${count} go into \`${root}/${report}\`, one per line, as size, tab and path relative to \`${root}\` (like \`a/b.txt\`). Do not count that file itself.`,
        `Output: \`${root}/${report}\`, ${count} lines. Each line: number of bytes, tab, path as seen from \`${root}\` (\`a/b.txt\`). Which files: the largest in the whole tree \`${root}\`, other than the output itself. Order: size, highest first, then path, in byte order.`,
      ],
    )
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
