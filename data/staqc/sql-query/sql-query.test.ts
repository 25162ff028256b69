import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { RawRow, TaskDraft } from '../../../src/core/row.ts'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { needs } from '../../../test/needs.ts'
import { checkQueryPy } from './check-query.ts'
import sqlQuery from './index.ts'
import { inferSchema } from './infer-schema.ts'
import { tellResult } from './tell-result.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = () => sqlQuery.make(sqlQuery.options.parse({}), context)
const row = (id: string, query: string): RawRow => ({
  id,
  source: 'test',
  fields: { question: 'How many of each?', query },
})
const rows = [
  row('1', 'SELECT city, COUNT(*) FROM people WHERE age > 30 GROUP BY city'),
  row('2', 'DELETE FROM people'),
  { id: '3', source: 'test', fields: {} },
]

stageLaws('sql-query', { make: async () => make() as never, rows })

test.each([
  [
    "SELECT p.name, COUNT(o.id) AS n FROM people p LEFT JOIN orders AS o ON o.person_id = p.id WHERE p.city = 'Oslo' GROUP BY p.name ORDER BY n DESC;",
    {
      people: ['name TEXT', 'id INTEGER', 'city TEXT Oslo', 'remark TEXT'],
      orders: ['id INTEGER', 'person_id INTEGER', 'batch INTEGER'],
    },
  ],
  ['select a from t where b in (1, 2)', { t: ['a INTEGER', 'b INTEGER 1 2', 'remark TEXT'] }],
  [
    'SELECT a.city FROM airports a JOIN flights f ON a.airport_code = f.dest_airport',
    {
      airports: ['city TEXT', 'airport_code INTEGER', 'remark TEXT'],
      flights: ['dest_airport INTEGER', 'batch INTEGER'],
    },
  ],
  [
    'SELECT a.x, b.remark FROM a JOIN b ON a.x = b.x JOIN c ON c.x = a.x',
    {
      a: ['x INTEGER', 'batch INTEGER'],
      b: ['remark INTEGER', 'x INTEGER', 'revision INTEGER'],
      c: ['x INTEGER', 'checked_by TEXT'],
    },
  ],
  [
    'SELECT a.batch, b.remark FROM a JOIN b ON a.revision = b.revision',
    {
      a: ['batch INTEGER', 'revision INTEGER', 'checked_by TEXT'],
      b: ['remark INTEGER', 'revision INTEGER'],
    },
  ],
  ['SELECT city AS remark, COUNT(x) FROM t GROUP BY remark', { t: ['city TEXT', 'x INTEGER', 'batch INTEGER'] }],
  ["SELECT id FROM t WHERE label LIKE '%x%'", { t: ['id INTEGER', 'label TEXT x', 'remark TEXT'] }],
])('%s', (query, expected) => {
  const schema = inferSchema(query)
  if (typeof schema === 'string') throw new Error(schema)
  expect(
    Object.fromEntries(
      schema.map(({ name, columns }) => [name, columns.map((c) => [c.name, c.type, ...c.literals].join(' '))]),
    ),
  ).toEqual(expected)
})

test.each([
  ['UPDATE t SET a = 1', 'not a single SELECT'],
  ['SELECT a FROM t WHERE b = (SELECT 1)', 'not a single SELECT'],
  ['SELECT a FROM t, u', 'which table a is of'],
  ['SELECT 1', 'no table'],
  ['SELECT COUNT(*) FROM t', 'names no columns'],
  ['SELECT a FROM t WHERE b = @p', 'does not'],
])('%s is refused', (query, reason) => {
  expect(inferSchema(query)).toContain(reason)
})

test('only the tests know the other databases and the reference', async () => {
  const [task, ...others] = await runStage(make() as never, rows)
  const { files, instruction } = task as TaskDraft
  expect(instruction).toContain('CREATE TABLE "people" ("city" TEXT, "age" INTEGER, "remark" TEXT);')
  expect(Object.keys(files).filter((path) => path.startsWith('environment/'))).toEqual([
    'environment/Dockerfile',
    'environment/data.sql',
  ])
  expect(Object.keys(files).filter((path) => path.startsWith('tests/databases/')).length).toBe(16)
  expect(others).toMatchObject([
    { drop: 'no-checkable-answer', id: '2' },
    { drop: 'missing-field', id: '3' },
  ])
})

test('groups that are larger than the tables are refused', () => {
  expect(inferSchema('SELECT city FROM people GROUP BY city HAVING COUNT(*) > 50')).toContain('more rows than are made')
  expect(inferSchema('SELECT city FROM people GROUP BY city HAVING COUNT(*) > 2')).toHaveLength(1)
})

