import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { needs } from '../../../test/needs.ts'
import { Screen } from './screen.ts'

const count = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line ${from + i}\r\n`).join('')

async function screenOf(text: string): Promise<Screen> {
  const screen = new Screen({ cols: 80, rows: 10 })
  await feed(screen, text)
  return screen
}

async function feed(screen: Screen, text: string): Promise<void> {
  screen.feed(text)
  await screen.settled()
}

const blank = (rows: number) => '\n'.repeat(rows)

describe('a look at a pane', () => {
  test('is the visible screen with its empty rows at first, then what follows the last line seen, that line included', async () => {
    const screen = await screenOf('$ ')
    expect(screen.lookAtPane()).toEqual({ kind: 'screen', text: `$\n${blank(9)}` })
    await feed(screen, 'ls\r\na\r\n$ ')
    expect(screen.lookAtPane()).toEqual({ kind: 'new', text: `$ ls\na\n$\n${blank(7)}` })
    await feed(screen, 'cd\r\n$ ')
    expect(screen.lookAtPane()).toEqual({ kind: 'new', text: `\n$ cd\n$\n${blank(6)}` })
    expect(screen.lookAtPane()).toEqual({ kind: 'new', text: `\n$\n${blank(6)}` })
  })

  test('is the visible screen when what was seen has scrolled out of the history', async () => {
    const screen = await screenOf('a\r\n$ ')
    screen.lookAtPane()
    await feed(screen, `${count(0, 1900)}$ `)
    expect(screen.lookAtPane().kind).toBe('new')
    await feed(screen, `${count(1900, 2300)}$ `)
    const look = screen.lookAtPane()
    expect(look).toEqual({ kind: 'screen', text: expect.stringMatching(/^line 2291\n/) })
  })

  test('is the visible screen after the screen and the history were erased, but not after the screen alone was', async () => {
    const screen = await screenOf('a\r\n$ ')
    screen.lookAtPane()
    await feed(screen, 'x\r\n\x1b[H\x1b[J$ ')
    expect(screen.lookAtPane()).toEqual({ kind: 'new', text: `\n$ x\n$\n${blank(9)}` })
    await feed(screen, 'y\r\n\x1b[H\x1b[2J\x1b[3J$ ')
    expect(screen.lookAtPane()).toEqual({ kind: 'screen', text: `$\n${blank(9)}` })
  })

  test('is the visible screen while a full-screen program has it, and when it left', async () => {
    const screen = await screenOf('a\r\n$ ')
    screen.lookAtPane()
    await feed(screen, 'vi\r\n\x1b[?1049h\x1b[H\x1b[2J~ file')
    expect(screen.lookAtPane()).toEqual({ kind: 'screen', text: `~ file\n${blank(9)}` })
    await feed(screen, '\x1b[?1049l$ ')
    expect(screen.lookAtPane()).toEqual({ kind: 'screen', text: `a\n$ vi\n$\n${blank(7)}` })
  })

  test('comes early by the empty rows the pane begins with, counted in characters', async () => {
    const screen = await screenOf('\r\n\r\n🙂\r\nsecond\r\n$ ')
    screen.lookAtPane()
    await feed(screen, 'z\r\n$ ')
    // The last line begins 9 characters into the previous text, and 9 characters into the pane is inside "second".
    expect(screen.lookAtPane()).toEqual({ kind: 'new', text: `nd\n$ z\n$\n${blank(4)}` })
  })
})

/** Program output that moves lines in and out of a pane's history. */
const outputs: Readonly<Record<string, string>> = {
  'a few lines': count(0, 5),
  'a screen and a line': count(0, 11),
  'as many lines as are kept': count(0, 2009),
  'one line more than are kept': count(0, 2010),
  'many lines': count(0, 4321),
  'lines, then an erased screen': `${count(0, 30)}\x1b[H\x1b[2J${count(0, 3)}`,
  'lines, then a screen erased from its first cell': `${count(0, 30)}\x1b[H\x1b[J${count(0, 3)}`,
  'lines, then a screen erased from elsewhere': `${count(0, 30)}\x1b[3;1H\x1b[J${count(0, 3)}`,
  'lines, then an erased history': `${count(0, 30)}\x1b[3J${count(0, 3)}`,
  'an erased screen with a gap': `a\x1b[5;1Hb\x1b[2Jc`,
  'a reset': `${count(0, 30)}\x1bcafter`,
  'a scroll region at the top': `\x1b[1;8r${count(0, 40)}\x1b[r`,
  'a full-screen program': `${count(0, 30)}\x1b[?1049h\x1b[H\x1b[2Jpage\r\n${count(0, 30)}`,
  'a full-screen program that left': `${count(0, 30)}\x1b[?1049h\x1b[H\x1b[2Jpage\x1b[?1049lback`,
  'spaces at the ends of lines': 'a   \r\n   \r\n b\t\r\n',
  'long lines': `${'0123456789'.repeat(30)}\r\n${'x'.repeat(80)}\r\nnext`,
  'wide characters and marks': '日本語 ✓ e\u0301 🙂 |\r\n',
  'a progress line': '10 %\r50 %\r100 %\r\ndone',
}

describe('a pane is what tmux shows', needs('tmux'), () => {
  test.each(Object.entries(outputs))('%s', async (_, output) => {
    const screen = await screenOf(output)
    const above = screen.paneLines()
    expect(above.join('\n')).toBe(captured(output))
  })
})

/** The whole pane after a program wrote this in a tmux of 80 columns and 10 rows. */
function captured(output: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'pane-'))
  try {
    writeFileSync(join(dir, 'output'), output)
    const tmux = (...args: string[]) =>
      spawnSync('tmux', ['-f', '/dev/null', '-S', join(dir, 'socket'), ...args], {
        encoding: 'utf8',
        env: { ...process.env, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' },
      })
    const program = `stty -opost -echo; cat ${join(dir, 'output')}; tmux -S ${join(dir, 'socket')} wait-for -S written; sleep 60`
    tmux('new-session', '-d', '-x', '80', '-y', '10', '-s', 'pane', program)
    tmux('wait-for', 'written')
    // The server may answer a later client before it has read everything written to the pane.
    let text = tmux('capture-pane', '-p', '-S', '-', '-t', 'pane').stdout
    for (let same = 0; same < 3; ) {
      const again = tmux('capture-pane', '-p', '-S', '-', '-t', 'pane').stdout
      same = again === text ? same + 1 : 0
      text = again
    }
    tmux('kill-server')
    return text.replace(/\n$/, '')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
