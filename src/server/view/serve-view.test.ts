import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { someRecord } from '../../../test/records.ts'
import { makeBigJob } from '../../../test/registry/jobs.ts'
import { tempDir } from '../../../test/trees.ts'
import { hostile, makeViewJobs } from '../../../test/view-kit.ts'
import { Library } from '../../app/view/library.ts'
import { makeEventReader } from '../../lib/sse.ts'
import { serveView, type ViewServer } from './serve-view.ts'

let scratch: string
let dir: string
let library: Library
let server: ViewServer
let withToken: ViewServer

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'ot-agent-view-'))
  dir = await makeViewJobs(join(scratch, 'jobs'))
  const assetsDir = join(scratch, 'assets')
  await mkdir(assetsDir)
  await writeFile(join(assetsDir, 'index.html'), '<!doctype html>')
  await writeFile(join(assetsDir, 'app.js'), '1')
  ;({ library } = await Library.open([dir]))
  server = await serveView(library, { host: '127.0.0.1', port: 0, token: null, assetsDir })
  withToken = await serveView(library, { host: '127.0.0.1', port: 0, token: 'the-token', assetsDir })
})

afterAll(async () => {
  await server.close()
  await withToken.close()
  await library.close()
  await rm(scratch, { recursive: true, force: true })
})

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  readonly json: any
}

