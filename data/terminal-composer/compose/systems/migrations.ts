import { simpleWork } from '../files/simple-work.ts'
import { nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation, type Tree } from '../work.ts'
import { lines } from './report-work.ts'

/** A table: its columns, then its rows. */
type Table = readonly (readonly string[])[]
type Tables = ReadonlyMap<string, Table>
type Statement = readonly string[]

/**
 * The tables after a statement, or null if it names a table or column that is missing, or creates one that already
 * exists.
 */
function run(tables: Tables, [what = '', name = '', a = '', b = '', c = '', d = '']: Statement): Tables | null {
  const table = tables.get(name)
  if (!table) return null
  const [columns = [], ...rows] = table
  const at = (column: string) => columns.indexOf(column)
  const changed = (next: Table) => new Map(tables).set(name, next)
  switch (what) {
    case 'add-column':
      return at(a) >= 0 ? null : changed([[...columns, a], ...rows.map((row) => [...row, b])])
    case 'drop-column':
      return at(a) < 0 ? null : changed(table.map((row) => row.filter((_, nth) => nth !== at(a))))
    case 'rename-column':
      return at(a) < 0 || at(b) >= 0 ? null : changed([columns.map((column) => (column === a ? b : column)), ...rows])
    case 'update':
      return at(a) < 0 || at(c) < 0
        ? null
        : changed([
            columns,
            ...rows.map((row) => (row[at(c)] === d ? row.map((cell, nth) => (nth === at(a) ? b : cell)) : row)),
          ])
    case 'delete':
      return at(a) < 0 ? null : changed([columns, ...rows.filter((row) => row[at(a)] !== b)])
    case 'rename-table': {
      if (tables.has(a)) return null
      return new Map([...tables].map(([key, value]) => [key === name ? a : key, value]))
    }
    default:
      return null
  }
}

/** Runs all statements or none. */
function runAll(tables: Tables, statements: readonly Statement[]): Tables | null {
  return statements.reduce<Tables | null>((now, statement) => now && run(now, statement), tables)
}

function drawTables({ random, level }: Draw): Tables {
  const names = random.few(['users', 'orders', 'items', 'rooms', 'tasks', 'trips', 'books'], byLevel(level, 1, 2, 3))
  return new Map(
    names.map((name) => {
      const columns = ['id', ...random.few(['color', 'city', 'status', 'owner', 'note', 'level', 'kind'], 3)]
      const values = columns.map(() => random.few(plainWords, 4))
      const rows = Array.from({ length: byLevel(level, 6, 10, 14) }, (_, nth) =>
        columns.map((_, at) => (at === 0 ? String(nth + 1) : random.pick(values[at] ?? []))),
      )
      return [name, [columns, ...rows]]
    }),
  )
}

function drawStatement({ random }: Draw, tables: Tables): Statement {
  const [name, table] = random.pick([...tables])
  const [columns = [], ...rows] = table
  const column = random.pick(columns.slice(1).length > 0 ? columns.slice(1) : columns)
  const cell = (of: string) => random.pick(rows.length > 0 ? rows : [columns])[columns.indexOf(of)] ?? ''
  const [fresh, word] = [`${random.pick(nouns)}_${random.pick(plainWords)}`, random.pick(plainWords)]
  return random.pick<Statement>([
    ['add-column', name, fresh, word],
    ['add-column', name, fresh, word],
    ['rename-column', name, column, fresh],
    ['update', name, column, word, column, cell(column)],
    ['update', name, column, word, 'id', cell('id')],
    ['delete', name, column, cell(column)],
    columns.length > 2 ? ['drop-column', name, column] : ['add-column', name, fresh, word],
    ['rename-table', name, `${random.pick(nouns)}_${random.pick(['list', 'log', 'data'])}`],
  ])
}

interface Migration {
  readonly number: number
  readonly name: string
  readonly statements: readonly Statement[]
}

