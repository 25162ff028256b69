import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { catchPrinted } from '../../../test/printed.ts'
import { note } from '../../cli/output.ts'
import { jobConfigOf } from '../job/job-config.ts'
import { modelUseOf } from '../job/model-use.ts'
import { jobRequestOf } from './job-request.ts'
import { runOptions } from './run-options.ts'

const requestOf = (...argv: string[]) => jobRequestOf(runOptions().parse(argv, { from: 'user' }).opts())

async function fileWith(name: string, document: object): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'model-options-')), name)
  await writeFile(path, JSON.stringify(document))
  return path
}

async function asked(...argv: string[]) {
  catchPrinted()
  return jobConfigOf(requestOf(...argv), note)
}

async function agentsFor(...argv: string[]) {
  const { config } = await asked(...argv)
  return config.agents.map(({ name, importPath, modelName, kwargs }) => ({
    name: name ?? importPath,
    modelName,
    kwargs,
  }))
}

describe('a file that sets up one model as an agent', () => {
  const settings = {
    agent_name: 'nano',
    model: 'org/nano',
    api_base: 'http://localhost:8000/v1',
    api_type: 'openai',
    temperature: 0.6,
    max_tokens: 2048,
  }

  test('is a job file with terminus-2 on that model', async () => {
    expect(await agentsFor('-c', await fileWith('agent_config.json', settings))).toEqual([
      {
        name: 'terminus-2',
        modelName: 'org/nano',
        kwargs: { api_base: settings.api_base, temperature: 0.6, llm_kwargs: { max_tokens: 2048 } },
      },
    ])
  })

  test('gives its model and address, but not its temperature, to an agent that is named', async () => {
    const path = await fileWith('agent_config.json', settings)
    const kwargs = { api_base: settings.api_base }
    expect(await agentsFor('-c', path, '-a', 'other')).toEqual([{ name: 'other', modelName: 'org/nano', kwargs }])
    expect(await agentsFor('-c', path, '--agent-import-path', './a.ts')).toEqual([
      { name: resolve('a.ts'), modelName: 'org/nano', kwargs },
    ])
  })

  test('yields to options', async () => {
    const path = await fileWith('agent_config.json', settings)
    const [agent] = await agentsFor('-c', path, '-m', 'x', '--api-base', 'http://y/v1', '--ak', 'temperature=0')
    expect(agent).toMatchObject({ modelName: 'x', kwargs: { api_base: 'http://y/v1', temperature: 0 } })
  })

  test('is refused by the name of what is wrong in it', async () => {
    const path = await fileWith('agent_config.json', { ...settings, api_type: 'grpc' })
    await expect(asked('-c', path)).rejects.toThrow(`${path}: api_type: expected one of openai, got "grpc"`)
  })
})

describe('an engine', () => {
  test('is kept with the agent, and terminus-2 is the agent when nobody names one', async () => {
    expect(
      await agentsFor('-m', 'x', '--engine', 'scripted', '--engine-kwarg', 'seed=3', '--api-key-env', 'K'),
    ).toEqual([
      {
        name: 'terminus-2',
        modelName: 'x',
        kwargs: { engine: { name: 'scripted', api_key_env: 'K', options: { seed: 3 } } },
      },
    ])
    expect((await agentsFor('-a', 'nop', '-m', 'x', '--engine', 'scripted'))[0]).toMatchObject({ name: 'nop' })
    expect((await agentsFor('-m', 'x'))[0]).toMatchObject({ name: 'terminus-2', kwargs: {} })
  })

  test('of a file names the model and brings options for the agent', async () => {
    const path = await fileWith('engine.json', {
      engine: { type: 'vllm_local', vllm_local: { base_url: 'http://node:8000/v1', model_name: 'served' } },
      extra_agent_kwargs: { max_turns: 5, temperature: 1 },
    })
    expect(await agentsFor('--engine-config', path, '--ak', 'temperature=0.1')).toEqual([
      { name: 'terminus-2', modelName: 'served', kwargs: { max_turns: 5, temperature: 0.1, engine: { config: path } } },
    ])
    expect((await agentsFor('--engine-config', path, '-m', 'mine'))[0]).toMatchObject({ modelName: 'mine' })
  })
})

describe('how models may be used', () => {
  test('is free when nobody says otherwise', () => {
    expect(modelUseOf(requestOf(), undefined)).toEqual({
      budget: { costUsd: null, tokens: null, requests: null, wallSec: null },
      pace: {},
      adaptive: null,
    })
  })

  test('has budgets and limits per minute', () => {
    const options = requestOf(
      '--budget-usd',
      '2.5',
      '--budget-tokens',
      '9',
      '--budget-requests',
      '8',
      '--budget-sec',
      '7',
    )
    expect(modelUseOf(options, undefined).budget).toEqual({ costUsd: 2.5, tokens: 9, requests: 8, wallSec: 7 })
    expect(modelUseOf(requestOf('--rpm', '60', '--tpm', '1000'), undefined).pace).toEqual({ rpm: 60, tpm: 1000 })
  })

  test('adapts when an option or the job file says so, and options win', async () => {
    expect(modelUseOf(requestOf('--adaptive'), undefined).adaptive).toMatchObject({ minLimit: 1, maxLimit: 256 })
    const file = {
      enabled: true,
      algorithm: 'gradient2',
      min_limit: 4,
      max_limit: 64,
      metrics_endpoint: 'http://x/metrics',
    }
    for (const document of [
      { adaptive_concurrency: file },
      { orchestrator: { type: 'local', adaptive_concurrency: file } },
    ]) {
      const { adaptive } = await asked('-c', await fileWith('job.json', document))
      expect(
        modelUseOf(requestOf('--adaptive-max', '32', '--adaptive-interval', '5'), adaptive).adaptive,
      ).toMatchObject({
        minLimit: 4,
        maxLimit: 32,
        metricsUrls: ['http://x/metrics'],
        pollIntervalSec: 5,
      })
      expect(modelUseOf(requestOf(), { ...file, enabled: false }).adaptive).toBeNull()
    }
  })

  test('says which setting is wrong', () => {
    expect(() => modelUseOf(requestOf('--adaptive-min', '9', '--adaptive-max', '3'), undefined)).toThrow(/min_limit/)
    expect(() => modelUseOf(requestOf(), { enabled: true, min_limt: 1 })).toThrow('min_limt is not a known key')
  })
})

test('--dataset is another word for --path', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'dataset-'))
  const { config } = await asked('--dataset', dir)
  expect(config.datasets).toMatchObject([{ path: dir }])
  await expect(asked('-p', dir, '--dataset', '/other')).rejects.toThrow(/got both/)
})