/** Sends exactly this path; `fetch` would normalize it. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET', of = server): Promise<Got> {
  const { hostname, port } = new URL(of.origin)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = response.headers['content-type']?.startsWith('application/json')
        const json = isJson && text !== '' ? JSON.parse(text) : null
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
      })
    })
    sent.on('error', reject).end()
  })
}

const alpha = '/api/jobs/hostile/trials/alpha__aaaaaaa'

describe('who may read', () => {
  test('a Host that is not this machine is refused, whatever is asked', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80']) {
      for (const path of ['/', '/api/jobs', '/app.js'])
        expect([host, path, (await ask(path, { host })).status]).toEqual([host, path, 403])
    }
    for (const host of ['localhost:1', '127.0.0.1', '[::1]:9'])
      expect((await ask('/api/jobs', { host })).status).toBe(200)
  })

  test('pages of other sites get nothing', async () => {
    expect((await ask('/api/jobs', { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await ask('/api/jobs', { 'sec-fetch-site': 'same-origin' })).status).toBe(200)
  })

  test('with a token, only readers who have it are served', async () => {
    const of = (path: string, headers: Record<string, string> = {}) => ask(path, headers, 'GET', withToken)
    for (const path of ['/', '/api/jobs', '/api/health', '/app.js']) expect((await of(path)).status).toBe(401)
    expect((await of('/?token=wrong')).status).toBe(401)
    const entered = await of('/?token=the-token')
    expect([entered.status, entered.headers.location]).toEqual([303, '/'])
    const [cookie = ''] = entered.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/)
    expect((await of('/api/jobs', { cookie: cookie.split(';')[0]! })).status).toBe(200)
    expect((await of('/api/jobs', { authorization: 'Bearer the-token' })).status).toBe(200)
    // A path that looks like another host must not become a redirect to it.
    expect((await of('//evil.example/?token=the-token')).headers.location ?? '/').toMatch(/^\/(?!\/)/)
  })

  test('nothing can be written', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect((await ask('/api/jobs/hostile', {}, method)).status).toBe(405)
  })
})

test('every answer forbids scripts and content from elsewhere', async () => {
  for (const path of ['/', '/app.js', '/api/jobs', '/nothing', `${alpha}/raw?path=artifacts/page.html`]) {
    const { headers } = await ask(path)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers['x-content-type-options']).toBe('nosniff')
  }
})

describe('paths', () => {
  test.each([
    '/../package.json',
    '/..%2f..%2fpackage.json',
    '/chunks/../../package.json',
    '/%2e%2e/package.json',
    '/app.js/../../x',
    '/api/jobs/..%2f..%2fetc',
    '/api/jobs/%2e%2e',
    '/api/jobs/hostile/trials/..%2f..',
    '/api/jobs/%ff',
    `${alpha}/text?path=../config.json`,
    `${alpha}/text?path=/etc/passwd`,
    `${alpha}/text?path=artifacts/link`,
    `${alpha}/text?path=artifacts/etc/passwd`,
    `${alpha}/raw?path=artifacts/etc/passwd`,
    `${alpha}/text?path=agent`,
    `${alpha}/text?path=agent/trajectory.json%00`,
    `${alpha}/steps?file=../../better/config.json`,
    `${alpha}/exchanges?folder=../..`,
    '/api/jobs/hostile/text?path=../better/config.json',
    '/api/jobs/hostile/text?path=owner.json',
    '/api/jobs/no-such/trials/x',
    '/api/jobs/hostile/trials/no-such',
    '/api/no-such',
  ])('%s is not found', async (path) => {
    const { status, text } = await ask(path)
    expect([status, text.includes('root:')]).toEqual([404, false])
  })

  test('files are listed without links', async () => {
    const { files } = (await ask(alpha)).json
    const paths = files.map(({ path }: { path: string }) => path)
    expect(paths).toContain('artifacts/page.html')
    expect(paths.filter((path: string) => /link|etc/.test(path))).toEqual([])
  })

  test('a file is sent to be saved, never to be shown', async () => {
    const { headers, text } = await ask(`${alpha}/raw?path=artifacts/page.html`)
    expect(text).toBe(hostile.script)
    expect(headers['content-type']).toBe('application/octet-stream')
    expect(headers['content-disposition']).toMatch(/^attachment/)
    expect(headers['content-security-policy']).toContain('sandbox')
  })
})

describe('jobs', () => {
  test('all are listed, ours, packed and Harbor’s, and can be searched, sorted and paged', async () => {
    const names = async (query: string) =>
      (await ask(`/api/jobs${query}`)).json.items.map(({ name }: { name: string }) => name)
    expect((await names('?sort=name')).sort()).toEqual(['better', 'harbor', 'hostile', 'packed', 'worse'])
    expect(await names('?sort=-name&limit=2')).toEqual(['worse', 'packed'])
    expect(await names('?sort=name&limit=2&offset=1')).toEqual(['harbor', 'hostile'])
    expect(await names('?q=HARB')).toEqual(['harbor'])
    expect(await names('?filter=running')).toEqual([])
  })

  test('a job has its outcomes, groups and failures', async () => {
    const { outcomes, groups, complete, job } = (await ask('/api/jobs/hostile')).json
    expect([outcomes, complete, job.state]).toEqual([{ solved: 1, failed: 1, cancelled: 1 }, true, 'finished'])
    expect(groups[0]).toMatchObject({ agent: 'terminus-2', trials: 3, scored: 1, failed: 1, cancelled: 1 })
    expect(groups[0].failures).toHaveLength(1)
    expect((await ask('/api/jobs/harbor')).json.outcomes).toEqual({ solved: 1, unsolved: 1, failed: 1, cancelled: 1 })
  })

  test('a packed job looks like the same job unpacked', async () => {
    const [one, other] = [await ask('/api/jobs/better/tasks'), await ask('/api/jobs/packed/tasks')]
    expect(other.json).toEqual(one.json)
    const steps = '/trials/task-3__1/steps'
    expect((await ask(`/api/jobs/packed${steps}`)).json).toEqual((await ask(`/api/jobs/better${steps}`)).json)
  })

  test('the grid has a row for each task and a cell for each attempt', async () => {
    const { items, total } = (await ask('/api/jobs/worse/tasks?sort=-mean&limit=3')).json
    expect(total).toBe(10)
    expect(items.map(({ mean }: { mean: number }) => mean)).toEqual([1, 1, 0])
    expect(items[0].cells.map(({ attempt }: { attempt: number }) => attempt)).toEqual([0, 1])
  })

  test('trials are filtered by outcome, boundary and text', async () => {
    const count = async (query: string) => (await ask(`/api/jobs/hostile/trials?${query}`)).json.total
    expect([await count(''), await count('filter=failed'), await count('filter=cancelled')]).toEqual([3, 1, 1])
    expect([await count('filter=sandbox'), await count('filter=model'), await count('q=beta')]).toEqual([1, 0, 1])
  })

  test('jobs are compared task by task, with the interval of the difference', async () => {
    const { runs, pairs, tasks } = (await ask('/api/compare?job=better&job=worse')).json
    expect(runs.map(({ rank }: { rank: number }) => rank)).toEqual([1, 2])
    expect(pairs[0]).toMatchObject({ verdict: 'first', difference: { tasks: 10 } })
    expect(pairs[0].difference.low).toBeGreaterThan(0)
    expect(tasks[0]).toEqual({ task: 'task-0', rewards: [1, 1] })
    const tie = (await ask('/api/compare?job=better&job=packed')).json
    expect(tie.runs.map(({ rank }: { rank: number }) => rank)).toEqual([1, 1])
    const three = (await ask('/api/compare?job=better&job=worse&job=packed')).json
    expect(three.runs.map(({ job }: { job: string }) => job)).toEqual(['better', 'worse', 'packed'])
    expect(three.pairs).toHaveLength(3)
    expect(three.tasks[0].rewards).toHaveLength(3)
    expect((await ask('/api/compare?job=better')).status).toBe(422)
  })
})

describe('trials', () => {
  test('each says in a sentence why it ended', async () => {
    const why = async (name: string) => (await ask(`/api/jobs/${name}`)).json.why
    expect(await why('hostile/trials/alpha__aaaaaaa')).toMatch(
      /^Solved: the agent finished after .* and the verifier gave 1 \(1 of 2 tests failed/,
    )
    expect(await why('hostile/trials/beta__bbbbbbb')).toMatch(/^Infrastructure failure blamed on the sandbox/)
    expect(await why('hostile/trials/gamma__ccccccc')).toMatch(/^Cancelled/)
    expect(await why('harbor/trials/hello__Timeou2')).toMatch(/^Not solved: the agent ran out of time after 15 min/)
  })

  test('steps come page by page, long texts are cut, and a continuation is named', async () => {
    const first = (await ask(`${alpha}/steps?limit=2`)).json
    expect([first.steps.length, first.total]).toEqual([2, null])
    const rest = (await ask(`${alpha}/steps?offset=2`)).json
    expect([rest.steps.length, rest.total, rest.continues]).toEqual([2, 4, 'agent/trajectory.cont-1.json'])
    expect(rest.steps[0].observations[0].text).toEqual({ text: 'x'.repeat(48_000), chars: 5_000_000 })
    const [, inside] = rest.steps[1].observations[0].subagents
    expect(rest.steps[1].observations[0].subagents).toEqual(['trajectory.helper-1.json', inside, '#missing'])
    expect((await ask(`${alpha}/steps?file=${rest.continues}`)).json.total).toBe(1)
    expect((await ask(`${alpha}/steps?file=agent/broken.log`)).json.trouble).toMatch(/not a trajectory/)
  })

  test('subagents inside of a trajectory are read as if they had files, also those of subagents', async () => {
    const read = async (file: string) => ask(`${alpha}/steps?limit=1&file=${encodeURIComponent(file)}`)
    const inside = `agent/trajectory.json#${encodeURIComponent(`in #${hostile.script}`)}`
    const { steps, total } = (await read(inside)).json
    expect([steps[0].message.text, total]).toEqual(['the inner helper speaks', 1])
    expect(steps[0].observations[0].subagents).toEqual(['#deep'])
    expect((await read(`${inside}#deep`)).json.steps[0].message.text).toBe('the innermost speaks')
    expect((await read(`${inside}#other`)).json.steps[0].message.text).toBe('not this one')
    for (const name of ['#missing', '#deep', '#', '#%zz', '#other'.repeat(9)])
      expect([name, (await read(`agent/trajectory.json${name}`)).status]).toEqual([name, 404])
  })

  test('the steps of an agent at work are read from its journal', async () => {
    const running = join(dir, 'better', 'late__zzzzzzz')
    await mkdir(join(running, 'agent'), { recursive: true })
    const step = { source: 'agent', message: 'thinking' }
    const events = [
      { kind: 'open', file: 'trajectory.json', head: {} },
      { kind: 'step', file: 'trajectory.json', step },
      { kind: 'observe', file: 'trajectory.json', observation: { results: [{ content: 'seen' }] } },
    ]
    await writeFile(
      join(running, 'agent', 'trajectory.jsonl'),
      events.map((event) => `${JSON.stringify(event)}\n`).join(''),
    )
    const { library: fresh } = await Library.open([join(dir, 'better')])
    const job = await fresh.job('better')
    await job.index.refresh(10_000)
    expect(job.index.running.map(({ name }) => name)).toEqual(['late__zzzzzzz'])
    const other = await serveView(fresh, { host: '127.0.0.1', port: 0, token: null, assetsDir: dir })
    const { steps } = (await ask('/api/jobs/better/trials/late__zzzzzzz/steps', {}, 'GET', other)).json
    expect(steps).toMatchObject([{ message: { text: 'thinking' }, observations: [{ text: { text: 'seen' } }] }])
    await other.close()
    await rm(running, { recursive: true })
  })

  test('the exchange with the model is available verbatim', async () => {
    expect((await ask(`${alpha}/exchanges`)).json.calls).toMatchObject([{ call: 1, inputTokens: 200 }])
    const exchange = (await ask(`${alpha}/exchanges?call=1`)).json
    expect(exchange.sent[0].text.text).toBe(`sent ${hostile.script}`)
    expect(exchange.reply.text.text).toBe(`reply ${hostile.script}`)
    expect((await ask(`${alpha}/exchanges?call=7`)).status).toBe(404)
  })

  test('text comes in windows that cut no character, and invalid UTF-8 is replaced', async () => {
    const long = (await ask(`${alpha}/text?path=agent/one-line.log&bytes=99999999`)).json
    expect([long.text.length, long.size]).toEqual([262_144, 5_000_000])
    await writeFile(join(dir, 'hostile', 'alpha__aaaaaaa', 'agent', 'wide.log'), 'aé€😀'.repeat(50))
    let text = ''
    for (let from = 0; from < 500; ) {
      const part = (await ask(`${alpha}/text?path=agent/wide.log&from=${from}&bytes=7`)).json
      text += part.text
      from = part.to
    }
    expect(text).toBe('aé€😀'.repeat(50))
    expect((await ask(`${alpha}/text?path=agent/broken.log`)).json.text).toBe('a\ufffd\ufffd\ufffd(\nb')
  })
})

test('a large job answers with its first page while it is still being read', async () => {
  const many = await tempDir()
  const one = someRecord()
  await makeBigJob(join(many, 'big'), 'big', 20_000, (i) => ({
    ...one,
    name: `t${String(i).padStart(5, '0')}__x`,
    id: `id-${i}`,
  }))
  const { library: large } = await Library.open([many])
  const other = await serveView(large, { host: '127.0.0.1', port: 0, token: null, assetsDir: many })
  const first = (await ask('/api/jobs/big/trials?limit=50', {}, 'GET', other)).json
  expect(first.items.length).toBe(50)
  const job = await large.job('big', 60_000)
  expect([job.index.complete, job.index.rows.size]).toEqual([true, 20_000])
  const last = (await ask('/api/jobs/big/trials?limit=50&offset=19990', {}, 'GET', other)).json
  expect([last.total, last.items.length, last.items.at(-1).name]).toEqual([20_000, 10, 't19999__x'])
  await other.close()
  await large.close()
})

test('listeners hear of jobs that change, and of new ones', async () => {
  const live = await tempDir()
  const { library: own } = await Library.open([live])
  const other = await serveView(own, { host: '127.0.0.1', port: 0, token: null, assetsDir: live })
  const stop = new AbortController()
  const response = await fetch(`${other.origin}/api/events`, { signal: stop.signal })
  const heard: string[] = []
  const read = makeEventReader((data) => heard.push(data))
  const reading = (async () => {
    for await (const bytes of response.body!) {
      read(bytes)
      if (heard.length === 1) await makeViewJob(live)
      if (heard.length >= 2) return
    }
  })()
  await reading
  expect(JSON.parse(heard[1]!).jobs).toMatchObject([{ name: 'new' }])
  stop.abort()
  await other.close()
})

async function makeViewJob(folder: string): Promise<void> {
  await makeBigJob(join(folder, 'new'), 'new', 1, () => someRecord())
}

test('a growing job shows its new trials', async () => {
  const folder = await tempDir()
  await makeViewJob(folder)
  const { library: own } = await Library.open([folder])
  const before = await own.job('new', 10_000)
  expect(before.index.rows.size).toBe(1)
  const index = join(folder, 'new', 'packed', 'index.jsonl')
  const line = (await readFile(index, 'utf8')).split('\n')[1]!
  await appendFile(index, `${line.replaceAll('hello__AbC23de', 'hello__Another')}\n{"kind":"tri`)
  await before.index.refresh(10_000)
  expect([...before.index.rows.keys()]).toEqual(['hello__AbC23de', 'hello__Another'])
  await appendFile(index, 'al","batch":0}\n')
  await before.index.refresh(10_000)
  expect(before.index.rows.size).toBe(2)
})

test('paths that are no jobs are refused in two lines', async () => {
  await expect(Library.open([join(dir, 'no-such')])).rejects.toThrow(
    /expected a job, a directory of jobs, a folder of tasks, a dataset or a run of a recipe/,
  )
  await expect(Library.open(['LICENSE'])).rejects.toThrow(/got a file/)
  const { start } = await Library.open([join(dir, 'hostile', 'alpha__aaaaaaa')])
  expect(start).toBe('#/jobs/hostile/trials/alpha__aaaaaaa')
})
