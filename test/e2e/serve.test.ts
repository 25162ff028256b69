import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { findProgram } from '../../src/lib/programs.ts'
import { scratch, withSandboxes } from './kit.ts'

const tasks = resolve('examples/tasks')
const started: ChildProcessWithoutNullStreams[] = []

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
  }
})

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built program, as a user starts it. */
function otAgent(argv: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), ...argv], {
    env: { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache'), ...env },
  })
  started.push(child)
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(([code]): Ended => ({ code, stdout, stderr }))
  /** Waits for a pattern on stdout or stderr. */
  const says = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(stdout + stderr)) {
      if (child.exitCode !== null) throw new Error(`ended without saying ${pattern}: ${stdout}${stderr}`)
      await new Promise((later) => setTimeout(later, 10))
    }
    return stdout
  }
  return { child, ended, says }
}

async function serveStandIn(...more: string[]) {
  const served = otAgent(['serve', '--engine', 'scripted', '--tasks', tasks, '--port', '0', '--json', ...more])
  const { baseUrl, origin } = JSON.parse(await served.says(/^}$/m))
  return { ...served, baseUrl: String(baseUrl), origin: String(origin) }
}

describe('serve', () => {
  test('a stand-in responds, its endpoint is recorded, and both are gone after a stop', async () => {
    const file = join(scratch, 'endpoint.json')
    const { child, ended, says, baseUrl, origin } = await serveStandIn('--endpoint-json', file, '-m', 'teacher')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      model_name: 'teacher',
      endpoint_url: origin,
      api_path: '/v1',
      health_path: '/health',
      created_by: 'ot-agent serve',
    })
    const body = JSON.stringify({ model: 'teacher', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 50 })
    const answer = await fetch(`${baseUrl}/chat/completions`, { method: 'POST', body })
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { content: expect.stringContaining('stand-in') } }],
    })
    await says(/POST \/v1\/chat\/completions 200/)
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
    expect(existsSync(file)).toBe(false)
  })

  test('where others reach it, a key is made, shown once and asked for; a named one is neither shown nor written', async () => {
    const made = await serveStandIn('--host', '0.0.0.0', '-m', 'teacher')
    const { port } = new URL(made.origin)
    expect((await fetch(`http://127.0.0.1:${port}/v1/models`)).status).toBe(401)
    made.child.kill('SIGTERM')
    const [, key] = /shown only once: (sk-serve-[0-9a-f]{48})\n/.exec((await made.ended).stderr) ?? []
    expect(key).toBeDefined()
    const file = join(scratch, 'keyed.json')
    const line = ['serve', '--engine', 'scripted', '--tasks', tasks, '--port', '0', '--json', '--endpoint-json', file]
    const named = otAgent([...line, '--key-env', 'MY_SERVE_KEY'], { MY_SERVE_KEY: 'sesame-4711' })
    const { baseUrl } = JSON.parse(await named.says(/^}$/m))
    expect(JSON.parse(readFileSync(file, 'utf8')).api_key).toBe(`\${MY_SERVE_KEY}`)
    expect((await fetch(`${baseUrl}/models`)).status).toBe(401)
    expect((await fetch(`${baseUrl}/models`, { headers: { authorization: 'Bearer sesame-4711' } })).status).toBe(200)
    named.child.kill('SIGTERM')
    const { stdout, stderr: told } = await named.ended
    expect(stdout + told).not.toContain('sesame')
    const unset = await otAgent([...line, '--key-env', 'NO_SUCH_KEY']).ended
    expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('NO_SUCH_KEY') })
  })

  test('--check looks at a server as the guide does', async () => {
    const { baseUrl } = await serveStandIn()
    const good = await otAgent(['serve', '--check', '--api-base', baseUrl]).ended
    expect(good).toMatchObject({ code: 0, stderr: '' })
    expect(good.stdout).toMatch(/^✓ connected to http.*\n {2}models: scripted\n✓ scripted answers ".*stand-in/)
    const wrong = await otAgent(['serve', '--check', '--api-base', baseUrl, '-m', 'other']).ended
    expect(wrong).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^✗ .*does not serve other; it serves scripted\n$/),
    })
    const gone = await otAgent(['serve', '--check', '--api-base', 'http://127.0.0.1:9/v1', '--json']).ended
    expect(gone.code).toBe(3)
    expect(JSON.parse(gone.stdout)).toMatchObject({ ok: false, checks: [{ name: 'connection', ok: false }] })
  })

  test.each([
    ['nothing to serve', ['serve'], /neither --engine nor --config/],
    ['an unknown engine', ['serve', '--engine', 'constructor'], /unknown engine "constructor"/],
    ['an unknown option of an engine', ['serve', '--engine', 'scripted', '--engine-kwarg', 'sed=1'], /sed/],
    ['tasks that are not there', ['serve', '--engine', 'scripted', '--tasks', '/no/such'], /\/no\/such/],
    ['a script that is not there', ['serve', '--engine', 'scripted', '--script', '/no/such.yaml'], /\/no\/such\.yaml/],
    ['an engine without a model', ['serve', '--engine', 'none'], /expected a model to serve/],
    ['a port that is none', ['serve', '--engine', 'scripted', '--port', '70000'], /70000/],
    [
      'an endpoint file where none can be',
      ['serve', '--engine', 'scripted', '--port', '0', '--endpoint-json', '/etc/passwd/x.json'],
      /\/etc\/passwd/,
    ],
    ['nothing to check', ['serve', '--check'], /expected a server to check/],
    [
      'an endpoint file that is not there',
      ['serve', '--check', '--endpoint-json', '/no/such.json'],
      /\/no\/such\.json/,
    ],
  ])('%s is refused in two lines', async (_, argv, message) => {
    const { code, stdout, stderr } = await otAgent(argv).ended
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: .+\nhint: .+\n$/)
    expect(stderr).toMatch(message)
  })

  test('a pipe is no endpoint file: it is refused, and stays where it is', async () => {
    const pipe = join(scratch, 'pipe')
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
    const { code, stderr } = await otAgent(['serve', '--engine', 'scripted', '--port', '0', '--endpoint-json', pipe])
      .ended
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: --endpoint-json: .+\nhint: .+\n$/),
    })
    expect(lstatSync(pipe).isFIFO()).toBe(true)
  })
})

