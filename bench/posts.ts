import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import posts from '../data/stackexchange/posts/index.ts'
import { isDropped } from '../src/core/stage.ts'
import { makeRandom } from '../src/lib/random.ts'
import type { Row } from './lib/rows.ts'

const bytes = 1e9
const goalMbPerSec = 20
const goalPeakMb = 512

/** A generated Posts.xml of 1 GB: how fast it is read and joined, and how much memory that takes. */
export default {
  name: 'posts',
  async run(): Promise<Row[]> {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-bench-'))
    try {
      const path = join(dir, 'Posts.xml')
      await pipeline(Readable.from(dump()), createWriteStream(path))
      const before = process.resourceUsage().maxRSS / 1024
      const start = performance.now()
      const cpu = process.cpuUsage()
      const stage = posts.make(posts.options.parse({ path }), { env: {}, stateDir: dir })
      const { signal } = new AbortController()
      const at = { seed: 1, signal, workDir: dir, log: () => {} }
      let rows = 0
      for await (const row of stage.rows(at)) if (!isDropped(row)) rows++
      const rate = bytes / 1e6 / ((performance.now() - start) / 1000)
      const { user, system } = process.cpuUsage(cpu)
      const peak = process.resourceUsage().maxRSS / 1024
      return [
        goalRow('Posts.xml of 1 GB, read and joined', rate),
        { name: 'the same per second of CPU', value: bytes / (user + system), unit: 'MB/s' },
        { name: 'peak memory', value: peak, unit: 'MiB', goal: `${goalPeakMb}`, ok: peak <= goalPeakMb },
        { name: 'peak memory before reading', value: before, unit: 'MiB' },
        { name: 'questions with answers', value: rows, unit: 'rows' },
      ]
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  },
}

function goalRow(name: string, value: number): Row {
  return { name, value, unit: 'MB/s', goal: `${goalMbPerSec}`, ok: value >= goalMbPerSec }
}

/** Questions and answers of about 1.5 kB, half of each; answers are up to 100,000 posts after their questions. */
function* dump(): Generator<string, void, void> {
  const random = makeRandom(1, 'posts')
  const words = Array.from({ length: 2000 }, () =>
    Array.from({ length: 2 + random.below(8) }, () => random.pick([...'etaoinshrdlu'])).join(''),
  )
  const paragraphs = Array.from({ length: 400 }, () => Array.from({ length: 80 }, () => random.pick(words)).join(' '))
  const waiting: number[] = []
  let written = 0
  yield '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n'
  for (let id = 1; written < bytes; id++) {
    const isAnswer = waiting.length > 1000 && random.below(2) === 0
    const body = `&lt;p&gt;${random.pick(paragraphs)}&lt;/p&gt;&#xA;&lt;pre&gt;&lt;code&gt;grep -c '${random.pick(words)}' file &amp;gt; out&#xA;&lt;/code&gt;&lt;/pre&gt;&#xA;&lt;p&gt;${random.pick(paragraphs)}&lt;/p&gt;`
    const row = isAnswer
      ? `  <row Id="${id}" PostTypeId="2" ParentId="${take(waiting, random.below(waiting.length))}" Score="${random.below(9)}" Body="${body}" />\n`
      : `  <row Id="${id}" PostTypeId="1" Score="${random.below(9)}" ViewCount="9" Title="${random.pick(words)} &amp; ${random.pick(words)}" Tags="|bash|awk|" Body="${body}" />\n`
    if (!isAnswer) waiting.push(id)
    written += row.length
    yield row
  }
  yield '</posts>\n'
}

/** Removes an item from a list in constant time. */
function take(items: number[], at: number): number {
  const item = items[at] ?? 0
  const last = items.pop()
  if (last !== undefined && at < items.length) items[at] = last
  return item
}
