/** How many rows of a list, and steps of a trajectory, one file of an export holds. */
export const exportShard = { rows: 500, steps: 40 } as const

/** The attribute of the root element that tells the page it is an export without a server. */
export const exportMark = 'data-export'

const longest = 120

/**
 * A name as part of a path that every file server passes on unchanged: letters, digits, `-`, `_` and `.` stay,
 * everything else becomes `~` and its bytes. Long names are cut and get a digest.
 */
export function fileName(name: string): string {
  const plain = encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\u{fffd}'))
    .replace(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
    .replace(/^\./, '%2e')
    .replaceAll('%', '~')
  return plain.length <= longest ? plain : `${plain.slice(0, longest - 20)}~~${digest(name)}`
}

/** Two numbers of 32 bits (cyrb53): enough to keep long names of one folder apart. */
function digest(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57]
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return `${(b >>> 0).toString(16).padStart(8, '0')}${(a >>> 0).toString(16).padStart(8, '0')}`
}