/** A migration that fits the tables, and the tables after it. */
function drawMigration(draw: Draw, number: number, tables: Tables): { migration: Migration; next: Tables } {
  const { random, level } = draw
  const name = `${number}-${random.pick(['add', 'clean', 'rework', 'prepare'])}-${random.pick(nouns)}`
  const statements: Statement[] = []
  let next = tables
  for (let nth = random.int(2, byLevel(level, 2, 3, 4)); nth > 0; nth--) {
    const statement = drawStatement(draw, next)
    const done = run(next, statement)
    if (!done) continue
    statements.push(statement)
    next = done
  }
  return { migration: { number, name, statements }, next }
}

interface History {
  readonly applied: readonly Migration[]
  readonly pending: readonly Migration[]
  readonly before: Tables
  readonly after: Tables
  /** How many of the pending migrations succeed. */
  readonly succeed: number
}

/** Applied and pending migrations; a later one may have been applied first, as happens when branches are merged. */
function drawHistory(draw: Draw): History {
  const { random, level } = draw
  const numbers = Array.from({ length: byLevel(level, 4, 7, 11) }, (_, nth) => nth + byLevel(level, 1, 6, 5))
  const early = random.int(1, 2)
  const wasApplied = (nth: number) => nth < early || (level !== 'easy' && nth === 3)
  let tables = drawTables(draw)
  const drawAll = (some: readonly number[]) =>
    some.map((number) => {
      const { migration, next } = drawMigration(draw, number, tables)
      tables = next
      return migration
    })
  const applied = drawAll(numbers.filter((_, nth) => wasApplied(nth)))
  const before = tables
  const later = numbers.filter((_, nth) => !wasApplied(nth))
  const succeed = level === 'hard' ? later.length - random.int(2, 4) : later.length
  const good = drawAll(later.slice(0, succeed))
  const after = tables
  const rest = drawAll(later.slice(succeed))
  const gone: Statement = ['drop-column', random.pick([...after.keys()]), `${random.pick(plainWords)}_gone`]
  const failing = rest.map((one, nth) => (nth === 0 ? { ...one, statements: [...one.statements, gone] } : one))
  return { applied, pending: [...good, ...failing], before, after, succeed }
}

const trees = (tables: Tables): Tree =>
  Object.fromEntries(
    [...tables].map(([name, table]) => [`tables/${name}.tsv`, file(lines(table.map((row) => row.join('\t'))))]),
  )

const migrate: Operation = {
  name: 'apply-migrations',
  domains: ['migrations'],
  make: (draw) => {
    const { random } = draw
    const { applied, pending, before, after, succeed } = drawHistory(draw)
    const isThin = [...after.values()].some((table) => table.length < 3 || (table[0]?.length ?? 0) < 2)
    if (isThin || pending.some(({ statements }) => statements.length < 2) || succeed < 2) return null
    const failed = pending[succeed]
    // The failing migration must fail at its last statement, which drops a missing column, and not before.
    if (failed && runAll(after, failed.statements.slice(0, -1)) === null) return null
    if (failed && runAll(after, failed.statements) !== null) return null
    const folder = random.pick(['migrations', 'changes', 'schema'])
    const sources = Object.fromEntries(
      [...applied, ...pending].map(({ name, statements }) => [
        `${folder}/${name}.txt`,
        file(lines(statements.map((words) => words.join(' ')))),
      ]),
    )
    const names = [...applied, ...pending.slice(0, succeed)].map(({ name }) => name)
    return simpleWork(draw, {
      domain: 'migrations',
      operation: 'apply-migrations',
      shape: 'tables',
      faults: failed ? ['failing-migration'] : [],
      ask: tellMigrations(draw, folder, failed !== undefined),
      before: { ...sources, ...trees(before), 'applied.txt': file(lines(names.slice(0, applied.length))) },
      after: {
        ...sources,
        ...trees(after),
        'applied.txt': file(lines(names)),
        ...(failed && { 'failed.txt': file(lines([failed.name])) }),
      },
      solve: migrateScript(folder),
    })
  },
}

