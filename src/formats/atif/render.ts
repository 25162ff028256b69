import type { Trajectory } from './trajectory.ts'

/** The text of a trajectory the way Harbor prints it: two spaces, no absent fields, lists of numbers on one line, ASCII only. */
export function renderTrajectory(trajectory: Trajectory): string {
  return write(trajectory, '')
}

function write(value: unknown, pad: string): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = `${pad}  `
  if (Array.isArray(value)) return writeList(value, pad, inner)
  const fields = Object.entries(value).filter(([, item]) => item !== undefined)
  const lines = fields.map(([key, item]) => `${inner}${quote(key)}: ${write(item, inner)}`)
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${pad}}`
}

function writeList(list: readonly unknown[], pad: string, inner: string): string {
  if (list.length === 0) return '[]'
  if (list.every((item) => typeof item === 'number' && Number.isFinite(item))) return `[${list.join(', ')}]`
  return `[\n${list.map((item) => inner + write(item, inner)).join(',\n')}\n${pad}]`
}

function quote(text: string): string {
  return JSON.stringify(text).replace(/[\u0080-\uffff]/g, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
