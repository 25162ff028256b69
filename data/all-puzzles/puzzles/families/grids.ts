import type { Draws } from 'ot-agent'
import { byLevel, type Family, lines } from '../family.ts'

/** A filled square: the standard pattern with its digits, rows, columns and bands shuffled. */
function filledSudoku(random: Draws): number[][] {
  const order = () =>
    random.shuffle([0, 1, 2]).flatMap((band) => random.shuffle([0, 1, 2]).map((row) => band * 3 + row))
  const digits = random.shuffle([1, 2, 3, 4, 5, 6, 7, 8, 9])
  const [rows, columns] = [order(), order()]
  return rows.map((row) => columns.map((column) => digits[(row * 3 + Math.floor(row / 3) + column) % 9] ?? 0))
}

/** Fill in a 9 x 9 sudoku. */
export const sudoku: Family = {
  name: 'sudoku',
  draw: (random, level) => {
    const full = filledSudoku(random)
    const holes = new Set(random.few([...Array(81).keys()], byLevel(level, 25, 42, 54)))
    const text = lines(full.map((row, y) => row.map((digit, x) => (holes.has(y * 9 + x) ? '.' : digit)).join('')))
    return {
      ask: [
        random.pick([
          '`PUZZLE` contains a Sudoku: nine lines of nine characters, with a dot for each empty cell.',
          'Solve the Sudoku in `PUZZLE` (nine lines; `.` is an empty cell).',
        ]),
        'Fill in every empty cell so that each row, each column and each of the nine 3 x 3 blocks contains every digit from 1 to 9 exactly once. Do not change the given digits. Write the completed grid to `ANSWER` as nine lines of nine digits. If there is more than one solution, any of them is accepted.',
      ],
      text,
      answer: lines(full.map((row) => row.join(''))),
    }
  },
  check: `file == 2 { given[++n] = $0 }
file == 3 { got[++m] = $0; if (length($0) != 9 || $0 !~ /^[1-9]+$/) bad = 1 }
END {
  if (bad || n != 9 || m != 9) exit
  for (y = 1; y <= 9; y++) for (x = 1; x <= 9; x++) {
    d = substr(got[y], x, 1); g = substr(given[y], x, 1); b = int((y - 1) / 3) * 3 + int((x - 1) / 3)
    if (g != "." && g != d) exit
    if (seen["r" y, d]++ || seen["c" x, d]++ || seen["b" b, d]++) exit
  }
  accept()
}`,
}

function placeQueens(random: Draws, size: number): number[] {
  const placed: number[] = []
  const put = (row: number): boolean => {
    if (row === size) return true
    for (const column of random.shuffle([...Array(size).keys()])) {
      if (placed.some((other, above) => other === column || Math.abs(other - column) === row - above)) continue
      placed.push(column)
      if (put(row + 1)) return true
      placed.pop()
    }
    return false
  }
  put(0)
  return placed
}

/** Place queens on a board with forbidden squares. */
export const queens: Family = {
  name: 'queens',
  draw: (random, level) => {
    const size = random.int(byLevel(level, 6, 8, 11), byLevel(level, 7, 10, 13))
    const solution = placeQueens(random, size)
    const blocked = new Set(
      random.few(
        [...Array(size * size).keys()].filter((at) => solution[Math.floor(at / size)] !== at % size),
        random.int(size, size * 3),
      ),
    )
    const fixed = new Set(random.few([...Array(size).keys()], byLevel(level, 2, 1, 0)))
    const cell = (y: number, x: number) =>
      fixed.has(y) && solution[y] === x ? 'Q' : blocked.has(y * size + x) ? '#' : '.'
    return {
      ask: [
        `\`PUZZLE\` shows a ${size} x ${size} board: \`Q\` is a queen that is already placed, \`#\` is a blocked square where no queen may stand, and \`.\` is a free square.`,
        `${random.pick(['Place', 'Put'])} queens on free squares so that there are ${size} in total and no two share a row, column or diagonal. Blocked squares do not get in the way of a queen: two queens on the same line attack each other even if there is a blocked square between them. Write the board with all the queens to \`ANSWER\` in the same format. Any valid placement is accepted.`,
      ],
      text: lines(Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_, x) => cell(y, x)).join(''))),
      answer: lines(
        Array.from({ length: size }, (_, y) =>
          Array.from({ length: size }, (_, x) =>
            solution[y] === x ? 'Q' : blocked.has(y * size + x) ? '#' : '.',
          ).join(''),
        ),
      ),
    }
  },
  check: `file == 2 { given[++n] = $0 }
file == 3 { got[++m] = $0 }
END {
  if (n == 0 || n != m) exit
  for (y = 1; y <= n; y++) {
    if (length(got[y]) != n) exit
    for (x = 1; x <= n; x++) {
      c = substr(got[y], x, 1); g = substr(given[y], x, 1)
      if (c != g && !(c == "Q" && g == ".")) exit
      if (c != "Q") continue
      if (row[y]++ || column[x]++ || up[x + y]++ || down[x - y]++) exit
      count++
    }
  }
  if (count == n) accept()
}`,
}