test('rows that may repeat are marked, and a count for each group does not answer how many', async () => {
  const asked = (question: string, query: string) => ({ id: question, source: 's', fields: { question, query } })
  const [list, names, many, unasked] = await runStage(make() as never, [
    asked('List the cities of people.', 'SELECT DISTINCT city FROM people'),
    asked('List the different cities of people.', 'SELECT DISTINCT city FROM people'),
    asked('How many cities have more than 2 people?', 'SELECT count(*) FROM people GROUP BY city HAVING count(*) > 2'),
    asked('What are the different cities?', 'SELECT count(DISTINCT city) FROM people'),
  ])
  const mark = 'tests/any-number-of-times'
  expect([list, names].map((task) => mark in (task as TaskDraft).files)).toEqual([true, false])
  for (const dropped of [many, unasked]) expect(dropped).toMatchObject({ drop: 'no-checkable-answer' })
})

test('a database with ties does not count', needs('python3'), async () => {
  const dir = await makeTempDir()
  const table = (...ages: number[]) =>
    `CREATE TABLE "t" ("name" TEXT, "age" INTEGER);\n${ages.map((age, i) => `INSERT INTO "t" VALUES ('n${i}', ${age});`).join('\n')}\n`
  mkdirSync(join(dir, 'databases'))
  writeFileSync(join(dir, 'check_query.py'), checkQueryPy)
  writeFileSync(join(dir, 'reference.sql'), 'SELECT name FROM t ORDER BY age LIMIT 1')
  const other = join(dir, 'query.sql')
  writeFileSync(other, 'SELECT name FROM t ORDER BY age, name DESC LIMIT 1')
  const status = (...databases: string[]) => {
    for (const [i, text] of databases.entries()) writeFileSync(join(dir, `databases/${i}.sql`), text)
    return spawnSync('python3', ['-I', join(dir, 'check_query.py'), other], { encoding: 'utf8' })
  }
  expect(status(table(1, 2), table(2, 1), table(1, 1)).status).toBe(0)
  expect(status(table(1, 1), table(2, 2), table(3, 3)).stderr).toContain('tells nothing')
  writeFileSync(join(dir, 'reference.sql'), 'SELECT DISTINCT age FROM t')
  writeFileSync(other, 'SELECT age FROM t')
  expect(status(table(1, 1), table(2, 2), table(3, 3)).status).not.toBe(0)
  writeFileSync(join(dir, 'any-number-of-times'), 'rows')
  expect(status(table(1, 1), table(2, 2), table(3, 3)).status).toBe(0)
})

test(
  'a database on which groups share their place does not count, nor does one on which ordered rows do',
  needs('python3'),
  async () => {
    const dir = await makeTempDir()
    const table = (...kinds: string[]) =>
      `CREATE TABLE "t" ("kind" TEXT);\n${kinds.map((kind) => `INSERT INTO "t" VALUES ('${kind}');`).join('\n')}\n`
    mkdirSync(join(dir, 'databases'))
    writeFileSync(join(dir, 'check_query.py'), checkQueryPy)
    const other = join(dir, 'query.sql')
    const databases = [table('a', 'a', 'b'), table('a', 'b', 'b'), table('a', 'a', 'c', 'c'), table('b', 'b', 'a', 'a')]
    for (const [i, text] of databases.entries()) writeFileSync(join(dir, `databases/${i}.sql`), text)
    const status = (reference: string, query: string) => {
      writeFileSync(join(dir, 'reference.sql'), reference)
      writeFileSync(other, query)
      return spawnSync('python3', ['-I', join(dir, 'check_query.py'), other], { encoding: 'utf8' }).status
    }
    const most = 'SELECT kind FROM t GROUP BY kind ORDER BY count(*) DESC'
    expect(status(`${most} LIMIT 1;`, `${most}, kind DESC LIMIT 1`)).toBe(0)
    expect(status(`${most} LIMIT 1;`, 'SELECT max(kind) FROM t')).not.toBe(0)
    expect(status(most, `${most}, kind DESC`)).toBe(0)
    expect(status(most, 'SELECT kind FROM t GROUP BY kind')).not.toBe(0)
  },
)

