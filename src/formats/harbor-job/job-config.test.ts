import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unresumableSecrets } from '../../core/redact.ts'
import {
  defaultJobConfig,
  parseJobConfig,
  parseTrialConfigDocument,
  renderJobConfig,
  renderTrialConfig,
} from './job-config.ts'
import { readDocument } from './read-document.ts'

const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/harbor-job/${name}`, import.meta.url), 'utf8')
const template = (name: string) => `\${${name}}`
const yaml = (text: string) =>
  parseJobConfig(readDocument(text, 'job.yaml'), { path: 'job.yaml', now: new Date(2026, 10, 15, 1, 2, 3) })

describe('reading', () => {
  test('an empty file is a job with every default', () => {
    const { config, warnings } = yaml('')
    expect(warnings).toEqual([])
    expect(config).toMatchObject({
      jobName: '2026-11-15__01-02-03',
      jobsDir: 'jobs',
      nAttempts: 1,
      nConcurrentTrials: 4,
      metrics: [],
    })
    expect(config.agents).toMatchObject([{ name: 'oracle', env: {}, kwargs: {} }])
    expect(config.environment).toMatchObject({ type: null, delete: true, forceBuild: false })
    expect(config.verifier).toMatchObject({ disable: false, rewardPrecedence: 'txt' })
    expect(config.retry).toMatchObject({ maxRetries: 0, include: null, minWaitSec: 1, maxWaitSec: 60 })
    expect(config.retry.exclude).toHaveLength(5)
    expect(config).toEqual(defaultJobConfig({ jobName: config.jobName }))
  })

  test('the spellings of older files are honoured and named', () => {
    const { config, warnings } = yaml(fixture('legacy.yaml'))
    expect(config).toMatchObject({
      nConcurrentTrials: 64,
      quiet: true,
      retry: { maxRetries: 2, exclude: ['AgentTimeoutError'] },
    })
    expect(config.datasets).toMatchObject([{ name: 'terminal-bench', registryPath: 'registry.json' }])
    expect(config.environment).toMatchObject({ type: 'daytona', env: { MODE: 'a=b' } })
    expect(warnings.map(({ path, kind }) => [path, kind])).toEqual([
      ['orchestrator', 'legacy'],
      ['orchestrator.adaptive_concurrency', 'unknown'],
      ['datasets[0].registry', 'legacy'],
      ['environment.env', 'legacy'],
    ])
  })

  test('an agent of older files: a placeholder is no model, and trajectory_configs is trajectory_config', () => {
    const { config, warnings } = yaml(fixture('legacy-agent.yaml'))
    expect(config.agents).toMatchObject([
      { modelName: null, kwargs: { trajectory_config: { raw_content: true, linear_history: true }, max_episodes: 5 } },
      { modelName: 'openai/placeholder', kwargs: { trajectory_config: { raw_content: false, linear_history: true } } },
    ])
    expect(config.agents.flatMap(({ kwargs }) => Object.keys(kwargs))).not.toContain('trajectory_configs')
    expect(warnings.map(({ path, kind }) => [path, kind])).toEqual([
      ['agents[0].kwargs.trajectory_configs', 'legacy'],
      ['agents[1].kwargs.trajectory_configs', 'legacy'],
    ])
  })

  test('a key at the top level wins over the same in the orchestrator block', () => {
    expect(yaml('n_concurrent_trials: 2\norchestrator: {n_concurrent_trials: 9}').config.nConcurrentTrials).toBe(2)
  })

  test('unknown keys are reported to the caller', () => {
    const { warnings } = yaml(
      'environment:\n  extra_allowed_hosts: [a.org]\nagents:\n- name: nop\n  wings: 2\nartifacts:\n- source: /a\n  color: red',
    )
    expect(warnings.map(({ path, kind }) => [path, kind])).toEqual([
      ['environment.extra_allowed_hosts', 'unknown'],
      ['agents[0].wings', 'unknown'],
      ['artifacts[0].color', 'unknown'],
    ])
  })

  test('YAML is read as Harbor reads it: yes is true, text may hold a number', () => {
    expect(yaml('quiet: yes\nn_attempts: "3"\nenvironment:\n  kwargs:').config).toMatchObject({
      quiet: true,
      nAttempts: 3,
      environment: { kwargs: {} },
    })
  })

  test('the newer name of mounts is understood', () => {
    expect(
      yaml('environment:\n  mounts: [{type: bind, source: /a, target: /b}]').config.environment.mountsJson,
    ).toHaveLength(1)
  })

  test.each([
    ['n_attempts: many', 'job.yaml: n_attempts: expected a number, got "many"'],
    ['n_attempts: 0', 'job.yaml: n_attempts: expected at least 1, got 0'],
    ['n_attempts: 1.5', 'job.yaml: n_attempts: expected a whole number, got 1.5'],
    ['agents: [{env: {PORT: 8080}}]', 'job.yaml: agents[0].env.PORT: expected a text, got 8080'],
    ['environment: {env: [oops]}', 'job.yaml: environment.env: expected a mapping, got ["oops"]'],
    ['datasets: [{path: a, name: b}]', 'job.yaml: datasets[0]: expected either path or name, got both or neither'],
    ['tasks: [{path: a, ref: b}]', 'job.yaml: tasks[0]: ref needs name, which is not set'],
    [
      'metrics: [{type: median}]',
      'job.yaml: metrics[0].type: expected one of sum, min, max, mean, uv-script, got "median"',
    ],
    ['artifacts: [3]', 'job.yaml: artifacts[0]: expected a text or a mapping, got 3'],
    ['artifacts: [{destination: x}]', 'job.yaml: artifacts[0].source: expected a text, got nothing'],
    ['- a', 'job.yaml: the document: expected a mapping, got ["a"]'],
  ])('%s is refused with what was expected and what came', (text, message) => {
    expect(() => yaml(text)).toThrow(expect.objectContaining({ name: 'UserError', message }))
  })

  test('broken syntax and unknown endings are refused by name', () => {
    expect(() => yaml('a: [')).toThrow(/^job\.yaml: expected YAML, got: /)
    expect(() => yaml('a: &a [*a]')).toThrow('job.yaml: expected YAML, got: an alias inside the value it refers to')
    expect(() => readDocument('{', 'job.json')).toThrow(/^job\.json: expected JSON, got: /)
    expect(() => readDocument('', 'job.toml')).toThrow('job.toml: expected a .yaml, .yml or .json file')
  })
})

/** The text with the literal variables of Harbor's files masked. */
const withoutLiterals = (text: string) => text.replaceAll(/"(sk-1\*{4}890|fast)"/g, '"****"')

describe('writing', () => {
  test("Harbor's own config.json comes out byte by byte as it went in, without its literal variables", () => {
    const text = withoutLiterals(fixture('made-by-harbor/config.json'))
    expect(renderJobConfig(parseJobConfig(readDocument(text, 'config.json'), { path: 'config.json' }).config, {})).toBe(
      text,
    )
  })

  test("Harbor's own trial config comes out byte by byte as it went in, without its literal variables", () => {
    const text = withoutLiterals(fixture('made-by-harbor/hello__AbC23de/config.json'))
    expect(renderTrialConfig(parseTrialConfigDocument(JSON.parse(text), 'config.json').config, {})).toBe(text)
  })

  test('a sandbox Harbor does not know is written so that Harbor can still open the file, and comes back', () => {
    const config = defaultJobConfig()
    const text = renderJobConfig({ ...config, environment: { ...config.environment, type: 'local' } }, {})
    expect(JSON.parse(text).environment).toMatchObject({ type: null, import_path: 'ot-agent:local' })
    expect(parseJobConfig(readDocument(text, 'config.json'), { path: 'config.json' }).config.environment).toMatchObject(
      {
        type: 'local',
        importPath: null,
      },
    )
  })

  test('agent_may_modify_system is written only when it is true', () => {
    const { config } = parseJobConfig(readDocument('{}', 'config.json'), { path: 'config.json' })
    expect(renderJobConfig(config)).not.toContain('agent_may_modify_system')
    const other = renderJobConfig({ ...config, verifier: { ...config.verifier, agentMayModifySystem: true } })
    expect(
      parseJobConfig(readDocument(other, 'config.json'), { path: 'config.json' }).config.verifier.agentMayModifySystem,
    ).toBe(true)
  })

  test('reward_precedence is written only when it is not the default', () => {
    const config = defaultJobConfig()
    expect(renderJobConfig(config)).not.toContain('reward_precedence')
    const other = renderJobConfig({ ...config, verifier: { ...config.verifier, rewardPrecedence: 'json' } })
    expect(
      parseJobConfig(readDocument(other, 'config.json'), { path: 'config.json' }).config.verifier.rewardPrecedence,
    ).toBe('json')
  })

  test('secrets are gone from the text, and those that cannot come back are named', () => {
    const { config } = yaml(
      `agents:\n- env: {A_KEY: abcdefghijkl, B_KEY: "${template('B')}", C_TOKEN: same-as-host}\n  kwargs: {nested: {api_key: mnopqrstuvwx}}`,
    )
    const host = { C_TOKEN: 'same-as-host' }
    const text = renderJobConfig(config, host)
    for (const secret of ['abcdefghijkl', 'mnopqrstuvwx', 'same-as-host']) expect(text).not.toContain(secret)
    expect(JSON.parse(text).agents[0].env).toEqual({
      A_KEY: '****',
      B_KEY: template('B'),
      C_TOKEN: template('C_TOKEN'),
    })
    expect(unresumableSecrets(config, host)).toEqual(['agents[0].env.A_KEY', 'agents[0].kwargs.nested.api_key'])
  })

  test('any config survives being written and read', () => {
    const name = fc.constantFrom('local', 'docker', 'modal', 'my-sandbox')
    // Values with a secret's name are masked at any depth when written; the tests above cover those.
    const options = fc
      .dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ noUnicodeString: false, maxDepth: 2 }))
      .filter(
        (kwargs) =>
          !/(key|secret|token|passw|passphrase|pass|pwd|credential|auth|env)[^"]*":|:\/\/|"__/i.test(
            JSON.stringify(kwargs),
          ),
      )
    fc.assert(
      fc.property(
        name,
        options,
        fc.nat(9),
        fc.option(fc.double({ min: 0.1, max: 9, noNaN: true })),
        (type, kwargs, retries, factor) => {
          const base = defaultJobConfig()
          const config = {
            ...base,
            environment: { ...base.environment, type, kwargs: JSON.parse(JSON.stringify(kwargs)) },
            retry: { ...base.retry, maxRetries: retries },
            timeoutMultipliers: { ...base.timeoutMultipliers, agent: factor },
          }
          expect(
            parseJobConfig(readDocument(renderJobConfig(config, {}), 'config.json'), { path: 'config.json' }),
          ).toEqual({ config, warnings: [] })
        },
      ),
    )
  })
})