function tellMigrations({ random, words, root }: Draw, folder: string, mayFail: boolean): string[] {
  return [
    words.say(
      random.pick([
        `Bring the tables in \`${root}/tables\` up to date. Each is a file \`NAME.tsv\`: the first line has the names of the columns, the others are rows, cells are separated by tabs. The migrations are the files \`NUMBER-WORDS.txt\` in \`${root}/${folder}\`. \`${root}/applied.txt\` lists those that have already been applied, without \`.txt\`. Apply all the others in numeric order, and append the name of each one (again without \`.txt\`) to that list.`,
        `A small database lives in \`${root}/tables\`, one tab-separated file \`NAME.tsv\` per table with the column names in the first line. Apply the pending migrations from \`${root}/${folder}\` to it. A migration is a file \`NUMBER-WORDS.txt\`; it is pending unless its name without \`.txt\` is a line of \`${root}/applied.txt\`. Apply them in numeric order, smallest number first, and append the name of each one, without \`.txt\`, to \`applied.txt\`.`,
      ]),
      [
        `Some migrations have not been applied to the tables in \`${root}/tables\` yet; please apply them. A table is a tab-separated file \`NAME.tsv\` with the names of the columns in its first line and rows in the others. A migration is a file \`NUMBER-WORDS.txt\` in \`${root}/${folder}\`, and those that are done are listed in \`${root}/applied.txt\`, one name per line without \`.txt\`. Take the ones that are not listed there in order of their numbers, from the smallest to the largest, and add the name of each (without \`.txt\`) to the end of that list once it is applied.`,
        `Run all pending migrations. They are files in \`${root}/${folder}\`, named \`NUMBER-WORDS.txt\`; pending means that the name, without \`.txt\`, is not among the lines of \`${root}/applied.txt\`. Go in numeric order of NUMBER, smallest first. The tables they work on are the files \`NAME.tsv\` in \`${root}/tables\`: tab-separated cells, column names in the first line, one row in each further line. Whenever a migration has been applied, append its name without \`.txt\` to \`applied.txt\`.`,
        `\`${root}/tables\` is a database of text files: each \`NAME.tsv\` is a table, with tabs between cells, a first line of column names, and then the rows. It is out of date, as not all of the migrations in \`${root}/${folder}\` (files named \`NUMBER-WORDS.txt\`) have been applied. \`${root}/applied.txt\` has the names of those that have, without \`.txt\`. Carry out all the others in ascending numeric order, and append the name of each, again without \`.txt\`, to that file.`,
      ],
    ),
    `${words.say(random.pick(['A migration has one statement per line:', 'The statements, one per line, are:']), [
      'Each line of a migration is one of these statements:',
      'A migration is a list of statements, one per line, of these kinds:',
      'Migrations consist of statements, each on a line of its own:',
      'What the lines of a migration mean (one statement each):',
    ])}

- \`add-column TABLE COLUMN VALUE\`: a new last column, with VALUE in every row
- \`drop-column TABLE COLUMN\`
- \`rename-column TABLE OLD NEW\`
- \`update TABLE COLUMN VALUE WHERE-COLUMN WHERE-VALUE\`: sets COLUMN to VALUE in rows whose WHERE-COLUMN is WHERE-VALUE
- \`delete TABLE COLUMN VALUE\`: deletes rows whose COLUMN is VALUE
- \`rename-table OLD NEW\`: renames the file, too`,
    mayFail
      ? words.say(
          random.pick([
            `A statement fails if it names a table or column that does not exist. In that case the whole migration must have no effect, including its earlier statements; do not apply it or any later migration, and write its name, without \`.txt\`, to \`${root}/failed.txt\` as the only line.`,
            `If a statement refers to a table or a column that is not there, the whole migration has failed: undo what it changed, write its name (without \`.txt\`) to \`${root}/failed.txt\` as the only line, and do not apply any further migrations.`,
          ]),
          [
            `One of the migrations may turn out to be impossible: a statement fails when a table or column that it names does not exist. Then none of the statements of that migration may take effect, not even those before the failing one. Stop there: apply neither this migration nor any that come after it, and make its name (without \`.txt\`) the only line of \`${root}/failed.txt\`.`,
            `Should a statement name a missing table or a missing column, it fails, and with it the entire migration. Roll back whatever the earlier statements of that migration did, do not apply any later migrations, and put a single line with its name, without \`.txt\`, into \`${root}/failed.txt\`.`,
            `A migration is applied completely or not at all. If any of its statements refers to a table or column that does not exist, leave the tables as they were before this migration, apply no more migrations, and create \`${root}/failed.txt\` with one line, the name of the failed migration without \`.txt\`.`,
            `What if a statement names a table or column that is not there? That statement fails, so its migration must change nothing (its earlier statements included) and is not applied; the migrations after it are not applied, either. The name of the failed migration without \`.txt\` becomes the only line of \`${root}/failed.txt\`.`,
          ],
        )
      : words.say(
          random.pick([
            'The order of rows and of the other columns stays as it is.',
            'Rows keep their order, and so do columns.',
          ]),
          [
            'Do not reorder rows or columns.',
            'Neither the rows nor the other columns change their order.',
            'Keep the existing order of rows and columns.',
            'Leave rows and columns in the order in which they are.',
            'The present order of rows and of columns is kept.',
          ],
        ),
  ]
}

