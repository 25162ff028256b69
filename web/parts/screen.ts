import { Terminal } from '@xterm/headless'
import { h } from '../dom.ts'

type Cell = NonNullable<ReturnType<NonNullable<ReturnType<Terminal['buffer']['active']['getLine']>>['getCell']>>

/** A terminal drawn as text: a recording can affect nothing outside its cells. */
export class Screen {
  readonly element = h('div', { class: 'screen', role: 'img', 'aria-label': 'Terminal' })
  private terminal: Terminal

  constructor(cols: number, rows: number) {
    this.terminal = make(cols, rows)
    this.fit()
  }

  reset(cols: number, rows: number): void {
    this.terminal.dispose()
    this.terminal = make(cols, rows)
    this.fit()
  }

  resize(cols: number, rows: number): void {
    this.terminal.resize(clamp(cols), clamp(rows))
    this.fit()
  }

  write(data: string): Promise<void> {
    return data === '' ? Promise.resolve() : new Promise((resolve) => this.terminal.write(data, resolve))
  }

  draw(): void {
    const { active } = this.terminal.buffer
    const rows: HTMLElement[] = []
    for (let y = 0; y < this.terminal.rows; y++) {
      const cursor = y === active.cursorY ? active.cursorX : -1
      rows.push(h('div', null, ...this.runs(active.baseY + y, cursor)))
    }
    this.element.replaceChildren(...rows)
  }

  /** Runs of adjacent cells with the same style. */
  private runs(y: number, cursor: number): HTMLElement[] {
    const found = this.terminal.buffer.active.getLine(y)
    const runs: HTMLElement[] = []
    let text = ''
    let style = ''
    let cell: Cell | undefined
    const end = () => {
      if (text !== '') runs.push(run(text, style))
      text = ''
    }
    const last = Math.max(cursor + 1, found?.translateToString(true).length ?? 0)
    for (let x = 0; x < Math.min(last + 1, this.terminal.cols); x++) {
      cell = found?.getCell(x, cell)
      if (!cell || cell.getWidth() === 0) continue
      const now = `${styleOf(cell)}${x === cursor ? ' cursor' : ''}`
      if (now !== style) end()
      style = now
      text += cell.getChars() || ' '
    }
    end()
    return runs
  }

  private fit(): void {
    this.element.style.setProperty('--cols', String(this.terminal.cols))
    this.element.style.setProperty('--rows', String(this.terminal.rows))
  }
}

function make(cols: number, rows: number): Terminal {
  return new Terminal({ cols: clamp(cols), rows: clamp(rows), scrollback: 0, allowProposedApi: true })
}

function clamp(size: number): number {
  return Math.min(500, Math.max(2, Math.floor(size) || 2))
}

function styleOf(cell: Cell): string {
  const colors = [
    cell.isFgDefault() ? '' : ` f${cell.isFgRGB() ? '#' : ''}${cell.getFgColor().toString(cell.isFgRGB() ? 16 : 10)}`,
    cell.isBgDefault() ? '' : ` b${cell.isBgRGB() ? '#' : ''}${cell.getBgColor().toString(cell.isBgRGB() ? 16 : 10)}`,
  ]
  const flags = [
    cell.isBold() && ' bold',
    cell.isDim() && ' dim',
    cell.isItalic() && ' italic',
    cell.isUnderline() && ' under',
    cell.isInverse() && ' inverse',
  ]
  return [...colors, ...flags.filter(Boolean)].join('')
}

function run(text: string, style: string): HTMLElement {
  const element = h('span', null, text)
  const classes: string[] = []
  let [ink, paper] = ['', '']
  for (const word of style.split(' ').filter(Boolean)) {
    if (/^f#?[0-9a-f]+$/.test(word)) ink = colorOf(word.slice(1))
    else if (/^b#?[0-9a-f]+$/.test(word) && word !== 'bold') paper = colorOf(word.slice(1))
    else classes.push(word)
  }
  if (classes.includes('inverse')) [ink, paper] = [paper || 'var(--term-paper)', ink || 'var(--term-ink)']
  if (ink !== '') element.style.color = ink
  if (paper !== '') element.style.backgroundColor = paper
  if (classes.length > 0) element.className = classes.map((name) => `t-${name}`).join(' ')
  return element
}

const sixteen = [
  '#3b4252',
  '#e06c75',
  '#98c379',
  '#e5c07b',
  '#61afef',
  '#c678dd',
  '#56b6c2',
  '#d7dae0',
  '#7f848e',
  '#f08b93',
  '#b5e08f',
  '#ffd68a',
  '#82c4ff',
  '#dd9cf0',
  '#7fd5e0',
  '#ffffff',
]

/** A color from the 256-color palette, or `#` and hexadecimal digits. */
function colorOf(code: string): string {
  if (code.startsWith('#')) return `#${code.slice(1).padStart(6, '0')}`
  const n = Number(code)
  if (n < 16) return sixteen[n] ?? ''
  if (n >= 232) return `rgb(${8 + (n - 232) * 10} ${8 + (n - 232) * 10} ${8 + (n - 232) * 10})`
  const level = (i: number) => (i === 0 ? 0 : 55 + 40 * i)
  const at = n - 16
  return `rgb(${level(Math.floor(at / 36))} ${level(Math.floor(at / 6) % 6)} ${level(at % 6)})`
}
