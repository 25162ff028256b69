import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Exported, exportSite } from '../../src/app/view/export/export-site.ts'
import { Library } from '../../src/app/view/library.ts'
import { type BrowserPage, startChromium } from '../chromium.ts'
import { needs } from '../needs.ts'
import { serveFiles } from '../serve-files.ts'
import { makeRecipeRun, writeShareGpt } from '../view-data-kit.ts'

describe('datasets and recipes in a static export', needs('chromium'), () => {
  let dir: string
  let out: string
  let done: Exported
  let server: Server
  let origin: string
  let page: BrowserPage
  const open = (hash: string) => page.open(`${origin}/site/${hash}`)
  const text = (selector = 'main') =>
    page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`)
  const click = (selector: string, words: string) =>
    page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].find((each) => each.innerText === ${JSON.stringify(words)}).click()`,
    )
  const write = async (to: string, rows: number) => {
    const { library } = await Library.open([join(dir, 'small'), join(dir, 'any.jsonl')])
    const { signal } = new AbortController()
    try {
      return await exportSite({ library, board: null, assetsDir: 'dist/web', out: to, rows, signal, onJob: () => {} })
    } finally {
      await library.close()
    }
  }

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'ot-agent-export-data-'))
    out = join(dir, 'site')
    await makeRecipeRun(join(dir, 'small'))
    writeShareGpt(join(dir, 'any.jsonl'))
    done = await write(out, 6)
    server = await serveFiles(out, '/site/')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    page = await startChromium()
  })

  afterAll(async () => {
    await page?.close()
    server?.closeAllConnections()
    server?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  test('a dataset is browsed, and the page says what was left out', async () => {
    expect(done).toMatchObject({ datasets: 5, trials: 1 })
    await open('#/data')
    expect(await text()).toContain('any.jsonl')
    await open('#/data/small%3Adataset')
    await page.until(`document.querySelectorAll('tr[data-row]').length >= 6`)
    const [, held = ''] = /This export holds (\d+) of 23 rows/.exec(await text()) ?? []
    expect(Number(held)).toBe(await page.evaluate(`document.querySelectorAll('tr[data-row]').length`))
    expect(Number(held)).toBeLessThan(16)
    await open('#/data/any.jsonl')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 3`)
    expect(await text()).not.toContain('This export holds')
  })

  test('rows are searched by their words, filtered and sorted', async () => {
    await open('#/data/small%3Adataset?q=Number5%20part1')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 1`)
    expect(await text('tr[data-row]')).toContain('task-5')
    await open('#/data/small%3Adataset?q=nowhere')
    await page.until(`document.querySelector('td.empty')`)
    await open('#/data/small%3Adataset?q=%3F%21')
    await page.until(`document.querySelector('td.empty')`)
    await open('#/data/small%3Adataset?sort=-turns&minTurns=5')
    await page.until(`document.querySelectorAll('tr[data-row]').length > 1`)
    const turns = await page.evaluate<number[]>(
      `[...document.querySelectorAll('tr[data-row]')].map((row) => Number(row.children[4].innerText))`,
    )
    expect(turns).toEqual(turns.toSorted((a, b) => b - a))
    expect(Math.min(...turns)).toBeGreaterThanOrEqual(5)
  })

  test('a row leads back to its trial and along the steps, and on to its neighbours', async () => {
    await open(`#/data/small%3Adataset/rows/${encodeURIComponent('=job/task-5__aaaaaaa/main')}`)
    expect(await text('.lineage')).toMatch(/source\s+nl2bash.*task\s+task-5.*rollout.*turns.*hacks.*small:dataset/s)
    await click('.lineage a', 'task-5__aaaaaaa')
    await page.until(`document.querySelectorAll('.turn').length > 1 && location.hash.includes('/jobs/job/trials/')`)
    await open(`#/data/small%3Adataset/rows/${encodeURIComponent('=job/task-5__aaaaaaa/main')}`)
    await page.evaluate(`document.querySelector('.lineage a[href*="small%3Aturns"]').click()`)
    await page.until(`location.hash.includes('small%3Aturns') && document.querySelectorAll('.turn').length > 1`)
    await open('#/data/small%3Adataset/rows/0')
    await page.press('ArrowRight')
    await page.until(`/rows[/][1-9]/.test(location.hash) && document.querySelectorAll('.turn').length > 1`)
  })

  test('every link to a row leads to a file', async () => {
    const api = join(out, 'api')
    const files = readdirSync(api, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const links = new Set(
      files.flatMap((file) =>
        [
          ...readFileSync(join(file.parentPath, file.name), 'utf8').matchAll(
            /"link":"#\/data\/([^/"]+)\/rows\/([^"]+)"/g,
          ),
        ].map(([, set = '', key = '']) => `${decodeURIComponent(set)} ${decodeURIComponent(key)}`),
      ),
    )
    expect(links.size).toBeGreaterThan(20)
    for (const link of links) {
      const [set = '', key = ''] = link.split(' ')
      const { ids } = JSON.parse(readFileSync(join(api, 'data', set.replace(':', '~3A'), 'keys.json'), 'utf8'))
      expect([link, ids]).toEqual([link, expect.arrayContaining([key.slice(1)])])
    }
  })

  test('dropped rows are listed with their reasons and can be read', async () => {
    await open('#/recipes/small')
    expect(await text('.lead')).toBe('28 rows of 1 source went through 3 stages; 5 were dropped and 23 written.')
    await click('.flow a', 'reads-grader 1')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 1`)
    await page.press('j')
    await page.press('Enter')
    await page.until(`document.querySelector('h1').innerText === 'hack-0' && document.querySelector('mark.evidence')`)
    expect(await text('mark.evidence')).toContain('/tests/test_outputs.py')
    await open('#/recipes/small/dropped/turns')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 3`)
  })

  test('hostile rows stay text, long ones are cut, and nothing about this machine is revealed', async () => {
    const hostile = join(dir, 'hostile')
    const all = await write(hostile, 1000)
    expect(all.rows).toBeGreaterThan(done.rows)
    const whole = await serveFiles(hostile, '/site/')
    try {
      const at = `http://127.0.0.1:${(whole.address() as AddressInfo).port}/site/`
      await page.open(`${at}#/data/small%3Adataset/rows/${encodeURIComponent('=job/hostile__aaaaaaa/main')}`)
      expect(await text('#message-1')).toContain('<script>')
      await page.evaluate(`document.querySelector('#message-2 .foot button').click()`)
      expect(await text('#message-2 .foot')).toBe(
        'The first 20,000 of 5,000,002 characters. The rest is not part of this export.',
      )
      await page.open(`${at}#/data/small%3Adataset/rows/${encodeURIComponent('=job/task-5__aaaaaaa/main')}?tab=similar`)
      await page.until(`document.querySelector('.panel table')?.innerText.includes('twin')`)
      expect(await page.evaluate('window.hacked ?? null')).toBe(null)
      expect(page.problems).toEqual([])
    } finally {
      whole.closeAllConnections()
      whole.close()
    }
    for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const content = readFileSync(join(entry.parentPath, entry.name), 'utf8')
      expect([entry.name, [dir, process.cwd()].filter((word) => content.includes(word))]).toEqual([entry.name, []])
    }
  })

  test('datasets can be left out', async () => {
    const none = join(dir, 'none')
    expect(await write(none, 0)).toMatchObject({ datasets: 0, rows: 0 })
    expect(readdirSync(join(none, 'api'))).not.toContain('data')
    expect(JSON.parse(readFileSync(join(none, 'api', 'sections.json'), 'utf8')).data).toBe(false)
  })
})
