import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { agentThat } from '../fakes/agents.ts'
import { faultyProvider } from '../fakes/faulty-provider.ts'
import { leftovers, playTrial, provider, withSandboxes } from './kit.ts'

const maker = agentThat(async (at) => {
  const script = [
    'mkdir -p /work/out/cache /work/empty /logs/artifacts',
    'echo 42 > /answer',
    'echo kept > /work/out/result.txt; echo big > /work/out/cache/blob',
    'printf "#!/bin/sh\\necho hi\\n" > /work/tool; chmod +x /work/tool',
    'echo extra > /logs/artifacts/extra.txt; ln -s /etc/passwd /logs/artifacts/stolen; echo "[]" > /logs/artifacts/manifest.json',
  ].join('\n')
  await at.sandbox.exec(['bash', '-c', script])
  return { kind: 'finished' }
})

withSandboxes('artifacts', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('are kept as declared, with a manifest that says what came and what did not', async () => {
    const toml =
      'artifacts = [{ source = "/work/out", destination = "results", exclude = ["cache"] }, "/work/tool", "/work/empty", "/work/none.txt"]\n'
    const { dir } = await playTrial({ agent: maker, task: { toml } })
    expect(manifest(dir)).toEqual([
      { source: '/logs/artifacts', destination: 'artifacts', type: 'directory', status: 'ok' },
      { source: '/work/out', destination: 'artifacts/results', type: 'directory', status: 'ok' },
      { source: '/work/tool', destination: 'artifacts/tool', type: 'file', status: 'ok' },
      { source: '/work/empty', destination: 'artifacts/empty', type: 'directory', status: 'empty' },
      { source: '/work/none.txt', destination: 'artifacts/none.txt', type: 'file', status: 'failed' },
    ])
    expect(readFileSync(join(dir, 'artifacts/results/result.txt'), 'utf8')).toBe('kept\n')
    expect(existsSync(join(dir, 'artifacts/results/cache'))).toBe(false)
    expect(readFileSync(join(dir, 'artifacts/extra.txt'), 'utf8')).toBe('extra\n')
    expect(statSync(join(dir, 'artifacts/tool')).mode & 0o111).not.toBe(0)
  })

  test('never bring a link that leaves their directory', async () => {
    const { dir } = await playTrial({ agent: maker })
    expect(existsSync(join(dir, 'artifacts/stolen'))).toBe(false)
  })

  test('that do not all arrive leave no partial copy, and nothing in them can replace the manifest', async () => {
    const faulty = faultyProvider(provider, {
      inside: (real) => ({
        downloadDir: async (source, target, options) => {
          await real.downloadDir(source, target, options)
          if (source !== '/logs/artifacts') return
          mkdirSync(join(target, 'manifest.json'))
          throw new Error('the rest did not come')
        },
      }),
    })
    const agent = agentThat(async (at) => {
      await at.sandbox.exec(['sh', '-c', 'echo 42 > /answer; echo extra > /logs/artifacts/extra.txt'])
      return { kind: 'finished' }
    })
    const { record, dir } = await playTrial({ agent, provider: faulty })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(manifest(dir)).toMatchObject([{ source: '/logs/artifacts', status: 'failed' }])
    expect(existsSync(join(dir, 'artifacts/extra.txt'))).toBe(false)
  })

  test('with a destination below a link land where it says, and nothing beyond the link is touched', async () => {
    const victim = mkdtempSync(join(tmpdir(), 'ot-victim-'))
    mkdirSync(join(victim, 'sub'))
    writeFileSync(join(victim, 'sub/file'), 'mine')
    const agent = agentThat(async (at) => {
      const plant = [
        'echo 42 > /answer; mkdir -p /work/out /work/linked && echo x > /work/out/x && ln -s . /work/linked/self',
        'cd /logs/artifacts && mkdir -p d/e/f kept && echo kept > kept/file && ln -s ../../.. d/e/f/up && ln -s kept inside',
        `ln -s d/e/f/up/../../../../../../../../../../../..${victim} chained && ln -s ${victim} direct`,
        // Harmless until another artifact lies at "later".
        'ln -s later/self/../../../agent trick',
      ].join(' && ')
      await at.sandbox.exec(['bash', '-c', plant])
      return { kind: 'finished' }
    })
    const at = (source: string, destination: string) => ({ source, destination, exclude: [] })
    const artifacts = [
      at('/work/out', 'chained/sub'),
      at('/work/out/x', 'direct/sub/file'),
      at('/work/out', 'inside'),
      at('/work/out/x', 'inside/deeper/x'),
      at('/work/linked', 'later'),
    ]
    const { record, dir } = await playTrial({ agent, config: { artifacts } })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(manifest(dir).map(({ status }) => status)).toEqual(Array(6).fill('ok'))
    expect(readFileSync(join(victim, 'sub/file'), 'utf8')).toBe('mine')
    expect(readdirSync(victim)).toEqual(['sub'])
    expect(readdirSync(join(dir, 'artifacts/kept'))).toEqual(['file'])
    for (const path of ['chained/sub/x', 'direct/sub/file', 'inside/deeper/x'])
      expect(readFileSync(join(dir, 'artifacts', path), 'utf8')).toBe('x\n')
    expect(existsSync(join(dir, 'artifacts/trick'))).toBe(false)
    expect(lstatSync(join(dir, 'artifacts/trick'), { throwIfNoEntry: false })).toBeUndefined()
    rmSync(victim, { recursive: true })
  })

  test('with a destination outside are refused, and the trial is scored all the same', async () => {
    const { record, dir } = await playTrial({
      agent: maker,
      config: { artifacts: [{ source: '/answer', destination: '../escaped', exclude: [] }] },
    })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(manifest(dir).at(-1)).toMatchObject({ source: '/answer', status: 'failed' })
    expect(existsSync(join(dir, '..', 'escaped'))).toBe(false)
  })
})

withSandboxes('a separate verifier', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  const toml = [
    'artifacts = ["/answer", "/work/tool"]',
    '[verifier]',
    'environment_mode = "separate"',
    '[[verifier.collect]]',
    'command = "cp /answer /logs/artifacts/collected.txt"',
  ].join('\n')

  test('sees the declared and collected artifacts and nothing else of the agent', async () => {
    const test =
      '[ "$(cat /answer)" = 42 ] && [ "$(/work/tool)" = hi ] && [ "$(cat /logs/artifacts/collected.txt)" = 42 ] && [ ! -e /work/out ] && echo 1 > /logs/verifier/reward.txt'
    const { record } = await playTrial({ agent: maker, task: { toml, test } })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(record.isolation).toBe('separate')
  })

  test('runs although an artifact is missing: the tests decide what that is worth', async () => {
    const idle = agentThat(async () => ({ kind: 'finished' }))
    expect((await playTrial({ agent: idle, task: { toml } })).record.end).toMatchObject({
      kind: 'scored',
      rewards: { reward: 0 },
    })
  })
})

function manifest(dir: string): { status: string }[] {
  return JSON.parse(readFileSync(join(dir, 'artifacts/manifest.json'), 'utf8'))
}
