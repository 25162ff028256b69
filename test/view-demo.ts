import { expect } from 'vitest'
import { Library } from '../src/app/view/library.ts'
import { serveView } from '../src/server/view/serve-view.ts'
import { startChromium } from './chromium.ts'

/**
 * Opens the demo's results in a browser: the flow of the recipe, the dataset, and a trial with its turns and its
 * terminal.
 */
export async function lookAtDemo(out: string): Promise<void> {
  const { library } = await Library.open([out])
  const server = await serveView(library, { host: '127.0.0.1', port: 0, token: null, assetsDir: 'dist/web' })
  const page = await startChromium()
  try {
    const ask = async <T>(path: string) => (await (await fetch(`${server.origin}/api/${path}`)).json()) as T
    await page.size(1200, 720)
    await page.open(`${server.origin}/#/recipes/demo`)
    await page.until(`document.querySelectorAll('tr[data-row]').length === 16`)
    await page.shoot('readme-recipe')
    await page.size(1200, 520)
    await page.open(`${server.origin}/#/data/demo%3Adataset`)
    await page.until(
      `document.querySelectorAll('tr[data-row]').length > 10 && !document.querySelector('.lead').innerText.includes('still')`,
    )
    // The list leaves out the agent's instructions, with which every row begins.
    expect(await page.evaluate(`document.querySelector('tbody').innerText.includes('You are an AI')`)).toBe(false)
    await page.shoot('readme-dataset')
    await page.size(1200, 720)
    const { items: jobs } = await ask<{ items: { id: string }[] }>('jobs')
    const job = jobs[0]?.id ?? ''
    const { items: trials } = await ask<{ items: { name: string }[] }>(`jobs/${job}/trials?q=compose`)
    await page.open(`${server.origin}/#/jobs/${job}/trials/${trials[0]?.name}`)
    await page.until(`document.querySelectorAll('.turn').length > 4`)
    await page.press('2')
    await page.until(`document.querySelectorAll('.mark').length > 2`)
    for (let i = 0; i < 4; i++) await page.press('j')
    await page.until(
      `document.querySelector('.screen').innerText.split('\\n').filter((line) => line !== '').length > 4`,
    )
    await page.shoot('readme-replay')
    expect(page.problems).toEqual([])
  } finally {
    await page.close()
    await server.close()
    await library.close()
  }
}
