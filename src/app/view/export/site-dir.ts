import { mkdir, open, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { UserError } from '../../../core/errors.ts'
import { kindAt, namesIn, readTextIfExists } from '../../../lib/files.ts'
import { parseJson } from '../../../lib/parse-json.ts'

const markName = 'ot-agent-export.json'
const schema = 'view-export/1'

/** A folder that is filled next to its final place and moved there at once. */
export class SiteDir {
  files = 0
  bytes = 0
  private readonly made = new Set<string>()

  private constructor(
    private readonly out: string,
    private readonly partial: string,
  ) {}

  /** Refuses a folder with other content; an earlier export is replaced once the new one is complete. */
  static async begin(given: string): Promise<SiteDir> {
    const out = resolve(given)
    const kind = await kindAt(out)
    const names = kind === 'dir' ? await namesIn(out) : []
    if (kind !== 'none' && kind !== 'dir')
      throw new UserError(`${given}: expected a folder for the site, got a file`, 'choose another path')
    if (names.length > 0 && !(await isExport(out)))
      throw new UserError(
        `${given}: expected an empty folder or an earlier export, got a folder with other files`,
        'choose a new folder',
      )
    const partial = `${out}.partial`
    // Both are removed without asking.
    for (const beside of [partial, `${out}.old`])
      if ((await kindAt(beside)) !== 'none' && !(await isExport(beside)))
        throw new UserError(
          `${beside} exists, and ot-agent did not write it`,
          'move it elsewhere, or export to another folder',
        )
    await rm(partial, { recursive: true, force: true })
    const site = new SiteDir(out, partial)
    await site.write(markName, `${JSON.stringify({ schema })}\n`)
    return site
  }

  async write(path: string, content: string | Buffer): Promise<void> {
    const target = join(this.partial, path)
    const folder = dirname(target)
    if (!this.made.has(folder)) {
      await mkdir(folder, { recursive: true })
      // A job may have very many folders.
      if (this.made.size > 1000) this.made.clear()
      this.made.add(folder)
    }
    const file = await open(target, 'wx')
    try {
      await file.writeFile(content)
    } finally {
      await file.close()
    }
    this.files++
    this.bytes += Buffer.byteLength(content)
  }

  /** Moves the folder into place. */
  async finish(): Promise<void> {
    const old = `${this.out}.old`
    if (await isExport(this.out)) {
      await rm(old, { recursive: true, force: true })
      await rename(this.out, old)
    } else if ((await kindAt(this.out)) === 'dir') await rmdir(this.out)
    await rename(this.partial, this.out)
    if (await isExport(old)) await rm(old, { recursive: true, force: true })
  }

  async abandon(): Promise<void> {
    await rm(this.partial, { recursive: true, force: true })
  }
}

async function isExport(dir: string): Promise<boolean> {
  return Object(parseJson((await readTextIfExists(join(dir, markName))) ?? '')).schema === schema
}
