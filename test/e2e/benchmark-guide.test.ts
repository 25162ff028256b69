import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { parseEngineFile } from '../../src/formats/engine-yaml.ts'
import { renderVllmCommand } from '../../src/formats/vllm-command.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const guide = readFileSync('docs/guides/benchmark.md', 'utf8')
const place = join(scratch, 'guide')
/** Every line that the guide tells a reader to type, in order. */
const lines = guide.split('\n').flatMap((line) => (/^ {4}(npx ot-agent|curl) /.test(line) ? [line.trim()] : []))

/** Runs for as long as the reader's terminal is open; here the test serves it. */
const serving = 'npx ot-agent serve --engine scripted --tasks examples/tasks'

let server: ServedModelService

/** The reader's first line, but on a free port. */
beforeAll(async () => {
  mkdirSync(place, { recursive: true })
  symlinkSync(resolve('examples'), join(place, 'examples'))
  const engine = scripted.make(scripted.options.parse({ tasks: resolve('examples/tasks') }), { env: {}, stateDir })
  server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
  writeFileSync(join(place, 'agent_config.json'), here(blockOf('json')))
})
afterAll(() => server.close())

withSandboxes('the benchmark guide', () => {
  test('has a line that serves the stand-in', () => {
    expect(lines).toContain(serving)
  })

  test.each(lines.filter((line) => line !== serving))('%s', async (line) => {
    const command = here(line).replaceAll('npx ot-agent', `${process.execPath} ${resolve('bin/ot-agent.js')}`)
    const { code, output } = await shell(command)
    expect(code, output).toBe(0)
    if (/ run .*--job-name/.test(line)) expect(output).toMatch(/ 1\.000 +1\.000 /)
  })
})

test('its engine file starts vLLM', () => {
  const file = parseEngineFile(blockOf('yaml'), 'engine.yaml')
  const { argv } = renderVllmCommand(file.vllm_server!, { host: '127.0.0.1', port: 8000, model: null })
  expect(argv.join(' ')).toContain('--served-model-name my-model --tensor-parallel-size 2')
})

/** The content of the guide's code block in a language. */
function blockOf(kind: string): string {
  return new RegExp(`\`\`\`${kind}\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? ''
}

function here(text: string): string {
  return text.replaceAll('http://localhost:8000', server.origin)
}

async function shell(command: string): Promise<{ code: number; output: string }> {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  const child = spawn('bash', ['-c', command], { cwd: place, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}
