import type { Random } from 'ot-agent'

export interface Column {
  readonly name: string
  readonly type: 'INTEGER' | 'TEXT'
  /** Values that the query mentions. */
  readonly literals: readonly string[]
  /**
   * All its values differ: either it is a key, or rows are ordered by it and equal values would make several orders
   * correct.
   */
  readonly isUnique: boolean
}

export interface TableSchema {
  readonly name: string
  readonly columns: readonly Column[]
}

const keywords = new Set(
  'select distinct from where and or not in is null like between as on join inner left right outer cross using group by having order asc desc limit offset case when then else end union all exists count sum avg min max round abs upper lower length coalesce substr trim ifnull cast integer text real date'.split(
    ' ',
  ),
)

/** The tables that a plain SELECT needs, guessed from the names in it; a string says why nothing can be guessed. */
export function inferSchema(query: string): readonly TableSchema[] | string {
  const tokens = tokensOf(query)
  if (tokens === null) return 'it holds what a plain query does not'
  if (tokens[0]?.toLowerCase() !== 'select' || tokens.filter((token) => token.toLowerCase() === 'select').length > 1)
    return 'it is not a single SELECT'
  const tables = tablesOf(tokens)
  if (typeof tables === 'string') return tables
  const columns = new Map<string, Map<string, Use>>([...new Set(tables.values())].map((name) => [name, new Map()]))
  const problem = collect(tokens, tables, columns) ?? largeGroups(query)
  if (problem !== null) return problem
  if ([...columns.values()].some((used) => used.size === 0)) return 'it names no columns of a table'
  const isSingle = columns.size === 1
  // A name from the query would get another meaning, and one shared by two tables would join them.
  const words = new Set(tokens.map((token) => token.toLowerCase()))
  const free = unasked.filter(({ name }) => !words.has(name))
  return [...columns].map(([name, used], nth) => ({
    name,
    columns: [
      ...[...used].map(([column, use]) => toColumn(column, use, isKey(column, name) && !(use.isGroup && isSingle))),
      ...free.slice(nth, nth + 1),
    ],
  }))
}

/**
 * Each table gets one of these, so that selecting all columns is never an answer, and a different one, so that no join
 * uses them.
 */
const unasked: readonly Column[] = (['remark', 'batch', 'revision', 'checked_by'] as const).map((name) => ({
  name,
  type: name === 'remark' || name === 'checked_by' ? 'TEXT' : 'INTEGER',
  literals: [],
  isUnique: false,
}))

/** Whether a column is its table's ID, judged by its name: `id`, or `owner_id` in `owners`. */
function isKey(column: string, table: string): boolean {
  const bare = (text: string) => text.replaceAll('_', '').replace(/ies$/, 'y').replace(/s$/, '')
  const of = /^(.*?)_?u?id$/.exec(column)?.[1]
  return of !== undefined && (of === '' || bare(of) === bare(table))
}

interface Use {
  readonly literals: string[]
  isText: boolean
  isOrder: boolean
  isGroup: boolean
}

/** Generated tables have few rows. */
const largestGroup = 3

function largeGroups(query: string): string | null {
  const sizes = [...query.matchAll(/\bcount\s*\([^)]*\)\s*(?:>=?|=)\s*(\d+)/gi)].map(([, size]) => Number(size))
  return sizes.some((size) => size > largestGroup) ? 'it asks for groups of more rows than are made here' : null
}

