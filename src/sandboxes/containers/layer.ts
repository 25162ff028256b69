import { access, constants } from 'node:fs/promises'
import { BoundaryError } from '../../core/errors.ts'
import { findProgram } from '../../lib/programs.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'

/**
 * What programs changed in a stopped container, read where its engine keeps it on this machine. An engine's export also
 * contains every file of the image, which takes seconds for a large one. Nothing runs in the container, so nothing
 * changes during the read.
 */
export interface Layer {
  /** Whether some path has at least that many components. */
  isDeeper(names: number): Promise<boolean>
  /** An archive of the changed files; the caller ends it. */
  read(): AsyncGenerator<Uint8Array, void, void>
}

/**
 * The layer in a directory on this machine; null when it is not here or may not be read. Only root may read every
 * owner's files.
 */
export async function openLayer(dir: string | null): Promise<Layer | null> {
  const [find, tar] = [findProgram('find'), findProgram('tar')]
  if (dir === null || find === null || tar === null || process.getuid?.() !== 0) return null
  const isHere = await access(dir, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!isHere) return null
  // Names as bytes, without attributes that only overlays use.
  const packed = ['--format=pax', '--pax-option=delete=atime,delete=ctime', '--numeric-owner']
  const attributes = ['--xattrs', '--xattrs-include=security.capability']
  return {
    isDeeper: async (names) => {
      for await (const _ of output(find, [dir, '-mindepth', String(names), '-print', '-quit'])) return true
      return false
    },
    read: () => output(tar, ['-C', dir, ...packed, ...attributes, '-cf', '-', '.']),
  }
}

/** The output of a program on this machine. Throws if the program fails; kills it when the caller stops reading. */
async function* output(program: string, argv: readonly string[]): AsyncGenerator<Uint8Array, void, void> {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = await spawnProcess(program, argv, { stdio, env: { LC_ALL: 'C' }, cwd: '/' })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, 500)
  })
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
  try {
    yield* child.stdout
    if ((await exit) === 0) return
    throw new BoundaryError('sandbox', `cannot read the files of the container: ${said.trim()}`)
  } finally {
    child.kill('SIGKILL')
  }
}