/** Find a shortest path through a maze. */
export const maze: Family = {
  name: 'maze',
  draw: (random, level) => {
    const [width, height] = [
      random.int(byLevel(level, 8, 14, 22), byLevel(level, 12, 20, 32)),
      random.int(byLevel(level, 6, 10, 16), byLevel(level, 9, 15, 24)),
    ]
    const walls = Array.from({ length: height }, () => Array.from({ length: width }, () => random.chance(0.3)))
    const free = [...Array(width * height).keys()].filter((at) => !walls[Math.floor(at / width)]?.[at % width])
    const [start, end] = random.few(free, 2)
    if (start === undefined || end === undefined) return null
    const path = shortest(start, end, { width, height, walls })
    if (path === null || path.length < byLevel(level, 5, 12, 20)) return null
    const sign = (at: number) =>
      at === start ? 'S' : at === end ? 'E' : walls[Math.floor(at / width)]?.[at % width] ? '#' : '.'
    return {
      ask: [
        `\`PUZZLE\` is a map of a maze: \`#\` is a wall, \`S\` is the start, \`E\` is the exit and \`.\` is open floor.`,
        `Find ${random.pick(['a shortest path', 'a path with as few steps as possible'])} from \`S\` to \`E\`. Each step goes one square up (\`U\`), down (\`D\`), left (\`L\`) or right (\`R\`). Write the steps to \`ANSWER\` as a single line of letters with nothing between them. If there are several shortest paths, any of them is accepted.`,
      ],
      text: lines(
        Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, x) => sign(y * width + x)).join('')),
      ),
      facts: { steps: path.length },
      answer: `${path}\n`,
    }
  },
  check: `file == 1 { fact[$1] = $2 }
file == 2 { map[++n] = $0; if (index($0, "S")) { sy = n; sx = index($0, "S") } }
file == 3 { way = way $0; m++ }
END {
  if (m != 1 || length(way) != fact["steps"] || way !~ /^[UDLR]+$/) exit
  for (i = 1; i <= length(way); i++) {
    c = substr(way, i, 1)
    sy += (c == "D") - (c == "U"); sx += (c == "R") - (c == "L")
    if (sy < 1 || sy > n || sx < 1 || sx > length(map[1]) || substr(map[sy], sx, 1) == "#") exit
  }
  if (substr(map[sy], sx, 1) == "E") accept()
}`,
}

interface Walled {
  readonly width: number
  readonly height: number
  readonly walls: readonly (readonly boolean[])[]
}

function shortest(start: number, end: number, { width, height, walls }: Walled): string | null {
  const ways = new Map([[start, '']])
  const queue = [start]
  for (const at of queue) {
    if (at === end) return ways.get(at) ?? null
    const [y, x] = [Math.floor(at / width), at % width]
    for (const [step, dy, dx] of [
      ['U', -1, 0],
      ['D', 1, 0],
      ['L', 0, -1],
      ['R', 0, 1],
    ] as const) {
      const [ny, nx] = [y + dy, x + dx]
      const next = ny * width + nx
      if (ny < 0 || ny >= height || nx < 0 || nx >= width || walls[ny]?.[nx] || ways.has(next)) continue
      ways.set(next, `${ways.get(at)}${step}`)
      queue.push(next)
    }
  }
  return null
}

/** Switch all lights off. */
export const lights: Family = {
  name: 'lights-out',
  draw: (random, level) => {
    const size = random.int(byLevel(level, 3, 5, 7), byLevel(level, 4, 6, 9))
    const pressed = Array.from({ length: size * size }, () => random.chance(0.4))
    const isOn = (y: number, x: number) =>
      [
        [0, 0],
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
      ].filter(
        ([dy = 0, dx = 0]) =>
          y + dy >= 0 && y + dy < size && x + dx >= 0 && x + dx < size && pressed[(y + dy) * size + x + dx],
      ).length %
        2 ===
      1
    const board = Array.from({ length: size }, (_, y) =>
      Array.from({ length: size }, (_, x) => (isOn(y, x) ? '*' : '.')).join(''),
    )
    if (!board.some((row) => row.includes('*'))) return null
    return {
      ask: [
        `\`PUZZLE\` shows a ${size} x ${size} grid of lamps: \`*\` is on and \`.\` is off. Pressing a lamp toggles it and its neighbors above, below, to the left and to the right.`,
        `Which lamps do you have to press to turn all of them off? Write ${size} lines of ${size} characters to \`ANSWER\`: \`x\` for a lamp to press once, \`.\` for a lamp to leave alone. ${random.pick(['Any correct set of lamps is accepted.', 'If there are several solutions, give any one of them.'])}`,
      ],
      text: lines(board),
      answer: lines(
        Array.from({ length: size }, (_, y) =>
          Array.from({ length: size }, (_, x) => (pressed[y * size + x] ? 'x' : '.')).join(''),
        ),
      ),
    }
  },
  check: `file == 2 { board[++n] = $0 }
file == 3 { press[++m] = $0; if ($0 !~ /^[x.]+$/) bad = 1 }
function hit(y, x) { return substr(press[y], x, 1) == "x" }
END {
  if (bad || n == 0 || n != m) exit
  for (y = 1; y <= n; y++) {
    if (length(press[y]) != n) exit
    for (x = 1; x <= n; x++) {
      on = (substr(board[y], x, 1) == "*") + hit(y, x) + (y > 1 ? hit(y - 1, x) : 0) + (y < n ? hit(y + 1, x) : 0) + (x > 1 ? hit(y, x - 1) : 0) + hit(y, x + 1)
      if (on % 2) exit
    }
  }
  accept()
}`,
}
