/**
 * Types for the parts of the two drivers that the registry uses. libsql's own declarations leave most results untyped.
 */
declare module 'libsql' {
  export interface Statement {
    /** True for a statement that returns rows. */
    readonly reader: boolean
    run(values: readonly unknown[]): { readonly changes: number }
    all(values: readonly unknown[]): Record<string, unknown>[]
    iterate(values: readonly unknown[]): Iterable<Record<string, unknown>>
  }
  export default class Database {
    constructor(path: string, options?: { readonly timeout?: number })
    prepare(sql: string): Statement
    exec(sql: string): void
    close(): void
  }
}

declare module 'postgres' {
  export interface Rows extends Array<Record<string, unknown>> {
    readonly count: number
  }
  export interface Query extends Promise<Rows> {
    cursor(rows: number): AsyncIterable<Rows>
    simple(): Query
  }
  export interface Connection {
    unsafe(sql: string, values?: readonly unknown[], options?: { readonly simple?: boolean }): Query
  }
  export interface Client extends Connection {
    begin<T>(work: (connection: Connection) => Promise<T>): Promise<T>
    reserve(): Promise<Connection & { release(): void }>
    end(options?: { readonly timeout?: number }): Promise<void>
  }
  export interface NumberType {
    readonly to: number
    readonly from: readonly number[]
    readonly parse: (text: string) => number
    readonly serialize: (value: number) => string
  }
  export interface Options {
    readonly host: string
    readonly port: number
    readonly database: string
    readonly username: string
    readonly password: string | undefined
    readonly ssl: boolean | 'prefer' | 'require' | 'verify-full'
    readonly max: number
    readonly prepare: boolean
    readonly connect_timeout: number
    readonly fetch_types: boolean
    readonly connection: Readonly<Record<string, string>>
    readonly types: Readonly<Record<string, NumberType>>
    readonly onnotice: () => void
  }
  export default function postgres(options: Options): Client
}
