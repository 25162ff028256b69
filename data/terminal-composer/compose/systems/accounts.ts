import { inBytes } from '../files/some-files.ts'
import { firstNames, nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

interface Node {
  readonly path: string
  readonly isDir: boolean
  readonly mode: number
  readonly owner: string
  readonly group: string
}

interface System {
  readonly users: readonly string[]
  readonly groups: ReadonlyMap<string, readonly string[]>
  readonly nodes: readonly Node[]
}

interface Wanted {
  readonly user: string
  readonly bit: number
  readonly naive: boolean
}

/**
 * Whether a user has a permission (4 read, 2 write, 1 search): decided by the first of owner, group and others that
 * applies.
 */
function grants({ groups }: System, node: Node, { user, bit, naive }: Wanted): boolean {
  const isMember = groups.get(node.group)?.includes(user) ?? false
  const triples = [...(node.owner === user ? [node.mode >> 6] : []), ...(isMember ? [node.mode >> 3] : []), node.mode]
  return naive ? triples.some((triple) => (triple & bit) !== 0) : ((triples[0] ?? 0) & bit) !== 0
}

/**
 * The users with some access to each file. A naive reader combines the permission triples, or forgets the parent
 * folders.
 */
function listAccess(system: System, bit: number, naive: 'none' | 'any-triple' | 'no-folders' = 'none'): string[] {
  const byPath = new Map(system.nodes.map((node) => [node.path, node]))
  const above = (path: string) =>
    path
      .split('/')
      .slice(1, -1)
      .flatMap((_, at, all) => byPath.get(`/${all.slice(0, at + 1).join('/')}`) ?? [])
  return system.nodes
    .filter(({ isDir }) => !isDir)
    .map((node) => {
      const may = (user: string) =>
        grants(system, node, { user, bit, naive: naive === 'any-triple' }) &&
        (naive === 'no-folders' ||
          above(node.path).every((dir) => grants(system, dir, { user, bit: 1, naive: naive === 'any-triple' })))
      return [node.path, ...system.users.filter(may)].join(' ')
    })
    .sort(inBytes)
}

function drawSystem({ random, level }: Draw): System {
  const users = random
    .few(firstNames, byLevel(level, 4, 6, 9))
    .map((name) => name.toLowerCase())
    .sort()
  const groups = new Map(
    random
      .few(['staff', 'audit', 'web', 'ops', 'lab', 'sales'], byLevel(level, 2, 3, 4))
      .map((name) => [name, random.few(users, random.int(1, Math.ceil(users.length * 0.6)))]),
  )
  const modes = [0o755, 0o750, 0o711, 0o710, 0o700, 0o705, 0o775]
  const fileModes = [0o644, 0o640, 0o600, 0o604, 0o044, 0o464, 0o660, 0o666, 0o606, 0o440, 0o064]
  const node = (path: string, isDir: boolean): Node => ({
    path,
    isDir,
    mode: random.pick(isDir ? modes : fileModes),
    owner: random.pick(users),
    group: random.pick([...groups.keys()]),
  })
  const tops = random.few(nouns, byLevel(level, 2, 3, 4)).map((name) => `/${name}`)
  const inner = level === 'easy' ? [] : tops.map((top) => `${top}/${random.pick(plainWords)}`)
  const dirs = [...tops, ...inner]
  const files = Array.from(
    { length: byLevel(level, 6, 12, 24) },
    () => `${random.pick(dirs)}/${random.few(plainWords, 2).join('-')}.txt`,
  )
  const nodes = [...dirs.map((path) => node(path, true)), ...[...new Set(files)].map((path) => node(path, false))]
  return { users, groups, nodes }
}

function modeText({ isDir, mode }: Node): string {
  const bits = [...'rwxrwxrwx'].map((letter, at) => ((mode >> (8 - at)) & 1 ? letter : '-'))
  return `${isDir ? 'd' : '-'}${bits.join('')}`
}

const whoMay: Operation = {
  name: 'who-may',
  domains: ['accounts'],
  make: (draw) => {
    const { random, level } = draw
    const system = drawSystem(draw)
    const [bit, verb] = random.pick([
      [4, 'read'],
      [2, 'write to'],
    ] as const)
    const text = listAccess(system, bit)
    const others = (['any-triple', 'no-folders'] as const).map((naive) => listAccess(system, bit, naive).join())
    if (others.filter((other) => other === text.join()).length > byLevel(level, 1, 0, 0)) return null
    if (text.filter((line) => line.includes(' ')).length < 3) return null
    const [listing, groups] = [
      random.pick(['listing.txt', 'tree.txt', 'scan/files.txt']),
      random.pick(['groups.txt', 'group']),
    ]
    const out = random.pick(['access.txt', 'audit.txt', 'out/who.txt'])
    const asNumbers = level !== 'easy' && random.chance(0.5)
    const shownNodes = random.shuffle(system.nodes).map((node) => {
      const mode = asNumbers ? `${node.isDir ? 'd' : '-'} ${node.mode.toString(8).padStart(3, '0')}` : modeText(node)
      return `${mode} ${node.owner} ${node.group} ${node.path}`
    })
    const people = random.shuffle(system.users)
    return reportWork(draw, {
      domain: 'accounts',
      operation: 'who-may',
      shape: asNumbers ? 'octal-listing' : 'letter-listing',
      faults: ['closed-folders', 'owner-shut-out'],
      ask: tellAccess(draw, { listing, groups, out, verb, asNumbers }),
      before: {
        [listing]: file(lines(shownNodes)),
        [groups]: file(lines([...system.groups].map(([name, members]) => `${name}:${members.join(',')}`))),
        'users.txt': file(lines(people)),
      },
      out,
      text: lines(text),
      solve: accessScript(listing, groups, bit, asNumbers),
    })
  },
}

interface Told {
  readonly listing: string
  readonly groups: string
  readonly out: string
  readonly verb: string
  readonly asNumbers: boolean
}

function tellAccess({ random, words, root }: Draw, { listing, groups, out, verb, asNumbers }: Told): string[] {
  const form = asNumbers
    ? words.say('`d` for a folder or `-` for a file, the mode as three octal digits', [
        'a `d` (folder) or a `-` (file), the mode in three octal digits',
        'type (`d` for folders, `-` for files), mode (three octal digits)',
        '`d` or `-` (that is, folder or file), the mode as an octal number of three digits',
      ])
    : words.say('type and mode as `ls -l` shows them', [
        'type and mode in the notation of `ls -l`',
        'the type and the mode, written as in the output of `ls -l`',
        'the type letter with the permissions, as printed by `ls -l`',
      ])
  return [
    words.say(
      random.pick([
        `We are auditing another machine: for each file on it, who may ${verb} it? \`${root}/${listing}\` describes its files and folders, one per line: ${form}, then owner, group and path, separated by spaces. \`${root}/users.txt\` lists all users, and \`${root}/${groups}\` lists the groups, one per line, as \`GROUP:MEMBER,MEMBER\`.`,
        `Use \`${root}/${listing}\`, \`${root}/users.txt\` and \`${root}/${groups}\` to find out which users may ${verb} which files on a server that we cannot log in to. Each line of the first file has ${form}, owner, group and path, separated by spaces; the second has one user per line; the third has lines of the form \`GROUP:MEMBER,MEMBER\`.`,
      ]),
      [
        `Which users may ${verb} which files on a certain server? We cannot log in to it; all we have are three files that describe it. \`${root}/${listing}\` has one line for each of its files and folders, with these fields separated by spaces: ${form}, owner, group, path. \`${root}/users.txt\` names all the users, one per line, and each line of \`${root}/${groups}\` is a group with its members: \`GROUP:MEMBER,MEMBER\`.`,
        `Please work out, from the description of a remote machine, who is allowed to ${verb} each file there. The description consists of \`${root}/${listing}\` (one file or folder per line: ${form}, owner, group and path, with spaces between the fields), \`${root}/users.txt\` (all users, one on each line) and \`${root}/${groups}\` (one group per line, in the form \`GROUP:MEMBER,MEMBER\`).`,
        `Access review of a machine that cannot be reached from here; the question is who may ${verb} each of its files. Input: \`${root}/${listing}\`, the files and folders of that machine, one on each line, as ${form}, owner, group and path with spaces in between; \`${root}/users.txt\`, the names of all users, one on each line; \`${root}/${groups}\`, the groups, one on each line, written as \`GROUP:MEMBER,MEMBER\`.`,
        `For an audit, I have to know which users may ${verb} each file on some other machine. There are three lists: its files and folders in \`${root}/${listing}\`, all its users in \`${root}/users.txt\` and its groups in \`${root}/${groups}\`. A line of the first list consists of ${form}, owner, group and path, with spaces between them; a line of the second is the name of a user; a line of the third has the form \`GROUP:MEMBER,MEMBER\`.`,
      ],
    ),
    words.say(
      random.pick([
        `Write one line per file (folders get none) to \`${root}/${out}\`: its path, then the users who may ${verb} it, in alphabetical order, all separated by single spaces. If no user may ${verb} a file, its line is just the path. Sort the lines by path in byte order.`,
        `Write the answer to \`${root}/${out}\`, with one line for every file but none for folders: the path, followed by the names of the users who may ${verb} it, sorted alphabetically, with a single space before each name. If there is no such user, the line is just the path. Sort the lines by path in byte order.`,
      ]),
      [
        `Your answer goes to \`${root}/${out}\`: a line for each file, no lines for folders. A line consists of the path and the users who may ${verb} the file, in alphabetical order, all with single spaces in between; for a file that no user may ${verb}, it is the path alone. The lines are in the byte order of their paths.`,
        `Create \`${root}/${out}\` as follows. Every file (but no folder) gets one line, which begins with its path. After that come the names of the users who may ${verb} it, sorted alphabetically, each preceded by one space; if there are none, nothing follows the path. Order the lines by path, comparing bytes.`,
        `I expect the result in \`${root}/${out}\`, sorted by path in byte order. It has exactly one line for each file and none for a folder: the path first, then everyone who may ${verb} the file, sorted alphabetically, with one space between neighbors. If there is no such user, only the path remains.`,
        `Output file: \`${root}/${out}\`. It lists the files (folders are left out), one per line, in the byte order of their paths. Each path is followed by the users who may ${verb} the file, in alphabetical order, with a single space as the separator throughout. Files that no user may ${verb} are listed too, with just the path.`,
      ],
    ),
    words.say(
      random.pick([
        'The usual Unix rules apply. Of owner, group and others, only the first that applies to a user counts, even if a later one would allow more. To reach a file, a user also needs search permission (x) on every listed folder above it; folders that are not listed are open to everyone. None of the users is root.',
        'Apply the Unix rules: for the owner, only the owner bits count; for other members of the group, only the group bits; for everyone else, the bits for others. Every listed folder on the way to a file must grant the user search permission (x); `/` itself is open to everyone. None of the users is root.',
      ]),
      [
        'Permissions work as on any Unix system. Just one class counts for a user: owner if the user owns the file or folder, else group if the user is a member of its group, else others; the remaining classes never add anything. In addition, every listed folder above a file must give the user search permission (x). Folders that are not in the list (such as `/`) are open to everyone, and none of the users is root.',
        'Keep in mind how Unix decides. The owner is judged by the owner bits alone, any other member of the group by the group bits alone, and all remaining users by the bits for others, even where other bits would permit more. A file is out of reach for a user who lacks search permission (x) on any listed folder above it; folders that are not listed are open to everyone. No user here is root.',
        'Rules: the normal ones of Unix. (1) Look at owner, group and others in this order; the first that applies to the user decides, and the rest is ignored even if it would allow more. (2) The user must also have search permission (x) for each listed folder on the way to the file. (3) A folder that is not listed, such as `/`, lets everyone through. (4) No user is root.',
        'When does a user have a permission? The ordinary Unix rules decide: a user who owns a file or folder has only the rights in its owner bits; a user who does not own it but belongs to its group has only those in the group bits; anyone else has those in the bits for others. On top of that, the user needs search permission (x) on all listed folders that lead to the file, while folders that are not listed are open to everyone. None of the users is root.',
      ],
    ),
  ]
}

function accessScript(listing: string, groups: string, bit: number, asNumbers: boolean): string {
  const mode = asNumbers
    ? 'my ($type, $digits, $owner, $group, $path) = split; my $mode = oct $digits;'
    : `my ($text, $owner, $group, $path) = split; my $type = substr $text, 0, 1;
  my $mode = oct '0b' . join '', map { $_ eq '-' ? 0 : 1 } split //, substr $text, 1;`
  return `perl - ${listing} users.txt ${groups} <<'END_OF_PERL' | sort
use strict;
my ($listing, $users, $groups) = @ARGV;
sub rows { open my $in, '<', $_[0] or die; my @rows = <$in>; chomp @rows; return @rows }
my (%member, %node);
for (rows($groups)) { my ($group, $names) = split /:/; $member{$group}{$_} = 1 for split /,/, $names }
for (rows($listing)) {
  ${mode}
  $node{$path} = [$type, $mode, $owner, $group];
}
sub may {
  my ($path, $user, $bit) = @_;
  my (undef, $mode, $owner, $group) = @{$node{$path}};
  my $triple = $owner eq $user ? $mode >> 6 : $member{$group}{$user} ? $mode >> 3 : $mode;
  return $triple & $bit;
}
my @users = sort(rows($users));
for my $path (keys %node) {
  next if $node{$path}[0] eq 'd';
  my @above = grep { $_ ne $path && index($path, "$_/") == 0 } keys %node;
  my @who = grep { my $user = $_; may($path, $user, ${bit}) && !grep { !may($_, $user, 1) } @above } @users;
  print join(' ', $path, @who), "\\n";
}
END_OF_PERL`
}

/** Operations on access rights. */
export const accountOperations: readonly Operation[] = [whoMay]