describe('serve with vllm_server', () => {
  /** A folder with a program called vllm that records how it was started, and answers after a moment as vLLM does. */
  async function fakeVllm(name: string, program: string) {
    const bin = join(scratch, name)
    mkdirSync(bin, { recursive: true })
    const notes = join(bin, 'started.json')
    writeFileSync(join(bin, 'vllm'), `#!${process.execPath}\n${program.replaceAll('NOTES', JSON.stringify(notes))}`)
    chmodSync(join(bin, 'vllm'), 0o755)
    const port = await freePort()
    const config = join(bin, 'engine.yaml')
    writeFileSync(
      config,
      [
        'engine: {type: vllm_local, model: served, vllm_local: {endpoint_json: ENDPOINT}}'.replace(
          'ENDPOINT',
          join(bin, 'endpoint.json'),
        ),
        `backend: {type: vllm, api_port: ${port}, healthcheck_max_attempts: 200, healthcheck_retry_delay: 0.05}`,
        'vllm_server: {model_path: org/weights, custom_model_name: served, max_model_len: 4096, trust_remote_code: true, logging_level: DEBUG}',
      ].join('\n'),
    )
    return { bin, config, notes, port }
  }

  const server = `
    const { createServer } = require('node:http')
    const { writeFileSync } = require('node:fs')
    const argv = process.argv.slice(2)
    writeFileSync(NOTES, JSON.stringify({ argv, level: process.env.VLLM_LOGGING_LEVEL, pid: process.pid }))
    const page = JSON.stringify({ data: [{ id: 'served', max_model_len: 4096 }] })
    const listen = () => createServer((_, response) => response.end(page)).listen(Number(argv[argv.indexOf('--port') + 1]), '127.0.0.1')
    setTimeout(listen, 200)
  `

  test('the server is started from its file, awaited, announced, and stopped with us', async () => {
    const { bin, config, notes, port } = await fakeVllm('vllm-good', server)
    const { child, ended, says } = otAgent(['serve', '--config', config, '--json'], {
      PATH: `${bin}:${process.env.PATH}`,
    })
    expect(JSON.parse(await says(/^}$/m))).toMatchObject({ model: 'served', baseUrl: `http://127.0.0.1:${port}/v1` })
    const { argv, level, pid } = JSON.parse(readFileSync(notes, 'utf8'))
    expect(argv.join(' ')).toBe(
      `serve org/weights --host 127.0.0.1 --port ${port} --served-model-name served --max-model-len 4096 --trust-remote-code`,
    )
    expect(level).toBe('DEBUG')
    expect(JSON.parse(readFileSync(join(bin, 'endpoint.json'), 'utf8'))).toMatchObject({ model_name: 'served' })
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
    expect(() => process.kill(pid, 0)).toThrow()
    expect(existsSync(join(bin, 'endpoint.json'))).toBe(false)
  })

  /** Prints help as vLLM does, without an option that some versions lack. */
  const explained = `
    if (process.argv.includes('--help=all')) {
      console.log('usage: vllm serve [model_tag] [options]\\n  --host HOST\\n  --port PORT\\n  --served-model-name NAME\\n  --trust-remote-code')
      process.exit(0)
    }
  `

  test('options that the server does not have are left out with their values, and what a person added stays', async () => {
    const { bin, config, notes, port } = await fakeVllm('vllm-old', explained + server)
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace('logging_level: DEBUG', 'swap_space: 4, extra_args: --my-own 1'),
    )
    const { child, ended, says } = otAgent(['serve', '--config', config], { PATH: `${bin}:${process.env.PATH}` })
    await says(/serving served at/)
    const { argv } = JSON.parse(readFileSync(notes, 'utf8'))
    expect(argv.join(' ')).toBe(
      `serve org/weights --host 127.0.0.1 --port ${port} --served-model-name served --trust-remote-code --my-own 1`,
    )
    child.kill('SIGTERM')
    const { stderr } = await ended
    expect(stderr).toContain('this server does not support --max-model-len; not passing it')
    expect(stderr).toContain('this server does not support --swap-space; not passing it')
  })

  /** Requires its key as vLLM does: below /v1, from VLLM_API_KEY. */
  const keyed = `
    const { createServer } = require('node:http')
    const argv = process.argv.slice(2)
    const key = process.env.VLLM_API_KEY
    require('node:fs').writeFileSync(NOTES, JSON.stringify({ argv, key }))
    const page = JSON.stringify({ data: [{ id: 'served', max_model_len: 4096 }] })
    const reply = JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }] })
    createServer((request, response) => {
      const isAllowed = !key || request.headers.authorization === 'Bearer ' + key || !request.url.startsWith('/v1')
      response.statusCode = isAllowed ? 200 : 401
      response.end(isAllowed ? (request.method === 'GET' ? page : reply) : '{}')
    }).listen(Number(argv[argv.indexOf('--port') + 1]), '0.0.0.0')
  `

  test('a server that other machines reach has a key, which only it and the endpoint file know', async () => {
    const { bin, config, notes, port } = await fakeVllm('vllm-keyed', keyed)
    const env = { PATH: `${bin}:${process.env.PATH}` }
    const line = ['serve', '--config', config, '--host', '0.0.0.0', '--advertise', '127.0.0.1']
    const { child, ended, says } = otAgent(line, env)
    await says(/serving served at/)
    const { argv, key } = JSON.parse(readFileSync(notes, 'utf8'))
    expect(key).toMatch(/^sk-serve-[0-9a-f]{48}$/)
    expect(argv.join(' ')).not.toContain(key)
    const file = join(bin, 'endpoint.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ api_key: key })
    expect(lstatSync(file).mode & 0o777).toBe(0o600)
    expect((await fetch(`http://127.0.0.1:${port}/v1/models`)).status).toBe(401)
    const checked = await otAgent(['serve', '--check', '--endpoint-json', file]).ended
    expect(checked, checked.stdout).toMatchObject({ code: 0 })
    const byFile = await otAgent(['serve', '--check', '--config', config]).ended
    expect(byFile, byFile.stdout).toMatchObject({ code: 0 })
    child.kill('SIGTERM')
    const { stdout, stderr } = await ended
    expect(stdout + stderr + checked.stdout + checked.stderr + byFile.stdout).not.toContain(key)
  })

  test('a key of one’s own is named by its variable, and none is asked for on loopback or with --no-key', async () => {
    const { bin, config, notes } = await fakeVllm('vllm-own-key', keyed)
    const started = async (...more: string[]) => {
      const env = { PATH: `${bin}:${process.env.PATH}`, MY_KEY: 'sk-mine' }
      const { child, ended, says } = otAgent(['serve', '--config', config, ...more], env)
      await says(/serving served at/)
      const file = JSON.parse(readFileSync(join(bin, 'endpoint.json'), 'utf8'))
      child.kill('SIGTERM')
      await ended
      return { file, key: JSON.parse(readFileSync(notes, 'utf8')).key }
    }
    const any = ['--host', '0.0.0.0', '--advertise', '127.0.0.1']
    expect(await started(...any, '--key-env', 'MY_KEY')).toMatchObject({
      file: { api_key: `\${MY_KEY}` },
      key: 'sk-mine',
    })
    for (const open of [await started(), await started(...any, '--no-key')]) {
      expect(open.key).toBe('')
      expect(open.file).not.toHaveProperty('api_key')
    }
  })

  /** Forwards connections to a port; a file tells the first one to end. */
  const forwarder = `
    const { connect, createServer } = require('node:net')
    const { existsSync, writeFileSync } = require('node:fs')
    const [from, to, mark] = process.argv.slice(-3)
    const isFirst = !existsSync(mark)
    writeFileSync(mark, String(process.pid))
    if (isFirst) setInterval(() => existsSync(mark + '.end') && process.exit(9), 20)
    createServer((socket) => {
      socket.pipe(connect(Number(to), '127.0.0.1')).pipe(socket)
    }).listen(Number(from), '127.0.0.1')
  `

  test('a tunnel of the engine file makes the server reachable from outside, only with a key, and is opened again when it ends', async () => {
    const { bin, config } = await fakeVllm('vllm-tunnel', keyed)
    const [outside, mark] = [await freePort(), join(bin, 'mark')]
    const command = JSON.stringify([process.execPath, '-e', forwarder, String(outside), '{port}', mark])
    const tunnel = `tunnel: {command: ${command}, url: "http://127.0.0.1:${outside}", check_sec: 0.2}`
    writeFileSync(config, readFileSync(config, 'utf8').replace('logging_level: DEBUG', tunnel))
    const env = { PATH: `${bin}:${process.env.PATH}` }
    const open = await otAgent(['serve', '--config', config, '--no-key'], env).ended
    expect(open).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: --no-key: .+\nhint: .+\n$/) })
    const { child, ended, says } = otAgent(['serve', '--config', config], env)
    await says(/reachable from outside at/)
    const { api_key: key, public_url: url } = JSON.parse(readFileSync(join(bin, 'endpoint.json'), 'utf8'))
    expect(url).toBe(`http://127.0.0.1:${outside}`)
    const first = readFileSync(mark, 'utf8')
    expect((await fetch(`${url}/v1/models`)).status).toBe(401)
    writeFileSync(`${mark}.end`, '')
    await says(/the tunnel ended \(.*exit code 9\); reopening it/)
    const answers = () =>
      fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(
        ({ status }) => status,
        () => 0,
      )
    await expect.poll(answers).toBe(200)
    const second = readFileSync(mark, 'utf8')
    expect(second).not.toBe(first)
    child.kill('SIGTERM')
    const { code, stdout, stderr } = await ended
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain(key)
    expect(() => process.kill(Number(second), 0)).toThrow()
  })

  test('a tunnel to several copies, or by a program that is not there, is refused before anything is started', async () => {
    const { bin, config, notes } = await fakeVllm('vllm-no-tunnel', keyed)
    const plain = readFileSync(config, 'utf8')
    const refused = async (more: string) => {
      writeFileSync(config, plain.replace('logging_level: DEBUG', more))
      const { code, stderr } = await otAgent(['serve', '--config', config], { PATH: `${bin}:${process.env.PATH}` })
        .ended
      expect(code).toBe(2)
      return stderr
    }
    const tunnel = (program: string) => `tunnel: {command: [${program}], url: "https://model.example.org"}`
    expect(await refused(`num_replicas: 2, ${tunnel('ssh')}`)).toMatch(/expected one copy .+\nhint: .+\n$/)
    expect(await refused(tunnel('no-such-program'))).toMatch(/found no no-such-program on this machine\nhint: .+\n$/)
    expect(existsSync(notes)).toBe(false)
  })

  test('a key among the arguments of a server is refused', async () => {
    const { bin, config } = await fakeVllm('vllm-key-argument', keyed)
    writeFileSync(config, readFileSync(config, 'utf8').replace('logging_level: DEBUG', 'extra_args: --api-key sk-x'))
    const { code, stderr } = await otAgent(['serve', '--config', config], { PATH: `${bin}:${process.env.PATH}` }).ended
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: vllm_server: expected no --api-key .+\nhint: .+--key-env\n$/)
  })

  test('a server that ends by itself is an infrastructure failure, and leaves no endpoint file', async () => {
    const { bin, config } = await fakeVllm('vllm-dies', 'setTimeout(() => process.exit(7), 100)')
    const { code, stdout, stderr } = await otAgent(['serve', '--config', config], {
      PATH: `${bin}:${process.env.PATH}`,
    }).ended
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain('failed: vllm ended with exit code 7')
    expect(existsSync(join(bin, 'endpoint.json'))).toBe(false)
  })

  // If the real program is installed, this would start it.
  test.skipIf(findProgram('vllm') !== null)('without the program it is refused in two lines', async () => {
    const { config } = await fakeVllm('vllm-missing', '')
    const { code, stderr } = await otAgent(['serve', '--config', config], { PATH: '/nonexistent' }).ended
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: expected the program vllm.*\nhint: .+\n$/)
  })
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

