import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library } from '../../src/app/view/library.ts'
import { serveView, type ViewServer } from '../../src/server/view/serve-view.ts'
import { type BrowserPage, startChromium } from '../chromium.ts'
import { needs } from '../needs.ts'
import { makeJob, trialOf } from '../registry/jobs.ts'

describe('a trial that changed the system', needs('chromium'), () => {
  let library: Library
  let server: ViewServer
  let page: BrowserPage
  const open = (tab: string) => page.open(`${server.origin}/#/jobs/job/trials/solve__0?tab=${tab}`)
  const text = (selector: string) =>
    page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`)

  beforeAll(async () => {
    const restored = { files: [{ path: '/usr/bin/<b>pytest</b>', change: 'modified' as const }], total: 1 }
    const system = { restored, onImage: { reward: 0 }, onAgent: { reward: 1 }, differ: true }
    const record = trialOf({ task: 'solve', reward: 0, over: { system } })
    const dir = await makeJob(join(mkdtempSync(join(tmpdir(), 'ot-agent-view-')), 'job'), {
      id: 'job',
      records: [record],
    })
    ;({ library } = await Library.open([dir]))
    server = await serveView(library, { host: '127.0.0.1', port: 0, token: null, assetsDir: 'dist/web' })
    page = await startChromium()
  })

  afterAll(async () => {
    await page?.close()
    await server?.close()
    await library?.close()
  })

  test('names the files that were put back, and what they would have gained', async () => {
    await open('verifier')
    await page.until(`document.querySelector('.tampered')`)
    expect(await text('.tampered')).toContain('/usr/bin/<b>pytest</b>')
    expect(await text('.tampered')).toContain('the lower one was used')
  })

  test('gives commands that do the same, to be copied', async () => {
    await open('record')
    await page.until(`document.querySelector('.commands button')`)
    expect(await text('.commands')).toContain('ot-agent ')
    await page.evaluate(`document.querySelector('.commands button').click()`)
    await page.until(`document.getElementById('status').innerText === 'Copied.'`)
  })
})
