import {
  all,
  at,
  type Code,
  type Frame,
  type Func,
  f32,
  f32x4,
  func,
  get,
  i32,
  type Local,
  loop,
  set,
  sweep,
} from './assemble.ts'
import { exp, float, rowBytes, rowField } from './kernels.ts'

export interface AttentionShape {
  readonly heads: number
  readonly kvHeads: number
  /** Floats per head, a multiple of 16. */
  readonly head: number
}

interface Locals {
  readonly query: Local
  /** The first key or value of this head, and the end of the last. */
  readonly first: Local
  readonly end: Local
  readonly scores: Local
  readonly place: Local
  readonly score: Local
}

/**
 * Attention of every head of every row over its conversation's memory, up to the row's own position. Keys begin `keys`
 * bytes into that memory, values `values` bytes. `scores` has room for one float per position plus three.
 */
export function attend({ heads, kvHeads, head }: AttentionShape): Func {
  const step = kvHeads * head * float
  return func(
    'attend',
    ['out', 'q', 'table', 'rows', 'keys', 'values', 'scores'],
    (frame, { out, q, table, rows, keys, values, scores }) => {
      const [r, h, known, query, first, end, place, score, target, shift] = frame.several('i32', 10) as Locals10
      const locals = { query, first, end, scores, place, score }
      const largest = frame.local('f32')
      const total = frame.local('v128')
      const position = i32.load(get(known), rowField.position)
      const begin = (offset: Local) =>
        all(
          set(first, i32.add(i32.add(i32.load(get(known), rowField.memory), get(offset)), get(shift))),
          set(end, at(get(first), i32.add(position, i32.const(1)), step)),
        )
      const oneHead = all(
        set(query, at(get(q), i32.add(i32.mul(get(r), i32.const(heads)), get(h)), head * float)),
        set(target, i32.add(get(out), i32.sub(get(query), get(q)))),
        set(shift, i32.mul(i32.divide(get(h), i32.const(heads / kvHeads)), i32.const(head * float))),
        begin(keys),
        scoreKeys(frame, locals, { head, step, largest }),
        softmax(frame, locals, { largest, total }),
        begin(values),
        ...Array.from({ length: head / 16 }, (_, part) => weigh(frame, locals, { part, step, target, total })),
      )
      return loop(
        r,
        { to: get(rows) },
        all(set(known, at(get(table), get(r), rowBytes)), loop(h, { to: i32.const(heads) }, oneHead)),
      )
    },
  )
}

type Locals10 = [Local, Local, Local, Local, Local, Local, Local, Local, Local, Local]

/** The scores of all positions, divided by the square root of the head's size; `largest` receives the largest. */
function scoreKeys(
  frame: Frame,
  { query, first, end, scores, place, score }: Locals,
  { head, step, largest }: { head: number; step: number; largest: Local },
): Code {
  const sums = frame.several('v128', 4)
  const total = sums[0] as Local
  const value = frame.local('f32')
  const products = Array.from({ length: head / 4 }, (_, i) => {
    const sum = sums[i % 4] as Local
    const product = f32x4.mul(f32x4.load(get(query), i * 16), f32x4.load(get(place), i * 16))
    return set(sum, i < 4 ? product : f32x4.add(get(sum), product))
  })
  const added = sums.map(get).reduce((a, b) => f32x4.add(a, b))
  return all(
    set(largest, f32.const(-1e30)),
    set(score, get(scores)),
    set(place, get(first)),
    sweep(
      place,
      get(end),
      step,
      all(
        ...products,
        set(total, added),
        set(value, f32.mul(f32x4.sum(total), f32.const(1 / Math.sqrt(head)))),
        f32.store(get(score), get(value)),
        set(largest, f32.max(get(largest), get(value))),
        set(score, i32.add(get(score), i32.const(float))),
      ),
    ),
    // Four are read at a time: padding after the last must not count.
    f32x4.store(get(score), f32x4.const(-1e30)),
  )
}

/** Replaces the scores by their exponentials; every lane of `total` holds their sum. */
function softmax(
  frame: Frame,
  { scores, place, score }: Locals,
  { largest, total }: { largest: Local; total: Local },
): Code {
  const power = frame.local('v128')
  const top = frame.local('v128')
  return all(
    set(total, f32x4.const(0)),
    set(top, f32x4.splat(get(largest))),
    set(place, get(scores)),
    sweep(
      place,
      get(score),
      16,
      all(
        exp(frame, power)(f32x4.sub(f32x4.load(get(place)), get(top))),
        f32x4.store(get(place), get(power)),
        set(total, f32x4.add(get(total), get(power))),
      ),
    ),
    set(total, f32x4.splat(f32x4.sum(total))),
  )
}

/** Sixteen floats of the head: values weighted by their scores, divided by the sum of all scores. */
function weigh(
  frame: Frame,
  { first, end, scores, place, score }: Locals,
  { part, step, target, total }: { part: number; step: number; target: Local; total: Local },
): Code {
  const sums = frame.several('v128', 4)
  const share = frame.local('v128')
  const offset = (i: number) => part * 64 + i * 16
  return all(
    ...sums.map((sum) => set(sum, f32x4.const(0))),
    set(score, get(scores)),
    set(place, get(first)),
    sweep(
      place,
      get(end),
      step,
      all(
        set(share, f32x4.loadSplat(get(score))),
        ...sums.map((sum, i) =>
          set(sum, f32x4.add(get(sum), f32x4.mul(get(share), f32x4.load(get(place), offset(i))))),
        ),
        set(score, i32.add(get(score), i32.const(float))),
      ),
    ),
    ...sums.map((sum, i) => f32x4.store(get(target), f32x4.divide(get(sum), get(total)), offset(i))),
  )
}