withSandboxes('run with an engine', () => {
  test('terminus-2 scores 1 on every example task, played in process', async () => {
    const jobs = join(scratch, 'jobs')
    const engine = ['-m', 'scripted', '--engine', 'scripted', '--engine-kwarg', `tasks=${tasks}`]
    const output = join(scratch, 'results/out.json')
    const line = [
      'run',
      '--dataset',
      tasks,
      ...engine,
      '-o',
      jobs,
      '--job-name',
      'all',
      '--output',
      output,
      '--json',
      '--verbose',
    ]
    const { code, stdout, stderr } = await otAgent(line).ended
    expect(code, stderr).toBe(0)
    const summary = JSON.parse(stdout)
    expect(summary.ends).toMatchObject({ trials: 12, scored: 12, meanOverAll: 1 })
    expect(JSON.parse(readFileSync(output, 'utf8'))).toEqual(summary)
    expect(stderr).toMatch(/csv-to-json__\w+: scored/)
  })

  test('a model set up in one file runs, and the job is resumed from its own directory', async () => {
    const { baseUrl } = await serveStandIn('-q')
    const config = join(scratch, 'agent_config.json')
    const settings = {
      agent_name: 'teacher',
      model: 'scripted',
      api_base: baseUrl,
      api_type: 'openai',
      temperature: 0.6,
      max_tokens: 8192,
    }
    writeFileSync(config, JSON.stringify(settings))
    const jobs = join(scratch, 'jobs')
    const line = [
      'run',
      '-p',
      tasks,
      '--config',
      config,
      '-i',
      '*fix-rotate',
      '-i',
      '*csv-to-json',
      '-n',
      '1',
      '--jobs-dir',
      jobs,
      '--job-name',
      'one-model',
      '--json',
    ]
    const first = await otAgent([...line, '--budget-requests', '6']).ended
    expect(JSON.parse(first.stdout)).toMatchObject({ finished: false, ends: { scored: 1, meanOverScored: 1 } })
    const second = await otAgent(['jobs', 'resume', join(jobs, 'one-model'), '--json']).ended
    expect(second.code, second.stderr).toBe(0)
    expect(JSON.parse(second.stdout)).toMatchObject({ finished: true, ends: { scored: 2, meanOverAll: 1 } })
  })

  test('faults of every kind end in the right reward or the right blame, and no trial is lost', async () => {
    const kinds = [
      'rate-limit',
      'server-error',
      'drop',
      'proxy-page',
      'not-json',
      'bad-utf8',
      'malformed',
      'fenced',
      'missing-fields',
      'wrong-command',
      'truncated',
      'refusal',
      'empty',
    ]
    const faults = kinds.map((kind) => ({ kind, probability: 0.04 }))
    const engine = [
      '-m',
      'scripted',
      '--engine',
      'scripted',
      '--engine-kwarg',
      `tasks=${tasks}`,
      '--engine-kwarg',
      `faults=${JSON.stringify(faults)}`,
    ]
    const quick = ['--engine-kwarg', 'min_wait_sec=0.01']
    const line = [
      'run',
      '-p',
      tasks,
      ...engine,
      ...quick,
      '-o',
      join(scratch, 'jobs'),
      '--job-name',
      'chaos',
      '--json',
      '-q',
    ]
    const { stdout, stderr } = await otAgent(line).ended
    const { ends } = JSON.parse(stdout)
    expect(ends, stderr).toMatchObject({ trials: 12, meanOverScored: 1, cancelled: 0 })
    expect(ends.scored + (ends.failedByBoundary.model ?? 0)).toBe(12)
    expect(ends.scored).toBeGreaterThan(8)
  })
})
