import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { deniedCalls, seccompFilter } from './seccomp.ts'

const allow = 0x7fff0000
const eperm = 0x00050001
const enosys = 0x00050026

interface Call {
  readonly arch: number
  readonly nr: number
  readonly first?: number
}

/** What the kernel would do with a filter: interprets the part of classic BPF that filters may use here. */
function verdict(filter: Buffer, call: Call): number {
  return run(filter, call).verdict
}

function run(filter: Buffer, { arch, nr, first = 0 }: Call): { readonly verdict: number; readonly steps: number } {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(nr, 0)
  data.writeUInt32LE(arch, 4)
  data.writeUInt32LE(first, 16)
  let accumulator = 0
  let steps = 0
  for (let at = 0; at * 8 < filter.length; at++) {
    steps++
    const [code, yes, no, value] = [
      filter.readUInt16LE(at * 8),
      filter.readUInt8(at * 8 + 2),
      filter.readUInt8(at * 8 + 3),
      filter.readUInt32LE(at * 8 + 4),
    ]
    if (code === 0x06) return { verdict: value, steps }
    if (code === 0x20) accumulator = data.readUInt32LE(value)
    else if (code === 0x05) at += value
    else if (code === 0x15) at += accumulator === value ? yes : no
    else if (code === 0x35) at += accumulator >= value ? yes : no
    else throw new Error(`unknown instruction ${code}`)
  }
  throw new Error('ran over the end')
}

const conventions = [
  { name: 'x86-64', machine: 'x64', arch: 0xc000003e, denied: [248, 249, 250, 321, 298, 323, 425, 304, 165, 272, 246] },
  { name: 'x86', machine: 'x64', arch: 0x40000003, denied: [286, 287, 288, 357, 336, 374, 425, 342, 21, 310, 283] },
  { name: 'arm64', machine: 'arm64', arch: 0xc00000b7, denied: [217, 218, 219, 280, 241, 282, 425, 265, 40, 97, 104] },
]

test.each(conventions)(
  'every number of $name is allowed or denied, and keys, bpf, mounts and more are denied',
  (on) => {
    const filter = seccompFilter(on.machine)
    const verdicts = Array.from({ length: 1024 }, (_, nr) => verdict(filter, { arch: on.arch, nr }))
    const denied = verdicts.flatMap((is, nr) => (is === allow ? [] : [nr]))
    expect(denied).toEqual(expect.arrayContaining(on.denied))
    expect(denied.length).toBeLessThan(70)
    expect(new Set(verdicts)).toEqual(new Set([allow, eperm]))
  },
)

test.each([
  ['x64', 0xc000003e, 0],
  ['x64', 0x40000003, 1],
  ['arm64', 0xc00000b7, 2],
])('exactly the listed calls are denied, and each is found in few steps (%s, call %i)', (machine, arch, column) => {
  const filter = seccompFilter(machine)
  const listed = new Set(Object.values(deniedCalls).map((row) => row[column]))
  const numbers = [...Array(1024).keys(), 0xffff, 0x3fffffff, ...(column === 0 ? [] : [0x40000000, 0xffffffff])]
  for (const nr of numbers) {
    const { verdict, steps } = run(filter, { arch, nr, first: 2 })
    expect({ nr, verdict }).toEqual({ nr, verdict: listed.has(nr) ? eperm : allow })
    expect(steps).toBeLessThan(18)
  }
})

test.each([
  ['x64', 0xc000003e, [0, 1, 2, 9, 56, 57, 59, 60, 101, 202, 231, 257, 318, 334, 435, 439]],
  ['arm64', 0xc00000b7, [56, 63, 64, 93, 94, 98, 117, 220, 221, 222, 278, 293, 435, 439]],
])('files, processes, threads, memory and ptrace are allowed on %s', (machine, arch, numbers) => {
  const filter = seccompFilter(machine)
  expect(numbers.filter((nr) => verdict(filter, { arch, nr }) !== allow)).toEqual([])
})

test.each([
  ['x64', 0xc000003e, 41],
  ['x64', 0x40000003, 359],
  ['arm64', 0xc00000b7, 198],
])('sockets are allowed, but not to the host of a virtual machine (%s, call %i of %i)', (machine, arch, nr) => {
  const filter = seccompFilter(machine)
  for (const family of [1, 2, 10, 16]) expect(verdict(filter, { arch, nr, first: family })).toBe(allow)
  expect(verdict(filter, { arch, nr, first: 40 })).toBe(eperm)
})

test('x32 and conventions of other machines have no calls', () => {
  for (const nr of [0, 1, 59, 250, 0x40000000, 0x400000fa]) {
    expect(verdict(seccompFilter('x64'), { arch: 0xc000003e, nr: nr | 0x40000000 })).toBe(enosys)
    expect(verdict(seccompFilter('x64'), { arch: 0xc00000b7, nr })).toBe(enosys)
    expect(verdict(seccompFilter('arm64'), { arch: 0x40000028, nr })).toBe(enosys)
  }
})

/** The kernel's own lists of numbers, which come with a C compiler; arm64 uses the one of all newer architectures. */
const headers = [
  { name: 'x86-64', column: 0, file: '/usr/include/x86_64-linux-gnu/asm/unistd_64.h' },
  { name: 'x86', column: 1, file: '/usr/include/x86_64-linux-gnu/asm/unistd_32.h' },
  { name: 'arm64', column: 2, file: '/usr/include/asm-generic/unistd.h' },
]

describe.each(headers)('the numbers of $name', ({ column, file }) => {
  test.skipIf(!existsSync(file))(`are those of the kernel (needs ${file})`, () => {
    const text = readFileSync(file, 'utf8')
    const known = new Map([...text.matchAll(/^#define __NR_(\w+)\s+(\d+)/gm)].map(([, name, nr]) => [name, Number(nr)]))
    expect(known.size).toBeGreaterThan(250)
    // The list for newer architectures also has 32-bit calls, whose names end like this.
    const isFor32 = (name: string) => column === 2 && /_\w+time64$/.test(name)
    const compared = Object.entries(deniedCalls).filter(([name]) => known.has(name) && !isFor32(name))
    const ours = Object.fromEntries(compared.map(([name, numbers]) => [name, numbers[column]]))
    expect(ours).toEqual(Object.fromEntries(compared.map(([name]) => [name, known.get(name)])))
    expect(compared.length).toBeGreaterThan(40)
  })
})
