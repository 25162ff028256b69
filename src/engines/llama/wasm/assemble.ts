/** WebAssembly instructions as bytes. An expression leaves its value on the stack; a statement leaves nothing. */
export type Code = readonly number[]

/** A local variable of a function, by its number. */
export type Local = number

const types = { i32: 0x7f, f32: 0x7d, v128: 0x7b } as const
type Type = keyof typeof types

/** One function of a module: all its parameters are i32, and it returns nothing. */
export interface Func {
  readonly name: string
  readonly params: number
  readonly locals: readonly Type[]
  readonly body: Code
}

/** Collects a function's locals while its body is written. */
export class Frame {
  readonly locals: Type[] = []

  constructor(private readonly params: number) {}

  local(type: Type): Local {
    this.locals.push(type)
    return this.params + this.locals.length - 1
  }

  several(type: Type, count: number): readonly Local[] {
    return Array.from({ length: count }, () => this.local(type))
  }
}

/** Writes a function: `write` gets the frame for its locals, and its parameters by name. */
export function func<const Name extends string>(
  name: string,
  params: readonly Name[],
  write: (frame: Frame, params: Readonly<Record<Name, Local>>) => Code,
): Func {
  const frame = new Frame(params.length)
  const byName = Object.fromEntries(params.map((param, i) => [param, i])) as Record<Name, Local>
  const body = write(frame, byName)
  return { name, params: params.length, locals: frame.locals, body }
}

/** An unsigned number of any length in LEB128. */
function leb(value: number): number[] {
  const low = value & 0x7f
  const rest = Math.floor(value / 128)
  return rest === 0 ? [low] : [low | 0x80, ...leb(rest)]
}

function signedLeb(value: number): number[] {
  const low = value & 0x7f
  const rest = value >> 7
  const isLast = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)
  return isLast ? [low] : [low | 0x80, ...signedLeb(rest)]
}

function floatBytes(value: number): number[] {
  return [...new Uint8Array(new Float32Array([value]).buffer)]
}

const simd = (code: number) => [0xfd, ...leb(code)]
const unary = (op: Code) => (a: Code) => [...a, ...op]
const binary = (op: Code) => (a: Code, b: Code) => [...a, ...b, ...op]

export const get = (local: Local): Code => [0x20, ...leb(local)]
export const set = (local: Local, value: Code): Code => [...value, 0x21, ...leb(local)]
/** Joins statements, one after the other. */
export const all = (...parts: readonly Code[]): Code => parts.flat()

/** Integers; addresses above 2 GiB are negative here, which makes no difference to WebAssembly. */
export const i32 = {
  const: (value: number): Code => [0x41, ...signedLeb(value | 0)],
  load: (at: Code, offset = 0): Code => [...at, 0x28, 2, ...leb(offset)],
  add: binary([0x6a]),
  sub: binary([0x6b]),
  mul: binary([0x6c]),
  and: binary([0x71]),
  divide: binary([0x6e]),
}

/** `base + index * size`. */
export const at = (base: Code, index: Code, size: number): Code => i32.add(base, i32.mul(index, i32.const(size)))

export const f32 = {
  const: (value: number): Code => [0x43, ...floatBytes(value)],
  load: (place: Code, offset = 0): Code => [...place, 0x2a, 2, ...leb(offset)],
  store: (place: Code, value: Code, offset = 0): Code => [...place, ...value, 0x38, 2, ...leb(offset)],
  add: binary([0x92]),
  mul: binary([0x94]),
  divide: binary([0x95]),
  max: binary([0x97]),
  sqrt: unary([0x91]),
}

