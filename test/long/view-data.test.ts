import { mkdtempSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library } from '../../src/app/view/library.ts'
import { serveView, type ViewServer } from '../../src/server/view/serve-view.ts'
import { type BrowserPage, startChromium } from '../chromium.ts'
import { needs } from '../needs.ts'
import { makeRecipeRun, writeShareGpt } from '../view-data-kit.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

describe('datasets and recipes in a browser', needs('chromium'), () => {
  let library: Library
  let server: ViewServer
  let page: BrowserPage
  const open = (hash: string) => page.open(`${server.origin}/${hash}`)
  const text = (selector: string) =>
    page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`)
  const count = (selector: string) =>
    page.evaluate<number>(`document.querySelectorAll(${JSON.stringify(selector)}).length`)
  const type = async (words: string) => {
    for (const key of words) await page.press(key)
  }

  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-view-data-'))
    const run = await makeRecipeRun(join(dir, 'small'))
    writeShareGpt(join(dir, 'any.jsonl'))
    ;({ library } = await Library.open([run, join(dir, 'any.jsonl')]))
    server = await serveView(library, { host: '127.0.0.1', port: 0, token: null, assetsDir: 'dist/web' })
    page = await startChromium()
  })

  afterAll(async () => {
    await page.close()
    await server.close()
    await library.close()
  })

  test('a recipe is a flow, and its dropped rows are one click away', async () => {
    await open('#/recipes/small')
    expect(await text('.lead')).toBe('28 rows of 1 source went through 3 stages; 5 were dropped and 23 written.')
    await page.evaluate(
      `[...document.querySelectorAll('.flow a')].find((a) => a.innerText === 'reads-grader 1').click()`,
    )
    await page.until(`document.querySelectorAll('tr[data-row]').length === 1`)
    expect(await text('tbody tr')).toMatch(/hack-0__aaaaaaa.*Count the words.*reads-grader\s+turn 2, characters/s)
    await page.press('j')
    await page.press('Enter')
    await page.until(`document.querySelector('h1').innerText === 'hack-0' && document.querySelector('mark.evidence')`)
    expect(await text('mark.evidence')).toContain('/tests/test_outputs.py')
    expect(await text('.lineage')).toMatch(/source\s+nl2bash, row row-17.*hacks.*dropped: reads-grader/s)
  })

  test('rows are searched, filtered and opened with the keyboard', async () => {
    await open('#/data/small%3Adataset')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 23`)
    await page.press('/')
    await type('zebra')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 2`)
    expect(await text('.lead')).toContain('2 of 23 rows')
    await page.press('Escape')
    await page.press('j')
    await page.press('Enter')
    await page.until(`document.querySelector('h1').innerText === 'task-5'`)
    await page.press('n')
    expect(await text('article mark')).toBe('zebra')
    await page.evaluate(`document.querySelector('#tab-similar').click()`)
    await page.until(`document.querySelector('.panel table')?.innerText.includes('twin')`)
    await page.press('Escape')
    await page.until(`location.hash.startsWith('#/data/small%3Adataset?q=zebra')`)
  })

  test('filters by result, source and turns are kept in the address', async () => {
    await open('#/data/small%3Adataset?result=0.0')
    await page.until(`[...document.querySelectorAll('tr[data-row] .chip')].every((chip) => chip.innerText === '0.0')`)
    const failed = await count('tr[data-row]')
    expect(failed).toBeGreaterThan(1)
    await open('#/data/small%3Adataset?source=puzzles&minTurns=5&maxTurns=7')
    await page.until(`document.querySelectorAll('tr[data-row]').length > 0`)
    const turns = await page.evaluate<number[]>(
      `[...document.querySelectorAll('tr[data-row]')].map((row) => Number(row.children[4].innerText))`,
    )
    expect(turns.every((each) => each >= 5 && each <= 7)).toBe(true)
    await open('#/data/small%3Adataset')
    await page.evaluate(`document.querySelector('.bars .bar:not(:disabled)').click()`)
    await page.until(`location.hash.includes('minTurns=')`)
  })

  test('the way of a row leads to its trial', async () => {
    await open(`#/data/small%3Adataset/rows/${encodeURIComponent('=job/task-5__aaaaaaa/main')}`)
    expect(await text('.lineage')).toMatch(/source\s+nl2bash.*task\s+task-5.*rollout.*turns.*hacks.*small:dataset/s)
    await page.evaluate(
      `[...document.querySelectorAll('.lineage a')].find((a) => a.innerText === 'task-5__aaaaaaa').click()`,
    )
    await page.until(`document.querySelectorAll('.turn').length > 1 && location.hash.includes('/jobs/job/trials/')`)
  })

  test('hostile rows stay text, and a line of 5 MB is cut and shown on demand', async () => {
    await open(`#/data/small%3Adataset/rows/${encodeURIComponent('=job/hostile__aaaaaaa/main')}`)
    expect(await text('#message-1')).toContain('<script>')
    await page.evaluate(`document.querySelector('#message-2 .foot button').click()`)
    await page.until(`/^The first 20,000 of 5,000,002/.test(document.querySelector('#message-2 .foot').innerText)`)
    await page.evaluate(`document.querySelector('#message-2 .foot button').click()`)
    await page.until(`/^The first 220,000 of/.test(document.querySelector('#message-2 .foot').innerText)`)
    for (const to of ['?tab=columns', '']) {
      await open(`#/data/small%3Adataset/rows/${encodeURIComponent('=job/hostile__aaaaaaa/main')}${to}`)
      expect(await count('main script, main img, main iframe, main [onerror]')).toBe(0)
      expect(await page.evaluate('document.body.innerText.includes("\\u202e")')).toBe(false)
    }
    await open('#/data/any.jsonl/rows/1')
    expect(await text('#message-1 pre')).toBe('bad \ufffd\ufffd bytes')
    expect(await page.evaluate('window.hacked ?? null')).toBe(null)
    expect(page.requests.filter((url) => !url.startsWith(`${server.origin}/`) && url !== 'about:blank')).toEqual([])
    expect(page.problems).toEqual([])
  })

  test.each(['light', 'dark'])('every page is accessible in %s', async (scheme) => {
    await page.dark(scheme === 'dark')
    for (const [name, to] of Object.entries({
      data: '#/data',
      recipe: '#/recipes/small',
      dropped: '#/recipes/small/dropped/turns',
      dataset: '#/data/small%3Adataset',
      row: `#/data/small%3Arollout/rows/${encodeURIComponent('=job/hack-0__aaaaaaa/main')}`,
      columns: '#/data/small%3Adataset/rows/0?tab=columns',
      similar: `#/data/small%3Adataset/rows/${encodeURIComponent('=job/task-5__aaaaaaa/main')}?tab=similar&q=zebra`,
      jsonl: '#/data/any.jsonl',
    })) {
      await open(to)
      await page.until(`!document.querySelector('.panel') || document.querySelector('.panel').innerText.length > 20`)
      await page.evaluate(`void (window.axe || (() => { ${axe} })())`)
      const found = await page.evaluate<string[]>(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')))`,
      )
      await page.shoot(`${name}-${scheme}`)
      expect([to, found]).toEqual([to, []])
    }
    await page.dark(false)
  })

  test('on a phone nothing but tables and texts is wider than the screen', async () => {
    await page.size(390, 800)
    for (const to of ['#/recipes/small', '#/data/small%3Adataset', '#/data/small%3Adataset/rows/0']) {
      await open(to)
      expect([to, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([to, 390])
    }
    await page.size(1280, 900)
  })

  test('what does not exist is said', async () => {
    for (const to of ['#/data/none', '#/recipes/none', '#/data/any.jsonl/rows/99', '#/data/any.jsonl/rows/=nope']) {
      await open(to)
      expect([to, await text('h1')]).toEqual([to, 'Not found'])
    }
    await open('#/recipes/small/dropped/none')
    expect(await text('main')).toContain('this run has no stage')
  })
})
