import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
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

withSandboxes('artefacts', () => {
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

  test('that do not all come leave no part behind, and nothing of theirs stands in the way of the manifest', async () => {
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

  test('sees the declared and collected artefacts and nothing else of the agent', async () => {
    const test =
      '[ "$(cat /answer)" = 42 ] && [ "$(/work/tool)" = hi ] && [ "$(cat /logs/artifacts/collected.txt)" = 42 ] && [ ! -e /work/out ] && echo 1 > /logs/verifier/reward.txt'
    const { record } = await playTrial({ agent: maker, task: { toml, test } })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(record.isolation).toBe('separate')
  })

  test('runs although an artefact is missing: the tests decide what that is worth', async () => {
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
