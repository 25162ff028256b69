import { mkdtempSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library } from '../../src/app/view/library.ts'
import { spawnProcess } from '../../src/lib/spawn-process.ts'
import { serveView, type ViewServer } from '../../src/server/view/serve-view.ts'
import { type BrowserPage, startChromium } from '../chromium.ts'
import { needs } from '../needs.ts'
import { makeViewJobs } from '../view-kit.ts'
import { makeViewTasks } from '../view-tasks-kit.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const alpha = '#/jobs/hostile/trials/alpha__aaaaaaa'
const taskTabs = ['instruction', 'environment', 'tests', 'files', 'checks', 'trials']

describe('the viewer in a browser', needs('chromium', 'bwrap'), () => {
  let dir: string
  let library: Library
  let server: ViewServer
  let page: BrowserPage
  const open = (hash: string) => page.open(`${server.origin}/${hash}`)
  const text = (selector: string) =>
    page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`)
  const count = (selector: string) =>
    page.evaluate<number>(`document.querySelectorAll(${JSON.stringify(selector)}).length`)
  const hash = () => page.evaluate<string>('location.hash')
  const violations = async () => {
    await page.evaluate(`void (window.axe || (() => { ${axe} })())`)
    return page.evaluate<string[]>(
      `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')))`,
    )
  }

  beforeAll(async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-view-'))
    dir = await makeViewJobs(join(scratch, 'jobs'))
    ;({ library } = await Library.open([dir, makeViewTasks(join(scratch, 'tasks'))]))
    server = await serveView(library, { host: '127.0.0.1', port: 0, token: null, assetsDir: 'dist/web' })
    page = await startChromium()
  })

  afterAll(async () => {
    await page.close()
    await server.close()
    await library.close()
  })

  test('jobs are listed, searched and opened with the keyboard', async () => {
    await open('')
    expect(await count('tbody tr')).toBe(5)
    await page.press('/')
    for (const key of 'harb') await page.press(key)
    await page.until(`document.querySelectorAll('tbody tr').length === 1`)
    await page.press('Escape')
    await page.press('j')
    await page.press('Enter')
    await page.until(`location.hash === '#/jobs/harbor' && document.querySelectorAll('a.cell').length === 4`)
    expect(await text('.legend')).toContain('1 infrastructure failure')
    await page.press('Escape')
    await page.until(`document.querySelector('h1').innerText === 'Jobs'`)
  })

  test('two jobs are chosen and compared', async () => {
    await open('#/?sort=name')
    await page.press('j')
    await page.press('x')
    for (let i = 0; i < 4; i++) await page.press('j')
    await page.press('x')
    await page.press('c')
    await page.until(`document.querySelector('.sentences li')`)
    expect(await text('.sentences')).toContain('better is better than worse by 80.0 points')
    expect(await count('svg.interval')).toBe(3)
    await page.evaluate(`document.querySelector('main input[type=checkbox]').click()`)
    await page.until(`/^8 of 10 tasks/.test([...document.querySelectorAll('.foot')].at(-1).innerText)`)
  })

  test('the grid leads to a trial, and filters are kept in the address', async () => {
    await open('#/jobs/worse?filter=unsolved')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 8`)
    await page.evaluate(`document.querySelector('a.cell').click()`)
    await page.until(`document.querySelectorAll('.turn').length === 3`)
    expect(await text('.why')).toMatch(/^Not solved: the agent finished/)
    await page.press('ArrowRight')
    await page.until(`document.querySelector('h1').innerText.startsWith('task-2__1')`)
  })

  test('a trial is read turn by turn, over continuations and subagents, with the keyboard', async () => {
    await open(alpha)
    await page.until(`document.querySelectorAll('.turn').length === 5`)
    expect(await text('.why')).toContain('1 of 2 tests failed')
    await page.evaluate(`document.querySelector('.skip').click()`)
    expect([await hash(), await page.evaluate('document.activeElement.id')]).toEqual([alpha, 'main'])
    await page.press('j')
    await page.press('j')
    expect(await hash()).toContain('turn=2')
    await page.press('e')
    await page.until(`document.querySelector('dialog.exchange')?.innerText.includes('reply <script>')`)
    await page.press('Escape')
    await page.until(`!document.querySelector('dialog')`)
    await page.evaluate(`document.querySelector('.subagent summary').click()`)
    await page.until(`document.querySelector('.subagent .turn')?.innerText.includes('the helper speaks')`)
    await page.evaluate(`document.querySelectorAll('.subagent summary')[1].click()`)
    await page.until(`document.querySelectorAll('.subagent')[1].innerText.includes('the inner helper speaks')`)
    await page.evaluate(`document.querySelector('.subagent .subagent summary').click()`)
    await page.until(`document.querySelector('.subagent .subagent .turn')?.innerText.includes('the innermost speaks')`)
    await open(`${alpha}?turn=5`)
    await page.until(`document.querySelector('.turn.marked')?.id === 'turn-5'`)
    // The continuation refers back to the first file.
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 300))')
    expect(await count('.turn')).toBe(5)
  })

  test('the terminal is played, and turns are on its timeline', async () => {
    await open(`${alpha}?tab=replay`)
    await page.until(`document.querySelectorAll('.mark').length === 2`)
    await page.press('j')
    await page.until(`document.querySelector('.screen').innerText.includes('<script>')`)
    // Two seconds remain of the idle minute.
    expect(await page.evaluate<number>(`Number(document.querySelector('.timeline input').max)`)).toBeLessThan(6)
    await page.press(' ')
    await page.until(`document.querySelector('.screen').innerText.includes('big output')`)
    expect(await count('.screen a')).toBe(0)
  })

  test('verifier, files and record are shown', async () => {
    await open(`${alpha}?tab=verifier`)
    await page.until(`document.querySelector('.panel').innerText.includes('test_bad')`)
    await open(`${alpha}?tab=files&file=agent%2Fone-line.log`)
    await page.until(`document.querySelector('.file pre').innerText.length === 65536`)
    await open(`${alpha}?tab=files&file=agent%2Fbroken.log`)
    await page.until(`document.querySelector('.file pre').innerText.includes('\ufffd')`)
    await open(`${alpha}?tab=record`)
    await page.until(`document.querySelector('pre.json').innerText.includes('"schema": "trial/1"')`)
    await open('#/jobs/hostile?tab=files&file=lock.json')
    await page.until(`document.querySelector('.file pre').innerText.includes('{')`)
  })

  test('tasks are searched, filtered and opened with the keyboard', async () => {
    await open('#/tasks')
    await page.until(
      `document.querySelectorAll('tr[data-row]').length > 12 && !document.querySelector('.lead').innerText.includes('still')`,
    )
    expect(await text('.lead')).toMatch(/^\d+ tasks\. 1 of 3 checked tasks are accepted, 2 rejected\.$/)
    await page.press('/')
    for (const key of 'lines') await page.press(key)
    await page.until(`document.querySelectorAll('tr[data-row]').length === 1`)
    await page.press('Escape')
    await page.press('j')
    await page.press('Enter')
    await page.until(
      `location.hash === '#/tasks/task-1' && document.querySelector('.panel pre')?.innerText.startsWith('Count')`,
    )
    expect(await text('.why')).toBe(
      'Rejected: the law oracle does not hold: scored 0, expected 1. The check was run on another version of the task. 6 trials scored 100.0 % on average.',
    )
    await page.press('2')
    await page.until(`document.querySelector('.file pre')?.innerText.startsWith('FROM debian')`)
    await page.press('6')
    await page.until(`document.querySelector('tr[data-law=oracle] .badge.failed')`)
    await open('#/tasks?check=law%3Alint')
    expect(await count('tr[data-row]')).toBe(1)
  })

  test('a task leads to its trials by model, and a trial to its task', async () => {
    await open('#/tasks/task-3?tab=trials')
    await page.until(`document.querySelectorAll('tr[data-row]').length === 6`)
    expect(await text('tbody tr')).toMatch(/openai\/gpt-x terminus-2\s+4 of 6\s+66\.7 %/)
    await page.evaluate(`document.querySelector('tr[data-row] a').click()`)
    await page.until(`/^#\\/jobs\\/.*task-3/.test(location.hash) && document.querySelector('.facts a')`)
    await page.evaluate(`document.querySelector('.facts a').click()`)
    await page.until(
      `location.hash === '#/tasks/%40task-3' && document.querySelector('h1').innerText.startsWith('task-3')`,
    )
    await open('#/tasks/%40task-9')
    expect(await text('.why')).toContain('The files of this task are no longer on this machine.')
  })

  test('hostile content stays text: no script ran, nothing was asked of another host', async () => {
    for (const tab of ['turns', 'replay', 'verifier', 'files', 'record']) {
      await open(`${alpha}?tab=${tab}`)
      await page.until(`document.querySelector('.panel').innerText.length > 20`)
      expect(await count('main script, main img, main iframe, main [onerror], main [style*=url]')).toBe(0)
      const links = await page.evaluate<string[]>(
        `[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))`,
      )
      expect(links.filter((link) => !/^(#|api\/)/.test(link))).toEqual([])
    }
    for (const to of ['#/tasks', ...taskTabs.map((tab) => `#/tasks/hostile?tab=${tab}`)]) {
      await open(to)
      await page.until(`document.querySelector('main').innerText.length > 200`)
      expect(await count('main script, main img, main iframe, main [onerror]')).toBe(0)
      expect(await page.evaluate('document.body.innerText.includes("\\u202e")')).toBe(false)
    }
    await open('#/tasks/hostile')
    await page.until(`/^up to 64.0 KiB of 4.8 MiB/.test(document.querySelector('.panel .tools .dim')?.innerText)`)
    await open('#/jobs/hostile/trials/beta__bbbbbbb?tab=record')
    expect(await text('.why')).toContain('<script>')
    expect(await page.evaluate('window.hacked ?? null')).toBe(null)
    expect(await page.evaluate('document.body.innerText.includes("\\u202e")')).toBe(false)
    expect(page.requests.filter((url) => !url.startsWith(`${server.origin}/`) && url !== 'about:blank')).toEqual([])
    expect(page.problems).toEqual([])
  })

  test('what does not exist is reported, with a link back', async () => {
    await open('#/jobs/no-such')
    expect(await text('h1')).toBe('Not found')
    await open('#/nonsense')
    expect(await text('h1')).toBe('Not found')
    page.problems.length = 0
  })

  test.each(['light', 'dark'])('every page is accessible in %s', async (scheme) => {
    await page.dark(scheme === 'dark')
    for (const to of [
      '#/',
      '#/jobs/hostile',
      '#/jobs/worse?tab=trials',
      '#/compare?jobs=better%0Aworse',
      alpha,
      `${alpha}?tab=replay`,
      `${alpha}?tab=verifier`,
      `${alpha}?tab=files`,
      `${alpha}?tab=record`,
      '#/tasks',
      ...['environment', 'checks', 'trials'].map((tab) => `#/tasks/task-1?tab=${tab}`),
    ]) {
      await open(to)
      await page.until(`!document.querySelector('.panel') || document.querySelector('.panel').innerText.length > 20`)
      await page.shoot(`${to.replace(/\W+/g, '-')}-${scheme}`)
      expect([to, await violations()]).toEqual([to, []])
    }
    await page.dark(false)
  })

  test('on a phone nothing but tables and texts is wider than the screen', async () => {
    await page.size(390, 800)
    const tasks = ['#/tasks', '#/tasks/task-1', '#/tasks/task-1?tab=checks', '#/tasks/hostile']
    for (const to of ['#/', '#/jobs/hostile', alpha, ...tasks]) {
      await open(to)
      await page.shoot(`${to.replace(/\W+/g, '-')}-phone`)
      expect([to, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([to, 390])
    }
    await page.size(1280, 900)
  })

  test('a real job appears, grows and ends while the page is open', async () => {
    await open('')
    const tasks = ['-p', 'examples/tasks/fix-rotate']
    const engine = ['--engine', 'scripted', '--engine-kwarg', 'tasks=examples/tasks', '-m', 'stand-in']
    const args = [
      'bin/ot-agent.js',
      'run',
      ...tasks,
      '-a',
      'terminus-2',
      ...engine,
      '-k',
      '2',
      '-n',
      '1',
      '-o',
      dir,
      '--job-name',
      'live',
    ]
    const child = await spawnProcess(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stderr.on('data', (bytes: Buffer) => {
      said += bytes.toString()
    })
    child.stdout.resume()
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    await page.until(`[...document.querySelectorAll('tbody a')].some((a) => a.innerText === 'live')`)
    await page.evaluate(`[...document.querySelectorAll('tbody a')].find((a) => a.innerText === 'live').click()`)
    expect([await ended, said.slice(-300)]).toEqual([0, said.slice(-300)])
    await page.until(
      `document.querySelector('.state').innerText === 'finished' && document.querySelectorAll('a.cell.solved').length === 2`,
    )
    await page.evaluate(`document.querySelector('a.cell').click()`)
    await page.until(`document.querySelectorAll('.turn').length > 3`)
    await page.press('2')
    await page.until(
      `document.querySelectorAll('.mark').length > 2 && document.querySelector('.screen').innerText.includes('root@')`,
    )
    await page.shoot('trial')
    expect(page.problems).toEqual([])
  })

  test('with permission a run is set up from an earlier one, started, stopped, and outlives the viewer', async () => {
    const args = ['bin/ot-agent.js', 'view', dir, '--allow-runs', '--json']
    const viewer = await spawnProcess(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise<number | null>((resolve) => viewer.once('exit', resolve))
    const { url } = await new Promise<{ url: string }>((resolve) => {
      viewer.stdout.once('data', (bytes: Buffer) => resolve(JSON.parse(bytes.toString())))
    })
    const type = (field: string, value: string) =>
      page.evaluate(`(() => {
        const input = document.getElementById('field-${field}')
        input.value = ${JSON.stringify(value)}
        input.dispatchEvent(new Event('input'))
      })()`)
    const startAs = async (name: string, attempts: string) => {
      await type('jobName', name)
      await type('attempts', attempts)
      await page.until(`/ -k ${attempts} .* --job-name ${name}$/.test(document.querySelector('pre.shell').innerText)`)
      await page.evaluate(`document.querySelector('button.main').click()`)
      await page.until(`[...document.querySelectorAll('.started h3 a')].some((a) => a.innerText === '${name}')`)
    }
    await page.open(url)
    expect(await hash()).toBe('#/')
    await page.size(390, 800)
    await page.evaluate(`location.hash = '#/jobs/hostile/trials/alpha__aaaaaaa'`)
    await page.until(`document.querySelectorAll('.turn').length === 5`)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390)
    await page.size(1280, 900)
    await page.until(`[...document.querySelectorAll('nav a')].some((a) => a.innerText === 'New run')`)
    await page.evaluate(`[...document.querySelectorAll('nav a')].find((a) => a.innerText === 'New run').click()`)
    await page.until(`document.querySelector('pre.shell')?.innerText.startsWith('./ot-agent run -o ')`)
    await page.evaluate(`(() => {
      const select = document.querySelector('select[aria-label="Start from an earlier job"]')
      select.value = 'live'
      select.dispatchEvent(new Event('change'))
    })()`)
    await page.until(`document.querySelector('pre.shell').innerText.includes('-a terminus-2 -m stand-in')`)
    expect(await text('pre.shell')).toContain('--engine scripted --engine-kwarg tasks=')
    await type('attempts', 'two')
    await page.until(`document.querySelector('.problems').innerText.startsWith('Attempts at each task: expected')`)
    expect(await page.evaluate(`document.querySelector('button.main').disabled`)).toBe(true)
    for (const dark of [false, true]) {
      await page.dark(dark)
      expect(await violations()).toEqual([])
    }
    await page.dark(false)
    await page.size(390, 800)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390)
    await page.size(1280, 900)

    await startAs('stopped', '40')
    await page.evaluate(`document.querySelector('.started button').click()`)
    await page.until(`document.querySelector('.started .state').innerText === 'exit code 130'`)
    await startAs('again', '1')
    viewer.kill('SIGINT')
    expect(await ended).toBe(0)
    await open('#/jobs/again')
    await page.until(
      `document.querySelector('.state').innerText === 'finished' && document.querySelectorAll('a.cell.solved').length === 1`,
    )
    page.problems.length = 0
    await open('#/new')
    expect(await text('main')).toContain('this server is read-only')
  })
})
