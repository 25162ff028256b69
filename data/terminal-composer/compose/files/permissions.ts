import { byLevel, file, type Operation, type Tree } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { folders, inBytes, nameFaults, someFiles } from './some-files.ts'

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

/** Operations on file permissions. */
export const permissionOperations: readonly Operation[] = [modes, modeReport]
