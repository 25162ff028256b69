import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Screen, type ScreenOptions } from './screen.ts'

async function screenOf(text: string, options: Partial<ScreenOptions> = {}): Promise<Screen> {
  const screen = new Screen({ cols: 80, rows: 10, ...options })
  screen.feed(text)
  await screen.settled()
  return screen
}

async function feed(screen: Screen, text: string): Promise<Screen> {
  screen.feed(text)
  await screen.settled()
  return screen
}

const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line ${from + i}`)
const output = (from: number, to: number) =>
  lines(from, to)
    .map((line) => `${line}\r\n`)
    .join('')

describe('the visible screen', () => {
  test('is text without colours and without empty rows at its end', async () => {
    expect((await screenOf('\x1b[31mred\x1b[m\r\n  indented\r\n')).visible()).toBe('red\n  indented')
  })

  test('shows wide characters once, in two columns', async () => {
    const screen = await screenOf('日本語|🙂|é|e\u0301|\x1b[1;5HX')
    expect(screen.visible()).toBe('日本X |🙂|é|e\u0301|')
  })

  test('is the program’s own while it has the alternate screen, and the old one after', async () => {
    const screen = await screenOf('$ vi\r\n\x1b[?1049h\x1b[H\x1b[2J~ file')
    expect([screen.alternate, screen.visible()]).toEqual([true, '~ file'])
    await feed(screen, '\x1b[?1049l$ ')
    expect([screen.alternate, screen.visible()]).toEqual([false, '$ vi\n$'])
  })

  test('keeps its text through a resize', async () => {
    const screen = await screenOf(`${output(0, 30)}$ `)
    screen.resize(60, 20)
    expect(screen.visible().endsWith('line 29\n$')).toBe(true)
    expect(screen.look().kind).toBe('screen')
  })

  test('answers a program that asks where the cursor is', async () => {
    const replies: string[] = []
    await screenOf('ab\r\ncd\x1b[6n', { reply: (data) => replies.push(data) })
    expect(replies).toEqual(['\x1b[2;3R'])
  })
})

describe('the history', () => {
  test('holds every line that scrolled off, whatever the chunks were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 1, max: 9999 }), async (count, size) => {
        const text = output(0, count)
        const screen = new Screen({ cols: 80, rows: 10 })
        for (let i = 0; i < text.length; i += size) screen.feed(text.slice(i, i + size))
        await screen.settled()
        expect(screen.history().join('\n').trimEnd()).toBe(lines(0, count).join('\n'))
      }),
      { numRuns: 20 },
    )
  })

  test('holds one endless line, row by row', async () => {
    const screen = await screenOf('0123456789'.repeat(8 * 1000))
    expect(screen.history().filter((row) => row === '0123456789'.repeat(8))).toHaveLength(1000)
  })

  test('is bounded', async () => {
    const screen = await screenOf(output(0, 500), { historyLines: 100 })
    expect(screen.history().length).toBeLessThanOrEqual(110)
    expect(screen.history()).toContain('line 499')
  })

  test('outlives a program that erases it', async () => {
    for (const erase of ['\x1b[H\x1b[2J\x1b[3J', '\x1bc']) {
      const screen = await screenOf(`${output(0, 100)}${erase}${output(100, 120)}`)
      expect(screen.history()).toEqual(expect.arrayContaining(lines(0, 90)))
      expect(screen.history()).toEqual(expect.arrayContaining(lines(100, 120)))
    }
  })
})

describe('a look', () => {
  test('is the whole screen at first, then only what is new', async () => {
    const screen = await screenOf('$ ')
    expect(screen.look()).toEqual({ kind: 'screen', text: '$' })
    await feed(screen, 'ls\r\na\r\nb\r\n$ ')
    expect(screen.look()).toEqual({ kind: 'new', text: '$ ls\na\nb\n$' })
    await feed(screen, 'cd\r\n$ ')
    expect(screen.look()).toEqual({ kind: 'new', text: '$ cd\n$' })
  })

  test('is the whole screen when nothing is new', async () => {
    const screen = await screenOf('a\r\n$ ')
    screen.look()
    expect(screen.look()).toEqual({ kind: 'screen', text: 'a\n$' })
  })

  test('takes the same text again for new text', async () => {
    const screen = await screenOf('y\r\n'.repeat(100))
    screen.look()
    await feed(screen, 'y\r\n'.repeat(300))
    expect(screen.look()).toEqual({ kind: 'new', text: 'y\n'.repeat(300).trimEnd() })
  })

  test('neither repeats nor loses a line, whenever one looks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 8 }), async (counts) => {
        const screen = new Screen({ cols: 80, rows: 10 })
        screen.look()
        let at = 0
        const seen: string[] = []
        for (const count of counts) {
          await feed(screen, output(at, at + count))
          at += count
          seen.push(screen.look().text)
        }
        expect(seen.join('\n')).toBe(lines(0, at).join('\n'))
      }),
      { numRuns: 30 },
    )
  })

  test('is the whole screen after a program wrote over what was seen', async () => {
    const screen = await screenOf('one\r\ntwo\r\n$ ')
    screen.look()
    await feed(screen, '\x1b[1;1Hten')
    expect(screen.look()).toEqual({ kind: 'screen', text: 'ten\ntwo\n$' })
  })

  test('goes on after a program cleared the screen', async () => {
    const screen = await screenOf('one\r\ntwo\r\n$ ')
    screen.look()
    await feed(screen, 'clear\r\n\x1b[H\x1b[2J\x1b[3J$ ')
    expect(screen.look()).toEqual({ kind: 'new', text: '$ clear\n$' })
  })

  test('shows a progress line as it is now', async () => {
    const screen = await screenOf('start\r\n10 %')
    screen.look()
    await feed(screen, '\r90 %')
    expect(screen.look()).toEqual({ kind: 'new', text: '90 %' })
  })

  test('goes on after a full-screen program where it was', async () => {
    const screen = await screenOf('$ ')
    screen.look()
    await feed(screen, 'less x\r\n\x1b[?1049h\x1b[Hpage')
    expect(screen.look()).toEqual({ kind: 'screen', text: 'page' })
    await feed(screen, '\x1b[?1049l$ ')
    expect(screen.look()).toEqual({ kind: 'new', text: '$ less x\n$' })
  })

  test('says when lines are no longer kept', async () => {
    const screen = await screenOf('$ ', { historyLines: 100 })
    screen.look()
    await feed(screen, output(0, 1000))
    expect(screen.look().text).toMatch(/^\[\.\.\. \d+ earlier lines are no longer kept \.\.\.\]\nline \d+\n/)
  })

  test('keeps a scroll region of the program', async () => {
    const screen = await screenOf(`\x1b[1;9r\x1b[10;1H50 %\x1b[1;1H${output(0, 400)}`)
    expect(screen.visible().split('\n').at(-1)).toBe('50 %')
    expect(screen.history()).toContain('line 300')
  })
})

describe('a flood', () => {
  test('is read to its end; what came too fast is left out and counted on the screen', async () => {
    const screen = await screenOf(output(0, 20_000), { backlogChars: 20_000 })
    expect(screen.skippedChars).toBeGreaterThan(100_000)
    const text = screen.history().join('\n')
    expect(text).toContain(`[... ${screen.skippedChars} characters of output left out`)
    expect(text.trimEnd().endsWith('line 19999')).toBe(true)
  })

  test('on one screen does not keep another from being read', async () => {
    const flooded = new Screen({ cols: 80, rows: 10 })
    const calm = new Screen({ cols: 80, rows: 10 })
    let flooding = true
    flooded.feed(output(0, 200_000))
    const flood = flooded.settled().then(() => {
      flooding = false
    })
    let answered = 0
    for (; flooding && answered < 10; answered++) await feed(calm, `${answered}\r\n`)
    expect(answered).toBe(10)
    await flood
  })

  test.each([
    ['S', '\x1b[2147483647S'],
    ['T', '\x1b[2147483647T'],
    ['L', '\x1b[2147483647L'],
    ['M', '\x1b[2147483647M'],
    ['I', '\x1b[2147483647I'],
    ['Z', '\x1b[5C\x1b[2147483647Z'],
    ['b', 'a\x1b[2147483647b'],
    ['J', `x${'\x1b[2J'.repeat(20_000)}`],
    ['marks', `a${'\u0301'.repeat(100_000)}\x1b[79b`],
  ])('of one sequence (%s) ends', async (_, sequence) => {
    expect((await screenOf(`${sequence}\r\nstill here`)).visible()).toContain('still here')
  })
})
