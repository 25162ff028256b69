import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packTasks } from '../src/formats/task-parquet/pack-tasks.ts'
import { unpackTasks } from '../src/formats/task-parquet/unpack-tasks.ts'
import type { Row } from './lib/rows.ts'

const count = 10_000
const goalMb = 300

/**
 * Packs and unpacks ten thousand small tasks, compared with `tar czf` and `tar xzf` of the same tree in the same run.
 */
export default {
  name: 'pack',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      const at = (name: string) => join(scratch, name)
      const { names, bytes } = writeTasks(at('tasks'))
      const tasks = names.map((path) => ({ path, dir: join(at('tasks'), path) }))
      const tar = seconds(() => execFileSync('tar', ['-C', at('tasks'), '-czf', at('tasks.tar.gz'), '.']))
      const pack = await measure(() => packTasks(tasks, at('tasks.parquet')))
      mkdirSync(at('by-tar'))
      const untar = seconds(() => execFileSync('tar', ['-xzf', at('tasks.tar.gz'), '-C', at('by-tar')]))
      const unpack = await measure(() => unpackTasks(at('tasks.parquet'), at('unpacked')))
      execFileSync('diff', ['-r', at('tasks'), at('unpacked')])
      return [
        ...rows('pack', bytes, pack, { name: 'tar czf', sec: tar }),
        ...rows('unpack', bytes, unpack, { name: 'tar xzf', sec: untar }),
      ]
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

function rows(what: string, bytes: number, done: Measured, rival: Rival): Row[] {
  return [
    {
      name: `${what} ${count} tasks, ${(bytes / 1e6).toFixed(0)} MB of files`,
      value: bytes / 1e6 / done.sec,
      unit: 'MB/s',
    },
    { name: `${what}, tasks per second`, value: count / done.sec, unit: '/s' },
    { name: `${what}, time beside ${rival.name}`, value: done.sec / rival.sec, unit: 'x' },
    { name: `${what}, peak memory`, value: done.peakMb, unit: 'MB', goal: `under ${goalMb}`, ok: done.peakMb < goalMb },
  ]
}

interface Rival {
  readonly name: string
  readonly sec: number
}

interface Measured {
  readonly sec: number
  readonly peakMb: number
}

/** Measures peak memory with the kernel's high-water mark, reset before the work. */
async function measure(work: () => Promise<unknown>): Promise<Measured> {
  writeFileSync('/proc/self/clear_refs', '5')
  const start = performance.now()
  await work()
  const sec = (performance.now() - start) / 1000
  const peakKb = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return { sec, peakMb: Number(peakKb) / 1000 }
}

function seconds(work: () => unknown): number {
  const start = performance.now()
  work()
  return (performance.now() - start) / 1000
}

function writeTasks(dir: string): { names: string[]; bytes: number } {
  const words = makeWords()
  const names = Array.from({ length: count }, (_, i) => `task-${String(i).padStart(5, '0')}`)
  let bytes = 0
  for (const name of names) {
    for (const [path, size] of Object.entries(sizes)) {
      const file = join(dir, name, path)
      const text = words(size)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
      if (path.endsWith('.sh')) chmodSync(file, 0o755)
      bytes += text.length
    }
  }
  return { names, bytes }
}

/** The files of a small task and their approximate sizes. */
const sizes = {
  'task.toml': 700,
  'instruction.md': 1800,
  'environment/Dockerfile': 300,
  'environment/data.txt': 3000,
  'solution/solve.sh': 500,
  'tests/test.sh': 400,
  'tests/test_outputs.py': 2200,
}

/** Text that compresses about as well as real text, the same in every run. */
function makeWords(): (size: number) => string {
  let seed = 1
  const next = (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const dictionary = Array.from({ length: 4000 }, () =>
    Array.from({ length: 3 + next(8) }, () => 'etaoinshrdlucmfw'[next(16)]).join(''),
  )
  return (size) => {
    let text = ''
    while (text.length < size)
      text += `${dictionary[Math.floor(next(4000) * (next(1000) / 1000))]}${next(9) ? ' ' : '\n'}`
    return text
  }
}
