import { byLevel, file, type Operation, type Tree } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { folders, inBytes, nameFaults, someFiles } from './some-files.ts'

const modes: Operation = {
  name: 'normalise-modes',
  domains: ['permissions'],
  make: (draw) => {
    const { random, words, level, root } = draw
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
    const ask = words.say(
      random.pick([
        `The permissions below \`${root}\` are a mess. Set them right: folders ${dirMode}, files that begin with the two characters \`#!\` ${scriptMode}, all other files ${fileMode}. The mode of \`${root}\` itself does not matter, and nothing else may change.`,
        `Bring the modes in \`${root}\` into order. Every sub-folder gets ${dirMode}. A file is a script when its first two bytes are \`#!\`: scripts get ${scriptMode}, other files ${fileMode}. Contents and names stay.`,
      ]),
      [
        `Set the permissions of everything below \`${root}\`: ${dirMode} for folders, ${scriptMode} for files whose first two characters are \`#!\`, and ${fileMode} for all the rest. \`${root}\` itself may have any mode. Change nothing but the permissions.`,
        `All folders inside \`${root}\`, at any depth, should have mode ${dirMode}. As for the files there, look at the first two bytes: if these are \`#!\`, the file is a script and its mode must be ${scriptMode}; if not, it must be ${fileMode}. Neither contents nor names may change.`,
        `Files and folders below \`${root}\` have all sorts of modes. The right ones are: ${dirMode} for each folder; ${scriptMode} for scripts, meaning files that start with the two characters \`#!\`; ${fileMode} for any other file. Which mode \`${root}\` itself has is of no importance. Leave everything else as it is.`,
        `Can you tidy up the permissions below \`${root}\`? A file that begins with \`#!\` should end up with ${scriptMode}, a file that does not with ${fileMode}, and every folder inside \`${root}\` with ${dirMode}. The mode of \`${root}\` itself is not looked at. Do not modify anything else.`,
        `Required modes below \`${root}\` (but not for \`${root}\` itself): ${dirMode} (folders), ${scriptMode} (files that have \`#!\` as their first two bytes), ${fileMode} (every other file). Correct them with no change to names and contents.`,
      ],
    )
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

const forOthers = (verb: string, adjective: string) => [
  `with ${verb} permission for others (neither owner nor group)`,
  `that are ${adjective} for others (neither owner nor group)`,
  `that have the ${verb} bit for others set (the bits of owner and group are irrelevant)`,
  `whose mode gives others (neither owner nor group) ${verb} access`,
]
const forGroup = (verb: string, adjective: string) => [
  `with ${verb} permission for their group`,
  `that are ${adjective} for their group`,
  `that have the ${verb} bit for the group set`,
  `whose mode gives ${verb} access to their group`,
]
const accesses = {
  '-o=w': forOthers('write', 'writable'),
  '-o=r': forOthers('read', 'readable'),
  '-g=w': forGroup('write', 'writable'),
  '-g=r': forGroup('read', 'readable'),
}

const modeReport: Operation = {
  name: 'mode-report',
  domains: ['permissions'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const files = someFiles(draw, byLevel(level, 8, 14, 24))
    const before = Object.fromEntries(
      Object.entries(files).map(([path, text]) => [
        path,
        file(text, random.pick(['600', '644', '664', '666', '640', '604', '606'])),
      ]),
    )
    const [bit, access, mask] = random.pick([
      [2, 'that others (neither owner nor group) may write', '-o=w'],
      [4, 'that others (neither owner nor group) may read', '-o=r'],
      [16, 'that their group may write', '-g=w'],
      [32, 'that their group may read', '-g=r'],
    ] as const)
    const which = words.say(access, accesses[mask])
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
      ? words.say(' Then take exactly that permission away from them and leave all other bits alone.', [
          ' Afterwards, remove precisely this permission from the files in the list; every other permission bit stays as it is.',
          ' Once the list is written, revoke that one permission on each listed file and touch no other bit.',
          ' When the list is done, all files in it must lose that permission, and only that one, with all their other bits unchanged.',
          ' Finally, fix what you found: the listed files lose exactly that permission and keep all other bits.',
        ])
      : words.say(' Change no permissions.', [
          ' The permissions themselves stay as they are.',
          ' Do not change the permissions of any file.',
          ' This is only a report: leave all permissions as they are.',
          ' No permissions may be changed.',
          ' Modes are to be left as they are.',
        ])
    const ask = words.say(
      random.pick([
        `List the files below \`${root}\` ${which} in \`${root}/${report}\`: relative paths such as \`a/b.txt\`, one per line, in byte order; the report itself is not in it.${then}`,
        `An audit of \`${root}\`: which files are there ${which}? Their relative paths (\`a/b.txt\`), in byte order and one per line, go into \`${root}/${report}\`, without the report itself.${then}`,
      ]),
      [
        `Write to \`${root}/${report}\` the relative paths of all files below \`${root}\` ${which}. One path per line, in the form \`a/b.txt\`, sorted in byte order; leave the report itself out.${then}`,
        `I want to know about all files under \`${root}\` ${which}. Put a list of them into \`${root}/${report}\`: relative paths like \`a/b.txt\`, each on a line of its own, in byte order. The report is not to list itself.${then}`,
        `Make \`${root}/${report}\` a list, in byte order and with one relative path (such as \`a/b.txt\`) per line, of the files below \`${root}\` ${which}. The list does not contain the report itself.${then}`,
        `Search \`${root}\` and all folders in it for files ${which}. Their paths, relative to \`${root}\` and written like \`a/b.txt\`, belong in \`${root}/${report}\`, one to a line and in byte order. The report does not count as one of them.${then}`,
        `Needed in \`${root}/${report}\`: the relative paths of all files below \`${root}\` ${which}. Format: one path per line, for example \`a/b.txt\`. Order: byte order. Not included: the report.${then}`,
      ],
    )
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
