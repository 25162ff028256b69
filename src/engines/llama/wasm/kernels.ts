import {
  all,
  at,
  type Code,
  copy,
  type Frame,
  type Func,
  f32,
  f32x4,
  func,
  get,
  i32,
  type Local,
  loop,
  select,
  set,
  sweep,
  when,
} from './assemble.ts'

/** Bytes per float. */
export const float = 4
/** Bytes describing one row of a step: its token, its position, and the address of its conversation's memory. */
export const rowBytes = 12
export const rowField = { token: 0, position: 4, memory: 8 } as const

/** How many rows and outputs are computed at once, limited by the number of registers. */
const tiles = [
  { rows: 4, outs: 2 },
  { rows: 2, outs: 4 },
  { rows: 1, outs: 8 },
] as const

/**
 * `out[r][o] = x[r] . w[o]`, or added to `out` when `add` is 1. Each product is summed in the same order whatever the
 * number of rows, so that a reply does not depend on the others computed with it. The number of outputs is a multiple
 * of 8.
 */
export function matmul(inputs: number): Func {
  return func(`matmul${inputs}`, ['out', 'w', 'x', 'rows', 'outs', 'add'], (frame, { out, w, x, rows, outs, add }) => {
    const row = frame.local('i32')
    const end = frame.local('i32')
    const tile = (size: (typeof tiles)[number]) => matmulTile(frame, inputs, size, { out, w, x, row, outs, add, end })
    const [four, two, one] = tiles
    const whole = i32.and(get(rows), i32.const(-4))
    return all(
      set(end, whole),
      tile(four),
      set(row, whole),
      when(i32.and(get(rows), i32.const(2)), all(set(end, i32.add(get(row), i32.const(2))), tile(two))),
      set(row, i32.and(get(rows), i32.const(-2))),
      when(i32.and(get(rows), i32.const(1)), all(set(end, get(rows)), tile(one))),
    )
  })
}

interface MatmulLocals {
  readonly out: Local
  readonly w: Local
  readonly x: Local
  readonly row: Local
  readonly outs: Local
  readonly add: Local
  /** Rows from `row` up to, but not including, this one. */
  readonly end: Local
}

function matmulTile(
  frame: Frame,
  inputs: number,
  { rows, outs: width }: (typeof tiles)[number],
  { out, w, x, row, outs, add, end }: MatmulLocals,
): Code {
  const stride = inputs * float
  const [r, o, px, pw, to, place] = frame.several('i32', 6) as [Local, Local, Local, Local, Local, Local]
  const sums = frame.several('v128', rows * width)
  const xs = frame.several('v128', rows)
  const one = frame.local('v128')
  const products = all(
    ...xs.map((local, i) => set(local, f32x4.load(get(px), i * stride))),
    ...Array.from({ length: width }, (_, j) =>
      all(
        set(one, f32x4.load(get(pw), j * stride)),
        ...xs.map((local, i) => {
          const sum = sums[i * width + j] as Local
          return set(sum, f32x4.add(get(sum), f32x4.mul(get(local), get(one))))
        }),
      ),
    ),
    set(pw, i32.add(get(pw), i32.const(16))),
  )
  const results = Array.from({ length: rows }, (_, i) =>
    all(
      set(place, at(get(out), i32.add(i32.mul(i32.add(get(r), i32.const(i)), get(outs)), get(o)), float)),
      ...Array.from({ length: width }, (_, j) => {
        const before = select(f32.load(get(place), j * float), f32.const(0), get(add))
        return f32.store(get(place), f32.add(before, f32x4.sum(sums[i * width + j] as Local)), j * float)
      }),
    ),
  )
  const tile = all(
    ...sums.map((sum) => set(sum, f32x4.const(0))),
    set(px, at(get(x), get(r), stride)),
    set(to, i32.add(get(px), i32.const(stride))),
    set(pw, at(get(w), get(o), stride)),
    sweep(px, get(to), 16, products),
    ...results,
  )
  // Weights are the larger part, so each is read only once for all rows.
  return loop(o, { to: get(outs), step: width }, loop(r, { from: get(row), to: get(end), step: rows }, tile))
}

/** `out[r] = x[r] / rms(x[r]) * w`, for rows of `size` floats; `out` may be `x`. */
export function norm(size: number, epsilon: number): Func {
  return func(`norm${size}`, ['out', 'x', 'w', 'rows'], (frame, { out, x, w, rows }) => {
    const [r, i, source, target] = frame.several('i32', 4) as [Local, Local, Local, Local]
    const [sum, value] = frame.several('v128', 2) as [Local, Local]
    const scale = frame.local('v128')
    const place = (base: Local) => i32.add(get(base), get(i))
    const mean = f32.mul(f32x4.sum(sum), f32.const(1 / size))
    return loop(
      r,
      { to: get(rows) },
      all(
        set(source, at(get(x), get(r), size * float)),
        set(target, at(get(out), get(r), size * float)),
        set(sum, f32x4.const(0)),
        loop(
          i,
          { to: i32.const(size * float), step: 16 },
          all(set(value, f32x4.load(place(source))), set(sum, f32x4.add(get(sum), f32x4.mul(get(value), get(value))))),
        ),
        set(scale, f32x4.splat(f32.divide(f32.const(1), f32.sqrt(f32.add(mean, f32.const(epsilon)))))),
        loop(
          i,
          { to: i32.const(size * float), step: 16 },
          f32x4.store(place(target), f32x4.mul(f32x4.mul(f32x4.load(place(source)), get(scale)), f32x4.load(place(w)))),
        ),
      ),
    )
  })
}

