import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const guide = readFileSync('docs/guides/evaluate-a-model.md', 'utf8').split('\n')
const place = join(scratch, 'guide')
/** Every line that the guide tells a reader to type, in order. */
const lines = guide.flatMap((line) => (line.startsWith('    npx ot-agent ') ? [line.trim()] : []))
/** A command's output according to the guide. */
const shown = guide.flatMap((line) => (/^ {4}good /.test(line) ? [line.trim()] : []))
/** Runs for as long as the reader's terminal is open; here the test serves it. */
const serving = 'npx ot-agent serve --engine scripted --tasks examples/tasks'

let server: ServedModelService
beforeAll(async () => {
  mkdirSync(place, { recursive: true })
  symlinkSync(resolve('examples'), join(place, 'examples'))
  const engine = scripted.make(scripted.options.parse({ tasks: resolve('examples/tasks') }), { env: {}, stateDir })
  server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
})
afterAll(() => server.close())

async function shell(line: string) {
  const command = line
    .replaceAll('http://localhost:8000', server.origin)
    .replaceAll('npx ot-agent', `${process.execPath} ${resolve('bin/ot-agent.js')}`)
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  const child = spawn('bash', ['-c', command], { cwd: place, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

withSandboxes('the guide to evaluations', () => {
  test('its commands do what it shows', async () => {
    expect(lines[0]).toBe(serving)
    let printed = ''
    for (const line of lines.slice(1)) {
      const { status, stdout, stderr } = await shell(line)
      expect(status, `${line}\n${stdout}${stderr}`).toBe(0)
      printed += stdout
    }
    expect(shown.length).toBe(2)
    for (const line of shown) expect(printed).toContain(line)
  })
})