/** Four floats at a time. */
export const f32x4 = {
  load: (place: Code, offset = 0): Code => [...place, ...simd(0), 2, ...leb(offset)],
  loadSplat: (place: Code, offset = 0): Code => [...place, ...simd(9), 2, ...leb(offset)],
  store: (place: Code, value: Code, offset = 0): Code => [...place, ...value, ...simd(11), 2, ...leb(offset)],
  splat: unary(simd(0x13)),
  const: (value: number): Code => [...simd(0x0c), ...Array.from({ length: 4 }, () => floatBytes(value)).flat()],
  add: binary(simd(0xe4)),
  sub: binary(simd(0xe5)),
  mul: binary(simd(0xe6)),
  divide: binary(simd(0xe7)),
  max: binary(simd(0xe9)),
  negate: unary(simd(0xe1)),
  nearest: unary(simd(0x6a)),
  /** 2 to the power of a vector of integers from -126 to 127. */
  powerOfTwo: (value: Code): Code => [
    ...value,
    ...simd(0xf8),
    ...i32.const(127),
    ...simd(0x11),
    ...simd(0xae),
    ...i32.const(23),
    ...simd(0xab),
  ],
  /** The sum of a local's four floats. */
  sum: (local: Local): Code =>
    f32.add(f32.add(lane(local, 0), lane(local, 1)), f32.add(lane(local, 2), lane(local, 3))),
}

const lane = (local: Local, number: number): Code => [...get(local), ...simd(0x1f), number]

const empty = 0x40

/** `for (i = from; i < to; i += step) body`. */
export function loop(i: Local, range: { from?: Code; to: Code; step?: number }, body: Code): Code {
  const { from = i32.const(0), to, step = 1 } = range
  return [
    ...set(i, from),
    ...[0x02, empty, 0x03, empty],
    ...[...get(i), ...to, 0x4f, 0x0d, 1],
    ...body,
    ...set(i, i32.add(get(i), i32.const(step))),
    ...[0x0c, 0, 0x0b, 0x0b],
  ]
}

/** `do { body; pointer += step } while (pointer < to)`: without a test at the start, for inner loops. */
export function sweep(pointer: Local, to: Code, step: number, body: Code): Code {
  const next = set(pointer, i32.add(get(pointer), i32.const(step)))
  return [0x03, empty, ...body, ...next, ...get(pointer), ...to, 0x49, 0x0d, 0, 0x0b]
}

export const when = (condition: Code, body: Code): Code => [...condition, 0x04, empty, ...body, 0x0b]

/** `condition ? yes : no`, with both sides evaluated. */
export const select = (yes: Code, no: Code, condition: Code): Code => [...yes, ...no, ...condition, 0x1b]

/** Copies bytes within the memory. */
export const copy = (to: Code, from: Code, bytes: Code): Code => [...to, ...from, ...bytes, 0xfc, 0x0a, 0, 0]

/** Calls a function of the module; `functions` is the list passed to `assemble`. */
export function call(functions: readonly Func[], callee: Func, ...args: readonly Code[]): Code {
  const index = functions.indexOf(callee)
  if (index < 0 || args.length !== callee.params) throw new Error(`a wrong call of ${callee.name}`)
  return [...args.flat(), 0x10, ...leb(index)]
}

const section = (id: number, items: readonly (readonly number[])[]) => {
  const body = [...leb(items.length), ...items.flat()]
  return [id, ...leb(body.length), ...body]
}

const text = (value: string) => [...leb(value.length), ...Buffer.from(value, 'latin1')]

/** The bytes of a module with these functions, all exported, using an imported shared memory `env.memory`. */
export function assemble(functions: readonly Func[], pages: number): Uint8Array<ArrayBuffer> {
  const shared = 0x03
  const bodies = functions.map(({ locals, body }) => {
    const code = [...leb(locals.length), ...locals.flatMap((type) => [1, types[type]]), ...body, 0x0b]
    return [...leb(code.length), ...code]
  })
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(
      1,
      functions.map(({ params }) => [0x60, ...leb(params), ...Array(params).fill(types.i32), 0]),
    ),
    ...section(2, [[...text('env'), ...text('memory'), 2, shared, ...leb(pages), ...leb(pages)]]),
    ...section(
      3,
      functions.map((_, i) => leb(i)),
    ),
    ...section(
      7,
      functions.map(({ name }, i) => [...text(name), 0, ...leb(i)]),
    ),
    ...section(10, bodies),
  ])
}