/**
 * Rotates pairs in each head of `x` by the angles of the row's position. `angles` holds the cosines, then the sines, of
 * each position.
 */
export function rotate(head: number, angles: number): Func {
  const half = (head / 2) * float
  return func(`rotate${head}`, ['x', 'table', 'rows', 'heads'], (frame, { x, table, rows, heads }) => {
    const [r, h, i, turn, place] = frame.several('i32', 5) as [Local, Local, Local, Local, Local]
    const [a, b, cos, sin] = frame.several('v128', 4) as [Local, Local, Local, Local]
    const position = i32.load(at(get(table), get(r), rowBytes), rowField.position)
    const pair = all(
      set(a, f32x4.load(i32.add(get(place), get(i)))),
      set(b, f32x4.load(i32.add(get(place), get(i)), half)),
      set(cos, f32x4.load(i32.add(get(turn), get(i)))),
      set(sin, f32x4.load(i32.add(get(turn), get(i)), half)),
      f32x4.store(i32.add(get(place), get(i)), f32x4.sub(f32x4.mul(get(a), get(cos)), f32x4.mul(get(b), get(sin)))),
      f32x4.store(
        i32.add(get(place), get(i)),
        f32x4.add(f32x4.mul(get(b), get(cos)), f32x4.mul(get(a), get(sin))),
        half,
      ),
    )
    const heading = all(
      set(place, at(get(x), i32.add(i32.mul(get(r), get(heads)), get(h)), head * float)),
      loop(i, { to: i32.const(half), step: 16 }, pair),
    )
    return loop(
      r,
      { to: get(rows) },
      all(set(turn, at(i32.const(angles), position, head * float)), loop(h, { to: get(heads) }, heading)),
    )
  })
}

/** Copies row `index[r]` of `from` to row r of `out`. The indexes are `step` bytes apart. */
export const gather: Func = func(
  'gather',
  ['out', 'from', 'index', 'step', 'rows', 'bytes'],
  (frame, { out, from, index, step, rows, bytes }) => {
    const r = frame.local('i32')
    const wanted = i32.load(i32.add(get(index), i32.mul(get(r), get(step))))
    const place = i32.add(get(out), i32.mul(get(r), get(bytes)))
    return loop(r, { to: get(rows) }, copy(place, i32.add(get(from), i32.mul(wanted, get(bytes))), get(bytes)))
  },
)

/** Copies each row of `x` to its position in its conversation's memory, starting at `offset` bytes. */
export const remember: Func = func(
  'remember',
  ['x', 'table', 'rows', 'offset', 'bytes'],
  (frame, { x, table, rows, offset, bytes }) => {
    const [r, known] = frame.several('i32', 2) as [Local, Local]
    const position = i32.mul(i32.load(get(known), rowField.position), get(bytes))
    const place = i32.add(i32.add(i32.load(get(known), rowField.memory), get(offset)), position)
    return loop(
      r,
      { to: get(rows) },
      all(
        set(known, at(get(table), get(r), rowBytes)),
        copy(place, i32.add(get(x), i32.mul(get(r), get(bytes))), get(bytes)),
      ),
    )
  },
)

/** e to the power of four floats, to float precision; below -87 the result is practically 0. */
export function exp(frame: Frame, x: Local): (value: Code) => Code {
  const n = frame.local('v128')
  // The Taylor series of e^r for |r| <= ln(2) / 2.
  const factors = [1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1]
  const series = factors
    .map((factor) => f32x4.const(factor))
    .reduce((sum, factor) => f32x4.add(f32x4.mul(sum, get(x)), factor))
  return (value) =>
    all(
      set(x, f32x4.max(value, f32x4.const(-87))),
      set(n, f32x4.nearest(f32x4.mul(get(x), f32x4.const(Math.LOG2E)))),
      set(x, f32x4.sub(get(x), f32x4.mul(get(n), f32x4.const(0.693359375)))),
      set(x, f32x4.sub(get(x), f32x4.mul(get(n), f32x4.const(-2.1219444e-4)))),
      set(x, f32x4.mul(series, f32x4.powerOfTwo(get(n)))),
    )
}

/** `gate = gate / (1 + e^-gate) * up`, for `bytes` bytes of floats. */
export const gated: Func = func('gated', ['gate', 'up', 'bytes'], (frame, { gate, up, bytes }) => {
  const i = frame.local('i32')
  const [value, power] = frame.several('v128', 2) as [Local, Local]
  const place = i32.add(get(gate), get(i))
  // The range whose result fits into a float: e^88 does.
  const low = f32x4.max(get(value), f32x4.const(-87))
  const silu = f32x4.divide(get(value), f32x4.add(f32x4.const(1), get(power)))
  return loop(
    i,
    { to: get(bytes), step: 16 },
    all(
      set(value, f32x4.load(place)),
      exp(frame, power)(f32x4.negate(low)),
      f32x4.store(place, f32x4.mul(silu, f32x4.load(i32.add(get(up), get(i))))),
    ),
  )
})
