import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isMissing, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import type { Labels } from './owner.ts'

const startSchema = z.object({ schema: z.literal('start/1'), labels: z.record(z.string(), z.string()) })

/**
 * Starts under way, written down before the cloud is asked: a clean-up after a dead process knows which machines may
 * still appear.
 */
export class Starts {
  constructor(private readonly dir: string) {}

  async begin(lease: string, labels: Labels): Promise<void> {
    await mkdir(this.dir, { recursive: true })
    await writeAtomic(this.path(lease), `${JSON.stringify({ schema: 'start/1', labels })}\n`)
  }

  async end(lease: string): Promise<void> {
    await rm(this.path(lease), { force: true })
  }

  async list(): Promise<readonly { readonly lease: string; readonly labels: Labels; readonly ageSec: number }[]> {
    const names = await readdir(this.dir).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })
    const found = await Promise.all(names.filter((name) => name.endsWith('.json')).map((name) => this.load(name)))
    return found.flatMap((start) => start ?? [])
  }

  private async load(name: string) {
    try {
      const path = join(this.dir, name)
      const { labels } = startSchema.parse(readJson(await readFile(path, 'utf8')))
      const ageSec = (Date.now() - (await stat(path)).mtimeMs) / 1000
      return { lease: name.slice(0, -'.json'.length), labels, ageSec }
    } catch {
      // Ended a moment ago.
      return null
    }
  }

  private path(lease: string): string {
    return join(this.dir, `${lease}.json`)
  }
}