test.each([
  [
    'SELECT name FROM t WHERE age = (SELECT age FROM t ORDER BY age DESC LIMIT 1)',
    'SELECT name FROM t WHERE age = (SELECT max(age) FROM t) ORDER BY name DESC',
  ],
  [
    'SELECT name, RANK() OVER (ORDER BY age) AS place FROM t',
    'SELECT name, 1 + (SELECT count(*) FROM t u WHERE u.age < t.age) FROM t ORDER BY name DESC',
  ],
  [
    'SELECT name FROM t ORDER BY (SELECT count(*) FROM t u WHERE u.age < t.age ORDER BY 1 LIMIT 1) LIMIT 1;',
    'SELECT name FROM t ORDER BY age, name DESC LIMIT 1',
  ],
  [
    'SELECT name FROM t ORDER BY age -- the eldest last\nLIMIT (1 + 0) OFFSET 1 ; -- end',
    'SELECT name FROM t ORDER BY age, name DESC LIMIT 1, 1',
  ],
  ['SELECT name FROM t ORDER BY age LIMIT -1;', 'SELECT name FROM t ORDER BY age, name DESC'],
  [
    "SELECT name, age, ') order by 1 limit 1' FROM t",
    "SELECT name, age, ') order by 1 limit 1' FROM t ORDER BY name DESC",
  ],
  ["SELECT name FROM t ORDER BY age = ')', age;", 'SELECT name FROM t ORDER BY age, name DESC'],
])('only the outer order counts, whatever follows it: %s', needs('python3'), async (reference, query) => {
  const dir = await makeTempDir()
  mkdirSync(join(dir, 'databases'))
  for (const [i, ages] of [
    [1, 2, 3],
    [3, 1, 2],
    [4, 2, 2],
    [1, 1, 2],
  ].entries()) {
    const put = ages.map((age, nth) => `INSERT INTO "t" VALUES ('n${nth}', ${age});`)
    writeFileSync(
      join(dir, `databases/${i}.sql`),
      ['CREATE TABLE "t" ("name" TEXT, "age" INTEGER);', ...put].join('\n'),
    )
  }
  writeFileSync(join(dir, 'check_query.py'), checkQueryPy)
  writeFileSync(join(dir, 'reference.sql'), reference)
  for (const right of [reference, query]) {
    writeFileSync(join(dir, 'query.sql'), right)
    const { stderr, status } = spawnSync('python3', ['-I', join(dir, 'check_query.py'), join(dir, 'query.sql')], {
      encoding: 'utf8',
    })
    expect([stderr, status]).toEqual(['', 0])
  }
})

test('numbers of records differ, and what groups are made of does not have to', () => {
  const unique = (query: string) => {
    const schema = inferSchema(query)
    if (typeof schema === 'string') throw new Error(schema)
    return schema.flatMap(({ name, columns }) => columns.filter((c) => c.isUnique).map((c) => `${name}.${c.name}`))
  }
  const owners = 'SELECT o.last_name FROM owners o JOIN dogs d ON o.owner_id = d.owner_id'
  expect(unique(`${owners} GROUP BY o.owner_id ORDER BY count(*)`)).toEqual(['owners.owner_id'])
  expect(unique('SELECT city, count(*) FROM t GROUP BY city ORDER BY city')).toEqual([])
  expect(unique('SELECT city FROM t ORDER BY city')).toEqual(['t.city'])
  expect(unique('SELECT id, count(*) FROM t GROUP BY id')).toEqual([])
})

test('another query that gives the same is right, others are not', needs('python3'), async () => {
  const [task] = await runStage(make() as never, rows)
  const dir = await makeTempDir()
  for (const [path, { data }] of Object.entries((task as TaskDraft).files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), data)
  }
  const isRight = (query: string) => {
    writeFileSync(join(dir, 'query.sql'), query)
    const { status, stderr } = spawnSync('python3', ['-I', join(dir, 'tests/check_query.py'), join(dir, 'query.sql')], {
      encoding: 'utf8',
    })
    expect(stderr).not.toContain('Traceback')
    return status === 0
  }
  expect(isRight('select city as c, sum(1) from people where not (age <= 30) group by 1 order by 2;')).toBe(true)
  expect(isRight('select count(*), city from people where age > 30 group by city')).toBe(true)
  expect(isRight('select count(*), age from people where age > 30 group by city')).toBe(false)
  expect(isRight('select city, count(*) from people group by city')).toBe(false)
  expect(isRight('select * from people')).toBe(false)
  expect(isRight('select 1')).toBe(false)
  expect(isRight('')).toBe(false)
  expect(isRight('delete from people')).toBe(false)
  expect(isRight('with recursive x(n) as (select 1 union all select n + 1 from x) select count(*) from x')).toBe(false)
})

test.each([
  [
    'SELECT T1.Code , T1.Name FROM a AS T1 JOIN b AS T2 ON T1.i = T2.i',
    ' The result has `code` and `name`, in any order.',
  ],
  [
    'SELECT max(weight), avg(T1.age), kind FROM pets AS T1 GROUP BY kind',
    ' The result has the largest `weight`, the average of `age` and `kind`, in any order.',
  ],
  [
    'SELECT T2.name, count(*) FROM c AS T1 JOIN s AS T2 ON T1.i = T2.i GROUP BY T1.i',
    ' The result has `name` and a count, in any order. What has no match in the other table is left out.',
  ],
  [
    'SELECT T2.name FROM c AS T1 JOIN s AS T2 ON T1.i = T2.i GROUP BY T1.i ORDER BY count(*) LIMIT 1',
    ' What has no match in the other table is left out.',
  ],
  ['SELECT T2.name FROM c AS T1 JOIN s AS T2 ON T1.i = T2.i GROUP BY T1.i ORDER BY count(*) DESC LIMIT 1', ''],
  ['SELECT T2.name FROM c AS T1 JOIN s AS T2 ON T1.i = T2.i GROUP BY T1.i HAVING count(*) > 2', ''],
  ['SELECT a, price * 2 FROM t', ' The result has `a` and a computed value, in any order.'],
  ['SELECT a, * FROM t', ''],
  ['SELECT name FROM t', ''],
])('what a question leaves open is told: %s', (query, told) => {
  expect(tellResult(query)).toBe(told)
})
