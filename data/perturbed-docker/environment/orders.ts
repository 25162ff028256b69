import { posix } from 'node:path'

/** One instruction of a Dockerfile with all of its lines. */
export interface Order {
  readonly name: string
  readonly text: string
}

/** Splits a Dockerfile into its instructions, joining lines continued by a backslash and heredocs. Drops comments. */
export function ordersOf(dockerfile: string): Order[] {
  const orders: { name: string; text: string }[] = []
  let open: RegExp | null = null
  let goesOn = false
  for (const line of dockerfile.replaceAll('\r\n', '\n').split('\n')) {
    const last = orders.at(-1)
    if (last && open !== null) {
      last.text += `${line}\n`
      if (open.test(line)) open = null
      continue
    }
    if (/^\s*(?:#|$)/.test(line)) continue
    if (last && goesOn) last.text += `${line}\n`
    else orders.push({ name: (/^\s*(\w+)/.exec(line)?.[1] ?? '').toUpperCase(), text: `${line}\n` })
    goesOn = /\\\s*$/.test(line)
    const [, mark] = /<<-?["']?(\w+)["']?/.exec(line) ?? []
    if (!goesOn && mark !== undefined && /^\s*(?:RUN|COPY|ADD)\b/i.test(orders.at(-1)?.text ?? ''))
      open = new RegExp(`^\\s*${mark}$`)
  }
  return orders
}

/** The folder that commands start in after all instructions. */
export function workdirOf(dockerfile: string): string {
  return ordersOf(dockerfile).reduce((dir, order) => (order.name === 'WORKDIR' ? into(dir, order) : dir), '/')
}

/**
 * Where a file from the build context ends up in the image, and whether an instruction copies it alone; null if none
 * copies it.
 */
export function targetOf(
  dockerfile: string,
  file: string,
): { readonly path: string; readonly alone: Order | null } | null {
  let dir = '/'
  for (const order of ordersOf(dockerfile)) {
    if (order.name === 'WORKDIR') dir = into(dir, order)
    if (order.name !== 'COPY') continue
    const words = order.text.trim().split(/\s+/).slice(1)
    if (words.some((word) => word.startsWith('--from') || word.startsWith('[') || word.startsWith('<<'))) continue
    const paths = words.filter((word) => !word.startsWith('--'))
    const sources = paths.slice(0, -1).map((path) => path.replace(/^\.\//, ''))
    const to = paths.at(-1) ?? ''
    const target = posix.resolve(dir, to)
    const isFolder = /(?:^|\/)\.{0,2}$/.test(to) || sources.length > 1 || target === dir
    if (sources.includes(file))
      return {
        path: isFolder ? posix.join(target, posix.basename(file)) : target,
        alone: sources.length === 1 ? order : null,
      }
    if (sources.some((source) => source === '' || source === '.'))
      return { path: posix.join(target, file), alone: null }
  }
  return null
}

function into(dir: string, { text }: Order): string {
  return posix.resolve(
    dir,
    text
      .trim()
      .replace(/^\w+\s+/, '')
      .replace(/^"(.*)"$/, '$1'),
  )
}
