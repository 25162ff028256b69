import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library } from '../../src/app/view/library.ts'
import { sortPaths } from '../../src/app/view/sort-paths.ts'
import { serveView, type ViewServer } from '../../src/server/view/serve-view.ts'
import { makeBoard } from '../board-kit.ts'
import { type BrowserPage, startChromium } from '../chromium.ts'
import { needs } from '../needs.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

describe('the leaderboard in a browser', needs('chromium'), () => {
  let dir: string
  let library: Library
  let server: ViewServer
  let page: BrowserPage
  const open = (hash: string) => page.open(`${server.origin}/${hash}`)
  const text = (selector: string) =>
    page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`)
  const texts = (selector: string) =>
    page.evaluate<string[]>(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((e) => e.innerText)`)
  const shoot = (name: string) => page.shoot(name)

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'ot-agent-board-'))
    const { jobs, registry, report } = await makeBoard(dir)
    const sources = await sortPaths([jobs, registry, report], {})
    ;({ library } = await Library.open(sources.jobs))
    const { board } = sources
    server = await serveView(library, { host: '127.0.0.1', port: 0, token: null, assetsDir: 'dist/web', board })
    page = await startChromium()
  })

  afterAll(async () => {
    await page?.close()
    await server?.close()
    await library?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  test('models are ranked with intervals, ties are ties, and partial results have no rank', async () => {
    await open('#/board?b=bench-a')
    const rows = await texts('table.board tbody tr')
    expect(rows).toHaveLength(6)
    expect(rows[0]).toMatch(/^1\s+lab\/agent-32B\s+32B · terminus-2\s+91\.7 %/)
    expect(rows.slice(1, 3).map((row) => row.slice(0, 5))).toEqual(['2 tie', '2 tie'])
    expect(rows.at(-1)).toMatch(/^partial\s+lab\/unfinished-4B/)
    expect(await text('.why')).toBe('lab/agent-32B with terminus-2 leads bench-a with 91.7 %.')
    await shoot('board-one')
    await open('#/board')
    expect(await texts('.matrix thead th')).toEqual(['Model and agent', 'bench-a', 'bench-b'])
    expect(await text('.why')).toContain(
      'On bench-b lab/agent-32B with terminus-2 has 62.5 %, and one other cannot be distinguished',
    )
    await shoot('board-all')
  })

  test('the picture of the README shows one benchmark', async () => {
    await page.size(1200, 560)
    await open('#/board?b=bench-a&q=lab')
    expect(await texts('table.board tbody tr')).toHaveLength(5)
    await shoot('readme-leaderboard')
    await page.size(1280, 900)
  })

  test('filters and search narrow the list and stay in the address', async () => {
    await open('#/board?b=bench-a&size=16')
    expect((await texts('table.board tbody tr')).length).toBe(2)
    await open('#/board?b=bench-a&base=base%2Fraw-8B&dataset=lab%2Ftraces-1k')
    expect((await texts('table.board tbody a')).filter((name) => name.includes('/'))).toEqual(['lab/other-8B'])
    await open('#/board?b=bench-a')
    await page.press('/')
    for (const key of 'other') await page.press(key)
    await page.until(
      `document.querySelectorAll('table.board tbody tr').length === 1 && location.hash.includes('q=other')`,
    )
  })

  test('with the keyboard a model opens, with its lineage, training run and jobs', async () => {
    await open('#/board?b=bench-a')
    await page.press('j')
    await page.press('Enter')
    await page.until(`location.hash === '#/models/lab%2Fagent-32B' && document.querySelector('.tree')`)
    expect(await text('.why')).toBe('Made from lab/traces-10k, base/raw-32B. Rank 1 on bench-a, bench-b (tie).')
    expect(await text('.facts')).toMatch(/Training\s+SFT[\s\S]*State\s+finished/)
    expect(await text('.tree')).toMatch(/lab\/traces-10k[\s\S]*base\/raw-32B/)
    await shoot('model')
    await page.evaluate(`[...document.querySelectorAll('main a')].find((a) => a.innerText === 'big-a').click()`)
    await page.until(`location.hash === '#/jobs/big-a' && document.querySelectorAll('a.cell').length === 24`)
    await page.evaluate(
      `[...document.querySelectorAll('.sections a')].find((a) => a.innerText === 'Leaderboard').click()`,
    )
    await page.until(`document.querySelector('h1')?.innerText === 'Leaderboard'`)
  })

  test('plots show size and cost, and ablations are tables', async () => {
    await open('#/board?b=bench-a&tab=plots')
    await page.until(`document.querySelectorAll('.plot circle').length === 4`)
    expect(await page.evaluate<number>(`document.querySelectorAll('.plot polyline').length`)).toBe(1)
    await shoot('board-plots')
    await open('#/board?b=bench-a&tab=plots&x=cost')
    await page.until(`document.querySelectorAll('.plot circle').length === 4`)
    await open('#/board?tab=ablations')
    expect(await text('.panel')).toContain('1 of 1 variant better than plain beyond noise')
    await shoot('board-ablations')
  })

  test('the results can be saved as CSV and JSON', async () => {
    const csv = await (await fetch(`${server.origin}/api/board.csv`)).text()
    expect(csv.split('\n')[0]).toMatch(/^model,agent,benchmark,rank,tied,accuracy,low,high/)
    expect(csv.trim().split('\n')).toHaveLength(9)
    expect(csv).not.toContain(dir)
    expect(JSON.stringify(await (await fetch(`${server.origin}/api/board`)).json())).not.toContain(dir)
  })

  test('hostile names stay text', async () => {
    for (const to of ['#/board', '#/board?b=bench-a', '#/board?tab=ablations', '#/board?tab=plots']) {
      await open(to)
      expect(await page.evaluate(`document.querySelectorAll('main script, main img, main [onerror]').length`)).toBe(0)
      expect(await page.evaluate('document.body.innerText.includes("\\u202e")')).toBe(false)
    }
    await open('#/board?b=bench-a')
    await page.evaluate(`[...document.querySelectorAll('main a')].find((a) => a.innerText.startsWith('evil/')).click()`)
    await page.until(`document.querySelector('h1')?.innerText.startsWith('evil/<script>')`)
    expect(await page.evaluate('window.hacked ?? null')).toBe(null)
    expect(page.problems).toEqual([])
    await open('#/models/no-such')
    expect(await text('h1')).toBe('Not found')
    page.problems.length = 0
  })

  const pages = [
    '#/board',
    '#/board?b=bench-a',
    '#/board?tab=plots',
    '#/board?tab=ablations',
    '#/models/lab%2Fother-8B',
  ]

  test.each(['light', 'dark'])('every page is accessible in %s', async (scheme) => {
    await page.dark(scheme === 'dark')
    for (const to of pages) {
      await open(to)
      await page.evaluate(`void (window.axe || (() => { ${axe} })())`)
      const found = await page.evaluate<string[]>(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')))`,
      )
      expect([to, found]).toEqual([to, []])
    }
    if (scheme === 'dark') await shoot('model-dark')
    await page.dark(false)
  })

  test('on a phone nothing is wider than the screen', async () => {
    await page.size(390, 800)
    for (const to of pages) {
      await open(to)
      expect([to, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([to, 390])
    }
    await open('#/board?b=bench-a')
    await shoot('phone-one')
    await open('#/board')
    await shoot('phone-all')
    await open('#/board?b=bench-a&tab=plots')
    await page.until(`document.querySelector('.plot circle')`)
    await shoot('phone-plots')
    await page.size(1280, 900)
  })
})