function tokensOf(query: string): string[] | null {
  const text = query.trim().replace(/;\s*$/, '')
  const tokens = text.match(/'(?:[^']|'')*'|[A-Za-z_]\w*|\d+(?:\.\d+)?|[<>=!]+|[(),.*+\-/%|]|\S/g) ?? []
  return text.length > 2000 || tokens.some((token) => /^[^\w'<>=!(),.*+\-/%|]/.test(token)) ? null : tokens
}

/** Tables by the names or aliases used in the query. */
function tablesOf(tokens: readonly string[]): Map<string, string> | string {
  const tables = new Map<string, string>()
  const lower = tokens.map((token) => token.toLowerCase())
  let isOpen = false
  for (let at = 0; at < tokens.length; at++) {
    const word = lower[at] ?? ''
    if (word === 'from' || word === 'join') isOpen = true
    else if (isOpen && isName(word)) {
      const aliasAt = lower[at + 1] === 'as' ? at + 2 : at + 1
      const alias = isName(lower[aliasAt] ?? '') ? lower[aliasAt] : undefined
      tables.set(alias ?? word, word)
      if (alias !== undefined) at = aliasAt
      isOpen = lower[at + 1] === ','
      if (isOpen) at++
    } else if (isOpen) return 'it selects from something else than tables'
  }
  return tables.size === 0 ? 'it selects from no table' : tables
}

function isName(word: string): boolean {
  return /^[a-z_]\w*$/.test(word) && !keywords.has(word)
}

function collect(
  tokens: readonly string[],
  tables: ReadonlyMap<string, string>,
  columns: ReadonlyMap<string, Map<string, Use>>,
): string | null {
  const lower = tokens.map((token) => (token.startsWith("'") ? token : token.toLowerCase()))
  const made = new Set(lower.filter((_, at) => lower[at - 1] === 'as'))
  const orderFrom = lower.lastIndexOf('order')
  const groupFrom = lower.lastIndexOf('group')
  const groupTo = lower.findIndex((word, at) => at > groupFrom && /^(?:having|order|limit)$/.test(word))
  const only = columns.size === 1 ? [...columns.keys()][0] : undefined
  for (let at = 1; at < lower.length; at++) {
    const word = lower[at] ?? ''
    if (!isName(word) || lower[at + 1] === '(' || lower[at - 1] === 'as') continue
    const owner = lower[at - 1] === '.' ? tables.get(lower[at - 2] ?? '') : undefined
    if (
      lower[at + 1] === '.' ||
      (owner === undefined && (tables.has(word) || [...tables.values()].includes(word) || made.has(word)))
    )
      continue
    const table = owner ?? only
    if (table === undefined) return `nothing says which table ${word} is of`
    const uses = columns.get(table) ?? new Map<string, Use>()
    const use = uses.get(word) ?? { literals: [], isText: looksLikeText(word), isOrder: false, isGroup: false }
    uses.set(word, use)
    use.isOrder ||= orderFrom >= 0 && at > orderFrom
    use.isGroup ||= groupFrom >= 0 && at > groupFrom && (groupTo < 0 || at < groupTo)
    note(use, lower.slice(at + 1, at + 8))
  }
  joinKinds(lower, tables, columns)
  return null
}

/** Columns compared in a join hold numbers, unless the query compares one with text: otherwise no rows would match. */
function joinKinds(
  lower: readonly string[],
  tables: ReadonlyMap<string, string>,
  columns: ReadonlyMap<string, ReadonlyMap<string, Use>>,
): void {
  const useAt = (at: number) => columns.get(tables.get(lower[at] ?? '') ?? '')?.get(lower[at + 2] ?? '')
  for (let at = 3; at < lower.length; at++) {
    const pair =
      lower[at] === '=' && lower[at - 2] === '.' && lower[at + 2] === '.' ? [useAt(at - 3), useAt(at + 1)] : []
    const uses = pair.filter((use) => use !== undefined)
    const isText = uses.some(({ literals }) => literals.some((literal) => !/^\d+$/.test(literal)))
    for (const use of uses.length === 2 ? uses : []) use.isText = isText
  }
}

/** What a column is compared with shows what it holds. */
function note(use: Use, after: readonly string[]): void {
  const [operator = ''] = after
  if (!/^(?:[<>=!]+|like|in|between|not)$/.test(operator)) return
  for (const token of after.slice(1)) {
    if (token.startsWith("'")) {
      use.isText = true
      use.literals.push(token.slice(1, -1).replaceAll("''", "'").replaceAll('%', ''))
    } else if (/^\d+$/.test(token)) use.literals.push(token)
    if (isName(token) || token === 'or') return
  }
}

function looksLikeText(name: string): boolean {
  return /name|title|city|country|email|status|type|category|color|colour|text|desc|code|department|genre|town|address|language|nation|citizen|gender|hand|state$/.test(
    name,
  )
}

/**
 * Groups already differ in size and content, so ordering them needs no unique values, which would leave one record per
 * group.
 */
function toColumn(name: string, { literals, isText, isOrder, isGroup }: Use, isKeyHere: boolean): Column {
  const isUnique = isKeyHere || (isOrder && !isGroup)
  return { name, type: isText ? 'TEXT' : 'INTEGER', literals: [...new Set(literals)].slice(0, 5), isUnique }
}

/** A database with these tables as SQL: few distinct values, so that rows group, join and repeat. */
export function renderDatabase(schema: readonly TableSchema[], random: Random): string {
  return schema
    .flatMap(({ name, columns }) => [renderTable({ name, columns }), ...renderRows({ name, columns }, random)])
    .join('\n')
    .concat('\n')
}

/** The table's declaration, as the agent sees it. */
export function renderTable({ name, columns }: TableSchema): string {
  return `CREATE TABLE "${name}" (${columns.map((column) => `"${column.name}" ${column.type}`).join(', ')});`
}

function renderRows({ name, columns }: TableSchema, random: Random): string[] {
  const words = ['amber', 'birch', 'canyon', 'delta', 'ember', 'fjord']
  const count = 8 + random.below(8)
  const places = random.shuffle(Array.from({ length: count }, (_, i) => i))
  const cell = ({ type, literals, isUnique }: Column, nth: number) => {
    const isLiteral = literals.length > 0 && random.below(3) > 0
    const near = Number(isLiteral ? random.pick(literals) : 4)
    const middle = Number.isFinite(near) ? near : 4
    const start = Math.max(0, (literals.map(Number).find(Number.isFinite) ?? 4) - 4)
    if (type === 'INTEGER' && isUnique) return String(start + (places[nth] ?? nth))
    if (type === 'INTEGER') return String(Math.max(0, middle + random.below(9) - 4))
    const word = isLiteral ? random.pick(literals) : random.pick(words)
    return `'${(isUnique && !isLiteral ? `${word} ${places[nth]}` : word).replaceAll("'", "''")}'`
  }
  return Array.from(
    { length: count },
    (_, nth) => `INSERT INTO "${name}" VALUES (${columns.map((column) => cell(column, nth)).join(', ')});`,
  )
}
