import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportSite } from '../../src/app/view/export/export-site.ts'
import { Library } from '../../src/app/view/library.ts'
import { sortPaths } from '../../src/app/view/sort-paths.ts'
import { makeBoard } from '../board-kit.ts'
import { type BrowserPage, startChromium } from '../chromium.ts'
import { needs } from '../needs.ts'
import { serveFiles } from '../serve-files.ts'
import { makeViewJobs } from '../view-kit.ts'
import { makeViewTasks } from '../view-tasks-kit.ts'

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

describe('a static export', needs('chromium'), () => {
  const secret = 'not-to-be-published-47110815'
  let dir: string
  let out: string
  let server: Server
  let page: BrowserPage
  let origin: string
  const open = (hash: string) => page.open(`${origin}/some/path/${hash}`)
  const text = (selector: string) =>
    page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`)

  const write = async (to: string, paths: readonly string[]) => {
    const { jobs, board } = await sortPaths(paths, {})
    const { library } = await Library.open(jobs)
    const { signal } = new AbortController()
    try {
      return await exportSite({ library, board, assetsDir: 'dist/web', out: to, rows: 10, signal, onJob: () => {} })
    } finally {
      await library.close()
    }
  }

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'ot-agent-export-'))
    out = join(dir, 'site')
    process.env.OT_AGENT_TEST_API_KEY = secret
    await makeBoard(dir)
    const jobs = await makeViewJobs(join(dir, 'view'))
    writeFileSync(join(jobs, 'hostile', 'alpha__aaaaaaa', 'agent', 'secret.log'), `key ${secret} in ${jobs}/hostile\n`)
    const shown = ['hostile', 'worse', 'packed', 'harbor'].map((job) => join(jobs, job))
    const tasks = makeViewTasks(join(dir, 'tasks'))
    await write(out, [...shown, tasks, join(dir, 'jobs', 'big-a'), join(dir, 'registry.db')])
    server = await serveFiles(out, '/some/path/')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    page = await startChromium()
  })

  afterAll(async () => {
    delete process.env.OT_AGENT_TEST_API_KEY
    await page?.close()
    server?.closeAllConnections()
    server?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  test('no file names a directory of the machine or holds a secret', () => {
    const files = filesBelow(out)
    expect(files.length).toBeGreaterThan(50)
    for (const file of files) {
      const content = readFileSync(file, 'utf8')
      const found = [dir, process.cwd(), secret].filter((word) => content.includes(word))
      expect([file.slice(out.length), found]).toEqual([file.slice(out.length), []])
      expect(file.slice(out.length)).toMatch(/^[\w./~-]+$/)
    }
  })

  test('the leaderboard, a model and its jobs are read from files', async () => {
    await open('#/board?b=bench-a')
    expect(await text('.why')).toBe('lab/agent-32B with terminus-2 leads bench-a with 91.7 %.')
    await page.evaluate(`document.querySelector('table.board tbody a').click()`)
    await page.until(`location.hash === '#/models/lab%2Fagent-32B' && document.querySelector('.tree')`)
    await page.evaluate(`[...document.querySelectorAll('main a')].find((a) => a.innerText === 'big-a').click()`)
    await page.until(`location.hash === '#/jobs/big-a' && document.querySelectorAll('a.cell').length === 24`)
    const csv = await (await fetch(`${origin}/some/path/api/board.csv`)).text()
    expect(csv).toMatch(/^model,agent,benchmark/)
  })

  test('jobs and trials are listed, searched and sorted as with a server', async () => {
    await open('#/?q=harbor')
    await page.until(`document.querySelectorAll('tbody tr').length === 1`)
    await open('#/jobs/worse?tab=trials&filter=solved&sort=-name')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 4`)
    expect(await text('tr[data-row]')).toContain('task-1__1')
    await open('#/jobs/packed')
    await page.until(`document.querySelectorAll('a.cell').length === 20`)
  })

  test('nothing can be started from an export', async () => {
    await open('#/new?key=x')
    expect(await page.evaluate<string>('document.querySelector("main").innerText')).toContain('not part of the export')
    await open('#/')
    await page.until(`document.querySelector('nav.sections a')`)
    expect(await page.evaluate<string>('document.querySelector("nav.sections").innerText')).not.toContain('New run')
    expect(page.requests.filter((url) => url.includes('/api/runs'))).toEqual([])
  })

  test('a trial has its turns, subagents, replay, verifier and files', async () => {
    const alpha = '#/jobs/hostile/trials/alpha__aaaaaaa'
    await open(alpha)
    await page.until(`document.querySelectorAll('.turn').length === 5`)
    await page.evaluate(`document.querySelector('.subagent summary').click()`)
    await page.until(`document.querySelector('.subagent .turn')?.innerText.includes('the helper speaks')`)
    await page.evaluate(`document.querySelectorAll('.subagent summary')[1].click()`)
    await page.until(`document.querySelectorAll('.subagent')[1].innerText.includes('the inner helper speaks')`)
    await page.evaluate(`document.querySelector('.subagent .subagent summary').click()`)
    await page.until(`document.querySelector('.subagent .subagent .turn')?.innerText.includes('the innermost speaks')`)
    await open(`${alpha}?tab=replay`)
    await page.until(`document.querySelectorAll('.mark').length === 2`)
    await page.press('j')
    await page.until(`document.querySelector('.screen').innerText.includes('<script>')`)
    // Going back from the first turn leads to the beginning of the recording.
    await page.press('k')
    await page.press('k')
    await page.until(`document.querySelector('.timeline input').value === '0'`)
    await open(`${alpha}?tab=verifier`)
    await page.until(`document.querySelector('.panel').innerText.includes('test_bad')`)
    await open(`${alpha}?tab=files&file=agent%2Fone-line.log`)
    await page.until(`document.querySelector('.file pre').innerText.includes('not part of this export')`)
    await open(`${alpha}?tab=files&file=agent%2Fsecret.log`)
    await page.until(`document.querySelector('.file pre').innerText.includes('key [secret] in hostile')`)
    await open(`${alpha}?tab=record`)
    await page.until(`document.querySelector('pre.json').innerText.includes('"schema": "trial/1"')`)
    expect(await page.evaluate('window.hacked ?? null')).toBe(null)
    expect(page.problems).toEqual([])
    expect(page.requests.filter((url) => !url.startsWith(`${origin}/some/path/`) && url !== 'about:blank')).toEqual([])
  })

  test('tasks have their files, checks and trials, and those that only jobs know their solve rates', async () => {
    await open('#/tasks?difficulty=hard&check=rejected')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 1`)
    await page.evaluate(`document.querySelector('tr[data-row] a').click()`)
    await page.until(`document.querySelector('.panel pre')?.innerText.startsWith('Count the lines')`)
    await open('#/jobs/worse/trials/task-3__0')
    await page.evaluate(`document.querySelector('.facts a').click()`)
    await page.until(
      `location.hash === '#/tasks/%40task-3' && document.querySelector('.panel pre')?.innerText.startsWith('Count')`,
    )
    await open('#/tasks/%40task-3?tab=trials')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 4`)
    await open('#/tasks/hostile')
    await page.until(`document.querySelector('.panel pre')?.innerText.includes('not part of this export')`)
    await open('#/tasks/%40task-9')
    expect(await text('.why')).toContain('The files of this task are not part of this export.')
  })

  test('an earlier export is replaced, and another folder is left alone', async () => {
    const again = join(dir, 'again')
    cpSync(out, again, { recursive: true })
    writeFileSync(join(again, 'stale.txt'), 'old')
    await write(again, [join(dir, 'view', 'harbor')])
    expect(readdirSync(again)).toEqual(readdirSync(out))
    expect(readdirSync(join(again, 'api', 'jobs'))).toEqual(['harbor', 'harbor.json'])
    const mine = join(dir, 'mine')
    mkdirSync(mine)
    writeFileSync(join(mine, 'thesis.tex'), 'years of work')
    await expect(write(mine, [join(dir, 'view', 'harbor')])).rejects.toThrow(
      /expected an empty folder or an earlier export/,
    )
    expect(readdirSync(mine)).toEqual(['thesis.tex'])
    expect(readdirSync(dir).filter((name) => /partial|old/.test(name))).toEqual([])
  })
})
