import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { spawnProcess } from '../src/lib/spawn-process.ts'

/** A page in a real browser, driven over the DevTools protocol. */
export interface BrowserPage {
  /** Loads an address and waits until the page reports that it is ready. */
  open(url: string): Promise<void>
  /** The value of an expression in the page; promises are awaited. */
  evaluate<T>(expression: string): Promise<T>
  /** Waits until an expression is true. */
  until(expression: string): Promise<void>
  press(key: string): Promise<void>
  /** Saves a screenshot as NAME.webp in the folder OT_AGENT_SCREENSHOTS; does nothing if that is not set. */
  shoot(name: string): Promise<void>
  /** Console messages, errors and content security policy violations. */
  readonly problems: string[]
  /** Addresses that the page requested. */
  readonly requests: string[]
  size(width: number, height: number): Promise<void>
  dark(on: boolean): Promise<void>
  close(): Promise<void>
}

interface Reply {
  readonly id?: number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

/** Starts headless Chromium with one page and its own profile. */
export async function startChromium(): Promise<BrowserPage> {
  const profile = await mkdtemp(join(tmpdir(), 'ot-agent-chromium-'))
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--hide-scrollbars',
  ]
  const quiet = [
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-extensions',
  ]
  const child = await spawnProcess(
    'chromium',
    [...flags, ...quiet, `--user-data-dir=${profile}`, '--remote-debugging-port=0', 'about:blank'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const address = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stderr.on('data', (bytes: Buffer) => {
      said += bytes.toString()
      const [, found] = /DevTools listening on (ws:\S+)/.exec(said) ?? []
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error(`chromium ended: ${said.slice(-500)}`)))
  })
  const { host } = new URL(address)
  const targets = (await (await fetch(`http://${host}/json`)).json()) as {
    type: string
    webSocketDebuggerUrl: string
  }[]
  const socket = new WebSocket(targets.find(({ type }) => type === 'page')!.webSocketDebuggerUrl, {
    maxPayload: 1 << 28,
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const page = drive(socket)
  await page.start()
  return {
    ...page,
    async close() {
      socket.close()
      child.kill('SIGKILL')
      await ended
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Keys whose name is not the character they type. */
const codes: Readonly<Record<string, number>> = { Enter: 13, Escape: 27, ArrowLeft: 37, ArrowRight: 39 }

function drive(socket: WebSocket) {
  const waiting = new Map<
    number,
    { resolve: (result: Record<string, unknown>) => void; reject: (error: Error) => void }
  >()
  const problems: string[] = []
  const requests: string[] = []
  let last = 0
  socket.on('message', (data) => {
    const { id, method, params = {}, result, error } = JSON.parse(String(data)) as Reply
    const call = id === undefined ? undefined : waiting.get(id)
    if (call && error) call.reject(new Error(error.message))
    else if (call) call.resolve(result ?? {})
    const text = JSON.stringify(params)
    if (method === 'Runtime.exceptionThrown') problems.push(text)
    if (method === 'Runtime.consoleAPICalled') problems.push(text)
    if (method === 'Log.entryAdded') problems.push(text)
    if (method === 'Page.javascriptDialogOpening') problems.push(`dialog ${text}`)
    if (method === 'Network.requestWillBeSent') requests.push(String(Object(params.request).url))
  })
  const send = (method: string, params: object = {}) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      last++
      waiting.set(last, { resolve, reject })
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  const evaluate = async <T>(expression: string): Promise<T> => {
    const options = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
    const { result, exceptionDetails } = await send('Runtime.evaluate', options)
    if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails).slice(0, 500)}`)
    return Object(result).value as T
  }
  // Polls from here: a promise inside the page would fail when the page reloads.
  const until = async (expression: string) => {
    const end = Date.now() + 50_000
    let why = ''
    while (Date.now() < end) {
      const met = await evaluate<boolean>(`Boolean(${expression})`).catch((error: Error) => {
        why = `, ${error.message}`
        return false
      })
      if (met) return
      await setTimeout(20)
    }
    const shown = await evaluate<string>('document.body.innerText.slice(0, 600)')
    throw new Error(`not met: ${expression}${why} on ${shown}`)
  }
  return {
    ...{ evaluate, until, problems, requests },
    async start() {
      for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(`${domain}.enable`)
      await send('Emulation.setDeviceMetricsOverride', {
        width: 1280,
        height: 900,
        deviceScaleFactor: 1,
        mobile: false,
      })
    },
    async open(url: string) {
      const now = await evaluate<string>('location.href')
      await evaluate(`document.querySelector('main')?.removeAttribute('data-ready')`)
      if (now === url) await evaluate(`dispatchEvent(new HashChangeEvent('hashchange'))`)
      else if (url.includes('#') && now.split('#')[0] === url.split('#')[0])
        await evaluate(`location.href = ${JSON.stringify(url)}`)
      else await send('Page.navigate', { url })
      await until(`document.querySelector('main')?.hasAttribute('data-ready')`)
    },
    async press(key: string) {
      const text = key.length === 1 ? { text: key } : key === 'Enter' ? { text: '\r' } : {}
      const code = { windowsVirtualKeyCode: codes[key] ?? key.toUpperCase().charCodeAt(0) }
      await send('Input.dispatchKeyEvent', { type: 'keyDown', key, ...text, ...code })
      await send('Input.dispatchKeyEvent', { type: 'keyUp', key, ...code })
    },
    async shoot(name: string) {
      const folder = process.env.OT_AGENT_SCREENSHOTS
      if (!folder) return
      const { data } = await send('Page.captureScreenshot', { format: 'webp', quality: 80 })
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, `${name}.webp`), Buffer.from(String(data), 'base64'))
    },
    async size(width: number, height: number) {
      await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
    },
    async dark(on: boolean) {
      await send('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: on ? 'dark' : 'light' }],
      })
    },
  }
}