function migrateScript(folder: string): string {
  return `cat > /tmp/migrate.pl <<'END_OF_PERL'
use strict;
my ($from, $to) = @ARGV;
my %table;
for my $path (glob "$from/*.tsv") {
  open my $in, '<', $path or die;
  my @rows = map { chomp; [split /\\t/, $_, -1] } <$in>;
  $table{($path =~ m{([^/]+)\\.tsv$})[0]} = \\@rows;
}
sub at {
  my ($rows, $column) = @_;
  my @names = @{$rows->[0]};
  my ($at) = grep { $names[$_] eq $column } 0 .. $#names;
  return $at // exit 1;
}
while (my $line = <STDIN>) {
  my ($what, $name, @w) = split ' ', $line;
  my $rows = $table{$name} or exit 1;
  my ($head, @body) = @$rows;
  if ($what eq 'add-column') { push @$head, $w[0]; push @$_, $w[1] for @body }
  elsif ($what eq 'drop-column') { my $at = at($rows, $w[0]); splice @$_, $at, 1 for @$rows }
  elsif ($what eq 'rename-column') { $head->[at($rows, $w[0])] = $w[1] }
  elsif ($what eq 'update') {
    my ($set, $where) = (at($rows, $w[0]), at($rows, $w[2]));
    for (@body) { $_->[$set] = $w[1] if $_->[$where] eq $w[3] }
  }
  elsif ($what eq 'delete') { my $at = at($rows, $w[0]); $table{$name} = [$head, grep { $_->[$at] ne $w[1] } @body] }
  elsif ($what eq 'rename-table') { $table{$w[0]} = delete $table{$name} }
}
for my $name (keys %table) {
  open my $out, '>', "$to/$name.tsv" or die;
  print $out join("\\t", @$_), "\\n" for @{$table{$name}};
}
END_OF_PERL
for path in $(ls ${folder} | sort -n); do
  name=\${path%.txt}
  if grep -qxF -- "$name" applied.txt; then continue; fi
  rm -rf /tmp/tables
  mkdir /tmp/tables
  if ! perl /tmp/migrate.pl tables /tmp/tables < "${folder}/$path"; then
    echo "$name" > failed.txt
    break
  fi
  rm -f tables/*.tsv
  cp /tmp/tables/*.tsv tables/
  echo "$name" >> applied.txt
done
rm -rf /tmp/tables /tmp/migrate.pl`
}

/** Operations on schema migrations. */
export const migrationOperations: readonly Operation[] = [migrate]
