import { constants, type FileHandle, mkdir, open, readdir, readlink, symlink } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { codeOf } from './files.ts'

export interface CopyOutOptions {
  /** Stop with an error past this many bytes. */
  readonly limitBytes: number
  /** Called with the path of everything that was left out: links that leave, devices, unreadable files. */
  readonly onDropped?: (path: string, why: string) => void
}

interface Copying extends CopyOutOptions {
  copiedBytes: number
}

/**
 * Copies a directory that hostile programs may be writing at this moment. Every step goes through an open directory
 * and refuses links, so nothing outside the source can be reached however it is swapped meanwhile.
 */
export async function copyOut(source: string, target: string, options: CopyOutOptions): Promise<void> {
  const root = await openDir(source)
  try {
    await mkdir(target, { recursive: true })
    await copyDir(root, '', target, { ...options, copiedBytes: 0 })
  } finally {
    await root.close()
  }
}

async function copyDir(dir: FileHandle, path: string, target: string, state: Copying): Promise<void> {
  const here = `/proc/self/fd/${dir.fd}`
  const entries = await readdir(here, { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = join(path, entry.name)
    const from = `${here}/${entry.name}`
    const to = join(target, entry.name)
    try {
      if (entry.isDirectory()) await copySubdir(from, name, to, state)
      else if (entry.isFile()) await copyFile(from, name, to, state)
      else if (entry.isSymbolicLink()) await copyLink(from, name, to, state)
      else state.onDropped?.(name, 'not a file, directory or link')
    } catch (error) {
      if (!skippable.has(codeOf(error) ?? '')) throw error
      state.onDropped?.(name, String(codeOf(error)))
    }
  }
}

/** Swapped for something else, gone, or not ours to read: left out. */
const skippable = new Set(['ELOOP', 'ENOTDIR', 'ENOENT', 'EACCES', 'ENXIO'])

async function copySubdir(from: string, name: string, to: string, state: Copying): Promise<void> {
  const handle = await openDir(from)
  try {
    await mkdir(to, { recursive: true })
    await copyDir(handle, name, to, state)
  } finally {
    await handle.close()
  }
}

async function copyFile(from: string, name: string, to: string, state: Copying): Promise<void> {
  // Without O_NONBLOCK a fifo put there a moment ago would hold us for ever.
  const input = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = await input.stat()
    if (!stat.isFile()) return state.onDropped?.(name, 'not a file any more')
    const output = await open(to, 'w', stat.mode & 0o777)
    try {
      await pump(input, output, name, state)
    } finally {
      await output.close()
    }
  } finally {
    await input.close()
  }
}

async function pump(input: FileHandle, output: FileHandle, name: string, state: Copying): Promise<void> {
  const buffer = Buffer.allocUnsafe(64 * 1024)
  for (;;) {
    const { bytesRead } = await input.read(buffer, 0, buffer.length)
    if (bytesRead === 0) return
    state.copiedBytes += bytesRead
    if (state.copiedBytes > state.limitBytes)
      throw new Error(`more than ${state.limitBytes} bytes to copy out; stopped in ${JSON.stringify(name)}`)
    await output.write(buffer, 0, bytesRead)
  }
}

async function copyLink(from: string, name: string, to: string, state: Copying): Promise<void> {
  const link = await readlink(from)
  const leaves = link.startsWith('/') || normalize(join(dirname(name), link)).split('/')[0] === '..'
  if (leaves) return state.onDropped?.(name, 'a link that leaves the directory')
  await symlink(link, to)
}

function openDir(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
}
