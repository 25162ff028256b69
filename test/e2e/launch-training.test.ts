import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetWriteFile } from 'hyparquet-writer'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { runCommand } from '../../src/app/flags/command.ts'
import { settingSpecs } from '../../src/app/launch/schema.ts'
import launchCommand from '../../src/cli/launch.ts'
import { UserError } from '../../src/core/errors.ts'
import type { MapStage } from '../../src/core/stage.ts'
import { SqlDatabase, sqlText } from '../../src/lib/duckdb.ts'
import sharegptExporter from '../../src/stages/exporters/sharegpt.ts'
import maskTurns from '../../src/stages/maps/mask-turns.ts'
import type { RecipeTrace } from '../../src/stages/shared/rollout-text/trace-row.ts'
import { encodeRow, rowColumns } from '../../src/store/rows/columns.ts'
import { selectNumbered } from '../../src/store/rows/shard-sql.ts'
import { gitFile } from '../fakes/hub/repo.ts'
import { HubStandIn } from '../fakes/hub/server.ts'
import { catchPrinted } from '../printed.ts'
import { someTrace } from '../recipe-traces.ts'

let dir: string
let hub: HubStandIn

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'launch-training-'))
  hub = await HubStandIn.start()
  writeModel(join(dir, 'model'), chatml)
})
afterAll(() => {
  hub.close()
  rmSync(dir, { recursive: true, force: true })
})
beforeEach(() => {
  vi.stubEnv('HF_HUB_OFFLINE', '1')
  vi.stubEnv('HF_HOME', join(dir, 'no-cache'))
})

const chatml = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}`

/** A tokenizer whose tokens are characters, with a chat template. */
function writeModel(path: string, template: string): void {
  mkdirSync(path, { recursive: true })
  const letters = [...Array(95).keys()].map((i) => String.fromCharCode(32 + i))
  const vocab = Object.fromEntries(['[UNK]', '\n', ...letters].map((letter, i) => [letter, i]))
  const model = { type: 'WordLevel', vocab, unk_token: '[UNK]' }
  const split = { type: 'Split', pattern: { Regex: '[\\s\\S]' }, behavior: 'Isolated', invert: false }
  const tokenizer = {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: split,
    post_processor: null,
    decoder: null,
    model,
  }
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(tokenizer))
  writeFileSync(
    join(path, 'tokenizer_config.json'),
    JSON.stringify({ chat_template: template, eos_token: '<|im_end|>' }),
  )
}

interface Shown {
  readonly notes: string
  readonly info: Record<string, Record<string, unknown>>
  readonly config: Record<string, unknown>
  readonly all: string
}

async function dryRun(...words: string[]): Promise<Shown> {
  const shown = catchPrinted()
  const base = ['--job-type', 'sft', '--cluster', 'vista', '--experiments-dir', join(dir, 'exp'), '--dry-run', '--json']
  await runCommand(launchCommand, ['ot-agent', 'launch'], [...base, ...words])
  const all = shown()
  const { notes, files } = JSON.parse(all) as { notes: string[]; files: Record<string, string> }
  const named = (end: string) => Object.entries(files).find(([path]) => path.endsWith(end))?.[1]
  return {
    notes: notes.join('\n'),
    info: JSON.parse(named('dataset_info.json') ?? '{}'),
    config: parse(named('_train_config.yaml') ?? '{}'),
    all,
  }
}

async function refusal(...words: string[]): Promise<string> {
  const error = await dryRun(...words).catch((e: unknown) => e)
  expect(existsSync(join(dir, 'exp'))).toBe(false)
  if (error instanceof UserError) return `${error.message} | ${error.hint}`
  throw error
}

const openai = (n: number) => ({
  id: n,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: `What is ${n}?` },
    { role: 'assistant', content: `It is ${'a'.repeat(n)}.` },
  ],
})
const sharegpt = (n: number) => ({
  conversations: openai(n).messages.map(({ role, content }) => ({
    from: role === 'user' ? 'human' : role === 'assistant' ? 'gpt' : role,
    value: content,
  })),
  source: 'x',
})

function write(name: string, rows: readonly object[]): string {
  const path = join(dir, name)
  mkdirSync(join(path, '..'), { recursive: true })
  if (name.endsWith('.parquet')) {
    const columns = Object.keys(rows[0] ?? {})
    parquetWriteFile({
      filename: path,
      columnData: columns.map((column) => ({ name: column, data: rows.map((row) => Object(row)[column]) })),
      schema: listOfMessages(columns),
    })
  } else if (name.endsWith('.json')) writeFileSync(path, JSON.stringify(rows))
  else writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

/** A list of structs as Arrow writes it. */
function listOfMessages([column = '']: readonly string[]) {
  const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' } as const
  return [
    { name: 'schema', num_children: 1 },
    { name: column, repetition_type: 'OPTIONAL' as const, num_children: 1, converted_type: 'LIST' as const },
    { name: 'list', repetition_type: 'REPEATED' as const, num_children: 1 },
    { name: 'element', repetition_type: 'OPTIONAL' as const, num_children: 2 },
    { name: 'role', ...text },
    { name: 'content', ...text },
  ]
}

describe('a dataset is read as it is', () => {
  const rows = [1, 2, 3].map(openai)
  test.each([
    ['lines.jsonl', rows, 'messages', 'role', 'user', 3],
    ['list.json', [1, 2].map(sharegpt), 'conversations', 'from', 'human', 2],
    ['table.parquet', rows.map(({ messages }) => ({ messages })), 'messages', 'role', 'user', 3],
  ] as const)('%s', async (name, some, column, role, user, count) => {
    const path = write(name, some)
    for (const asked of [path, `file:${path}`]) {
      const { info, config, notes } = await dryRun('--dataset', asked)
      expect(info.dataset_1).toMatchObject({
        file_name: path,
        columns: { messages: column },
        tags: { role_tag: role, user_tag: user },
      })
      expect(config.dataset).toBe('dataset_1')
      expect(notes).toContain(`${count} rows`)
    }
  })

  test('a folder of files, and several datasets at once', async () => {
    write('folder/train.jsonl', rows)
    write('folder/test.jsonl', [{ other: 1 }])
    const other = write('other.jsonl', [1].map(sharegpt))
    const { info, config } = await dryRun('--dataset', `${join(dir, 'folder')},${other}`)
    expect(info.dataset_1).toMatchObject({ hf_hub_url: join(dir, 'folder') })
    expect(info.dataset_2).toMatchObject({ file_name: other })
    expect(config.dataset).toBe('dataset_1,dataset_2')
  })

  const listed = () => {
    write('listed/data/train.jsonl', [1, 2].map(sharegpt))
    write('listed/data/validation.jsonl', [3].map(sharegpt))
    const entry = (name: string) => ({
      file_name: `data/${name}.jsonl`,
      formatting: 'sharegpt',
      columns: { messages: 'conversations' },
    })
    const path = join(dir, 'listed')
    writeFileSync(
      join(path, 'dataset_info.json'),
      JSON.stringify({ train_0: entry('train'), validation_0: entry('validation') }),
    )
    writeFileSync(
      join(path, 'train.yaml'),
      'dataset_dir: .\ndataset: train_0\neval_dataset: validation_0\nsave_strategy: no\noutput_dir: saves/x\ntemplate: qwen3_nothink\nmodel_name_or_path: org/model\n',
    )
    return path
  }

  test('its own dataset_info.json is followed, however it is named', async () => {
    const path = listed()
    for (const words of [
      ['--dataset', path],
      ['--train-config-path', join(path, 'train.yaml')],
      ['--dataset-dir', path],
    ]) {
      const { info, config } = await dryRun(...words)
      expect(info.train_0).toMatchObject({ file_name: join(path, 'data/train.jsonl'), tags: { role_tag: 'from' } })
      expect(config).toMatchObject({ dataset: 'train_0', eval_dataset: 'validation_0' })
    }
    const { config, info } = await dryRun('--dataset-dir', path, '--dataset', 'validation_0', '--eval-strategy', 'no')
    expect({ ...config, ...info }).toMatchObject({ eval_strategy: 'no', validation_0: { formatting: 'sharegpt' } })
    const written = await dryRun('--train-config-path', join(path, 'train.yaml'))
    expect(written.config).toMatchObject({
      save_strategy: 'no',
      output_dir: expect.stringMatching(/checkpoints\/saves\/x$/),
    })
    expect(await refusal('--dataset-dir', path, '--dataset', 'trian_0')).toContain('did you mean train_0?')
  })

  test('on the Hub', async () => {
    vi.stubEnv('HF_HUB_OFFLINE', '')
    for (const [name, value] of Object.entries(hub.env)) vi.stubEnv(name, value)
    const text = (some: readonly object[]) => some.map((row) => `${JSON.stringify(row)}\n`).join('')
    const table = readFileSync(
      write(
        'hub.parquet',
        rows.map(({ messages }) => ({ messages })),
      ),
    )
    hub.repo('org/talks').put('data/train.jsonl', text([1, 2].map(sharegpt)))
    hub.repo('org/table').add('main', 'one table', new Map([['data/train-00000-of-00001.parquet', gitFile(table)]]))
    hub.repo('org/labels').put('data/train.jsonl', text([{ text: 'a', label: 1 }]))
    expect((await dryRun('--dataset', 'org/talks')).info.dataset_1).toMatchObject({
      hf_hub_url: 'org/talks',
      tags: { role_tag: 'from', user_tag: 'human' },
    })
    expect((await dryRun('--dataset', 'org/table')).info.dataset_1).toMatchObject({
      columns: { messages: 'messages' },
      tags: { role_tag: 'role' },
    })
    expect(await refusal('--dataset', 'org/labels')).toMatch(/org\/labels: .*found the columns text, label/)
    expect(await refusal('--dataset', 'org/nothing-there')).toMatch(/org\/nothing-there/)
  })

  test('what cannot be trained on is refused, and nothing is written', async () => {
    expect(await refusal('--dataset', write('odd.jsonl', [{ text: 'a', label: 1 }]))).toMatch(
      /found the columns text, label/,
    )
    expect(await refusal()).toMatch(/expected a dataset to train on/)
    writeFileSync(join(dir, 'broken.parquet'), 'PAR1 no parquet')
    expect(await refusal('--dataset', join(dir, 'broken.parquet'))).toMatch(/broken\.parquet: expected rows/)
  })
})

describe('before anything is submitted', () => {
  const with_ = (path: string, ...words: string[]) => ['--dataset', path, '--base-model', join(dir, 'model'), ...words]

  test('tokens are counted, and rows that would be cut are pointed out', async () => {
    const path = write(
      'long.jsonl',
      [...Array(20).keys()].map((n) => openai(n === 7 ? 500 : 1)),
    )
    const fine = await dryRun(...with_(path))
    expect(fine.notes).toMatch(/tokens of 20 rows: half have up to \d+, .*the longest 5\d\d/)
    expect(fine.notes).toContain('cutoff_len 32768 cuts 0 of 20 rows short')
    expect(fine.notes).not.toContain('WARNING')
    const cut = await dryRun(...with_(path, '--cutoff-len', '300'))
    expect(cut.notes).toMatch(/WARNING: cutoff_len 300 cuts 1 of 20 rows short \(5\.0 %\)/)
    expect((await dryRun(...with_(path, '--cutoff-len', '300', '--preflight', 'false'))).notes).not.toContain('WARNING')
    expect((await dryRun('--dataset', path, '--base-model', 'org/elsewhere')).notes).toContain(
      'found no tokenizer of org/elsewhere on this machine',
    )
  })

  test('rows that the trainer skips are pointed out, and refused when there are no others', async () => {
    const twice = { messages: [...openai(1).messages, { role: 'assistant', content: 'again' }] }
    expect((await dryRun(...with_(write('some.jsonl', [openai(1), twice])))).notes).toMatch(
      /WARNING: 1 of 2 rows would be skipped/,
    )
    expect(await refusal(...with_(write('all.jsonl', [twice])))).toMatch(/would skip all 1 sampled rows/)
  })

  test('a template that does not know a role is refused', async () => {
    const strict = `{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('only user and assistant, not ' + m.role) }}{% endif %}{{ m.content }}{% endfor %}`
    writeModel(join(dir, 'strict'), strict)
    writeModel(
      join(dir, 'deaf'),
      strict
        .replace(/\{\{ raise.*?\}\}/, '')
        .replace('{{ m.content }}', `{% if m.role != 'system' %}{{ m.content }}{% endif %}`),
    )
    const path = write('roles.jsonl', [openai(1)])
    for (const model of ['strict', 'deaf'])
      expect(await refusal('--dataset', path, '--base-model', join(dir, model))).toMatch(
        /does not know the role system/,
      )
    expect(await refusal(...with_(path, '--template', 'qwen3_nothing'))).toContain('did you mean qwen3_nothink?')
  })
})

const around = {
  ...{ seed: 7, signal: new AbortController().signal, workDir: '', log: () => {} },
}
const plugin = { env: {}, stateDir: '/nonexistent' }

/** A folder with these traces, as a recipe writes it. */
async function exported(name: string, spelling: string, traces: readonly RecipeTrace[]): Promise<string> {
  const out = join(dir, name)
  mkdirSync(out)
  await using sql = await SqlDatabase.open({ memoryMb: 300, threads: 2, tempDir: join(dir, 'tmp') })
  const part = join(dir, `${name}.parquet`)
  await sql.fill(
    'filled',
    rowColumns.trace,
    traces.map((trace) => encodeRow('trace', trace)),
  )
  await sql.run(`COPY filled TO ${sqlText(part)} (FORMAT parquet)`)
  const select = selectNumbered({ part, kept: null, rows: traces.length }, 0)
  await sql.run(`CREATE VIEW input_0 AS ${select}`)
  const rows = { rows: traces.length, parts: [{ select, rows: traces.length }] }
  const sink = sharegptExporter.make(sharegptExporter.options.parse({ spelling, validation: 0 }), plugin)
  const made = { recipe: 'test', seed: 7, sources: {}, stages: [] }
  await sink.write({ stage: 'above', view: 'input_0', ...rows }, { ...around, sql, outDir: out, made } as never)
  return out
}

async function masked(how: string, trace: RecipeTrace): Promise<RecipeTrace[]> {
  const stage = maskTurns.make(maskTurns.options.parse({ how }), plugin) as MapStage<RecipeTrace, RecipeTrace>
  async function* rows() {
    yield trace
  }
  const all: RecipeTrace[] = []
  for await (const each of stage.run(rows(), around as never)) all.push(each as RecipeTrace)
  return all
}

describe('what an export wants left out of training', () => {
  const unparsed = (...marked: number[]) =>
    someTrace({
      conversations: ['do', 'one', 'seen', 'two'].map((content, i) => ({
        role: i % 2 ? 'assistant' : 'user',
        content,
      })),
      turn_marks: marked.map((message) => ({ message, mark: 'unparsed' })),
    })
  const look = (path: string, ...words: string[]) =>
    dryRun('--dataset', path, '--base-model', join(dir, 'model'), ...words)

  test('rows that train on every reply need nothing, in both spellings that the trainer reads', async () => {
    for (const spelling of ['sharegpt', 'messages']) {
      const { notes } = await look(await exported(`plain-${spelling}`, spelling, [unparsed()]))
      expect(notes).toContain('tokens of 1 rows')
      expect(notes).not.toContain('WARNING')
    }
  })

  test('rows for their last reply only are pointed out unless mask_history is set', async () => {
    for (const spelling of ['sharegpt', 'messages']) {
      const path = await exported(`last-${spelling}`, spelling, await masked('expand', unparsed(1)))
      expect((await look(path)).notes).toMatch(/WARNING: 1 of 1 rows have replies .*--mask_history true/)
      expect((await look(path, '--train-extra-args', '--mask_history true')).notes).not.toContain('WARNING')
      const own = await look(path, '--train-config-path', join(path, 'train.yaml'))
      expect(own.config.mask_history).toBe(true)
      expect(own.notes).not.toContain('WARNING')
    }
  })

  test('flags of single messages are pointed out, and rows without a reply that is left', async () => {
    const rows = [...(await masked('flag', unparsed(1))), ...(await masked('flag', unparsed(1, 3))), unparsed()]
    const { notes } = await look(await exported('flags', 'messages', rows))
    expect(notes).toMatch(/WARNING: 2 of 3 rows have replies marked .*how: 'expand'/)
    expect(notes).toContain('WARNING: 1 of 3 rows have no trainable tokens')
  })

  test('prompts and completions are refused with the spelling that can be read', async () => {
    const path = await exported('pairs', 'prompt-completion', await masked('expand', unparsed(1)))
    expect(await refusal('--dataset', path)).toMatch(/prompt and completion, which TRL reads .*spelling: 'sharegpt'/)
  })
})

/** A value for every training flag, with whatever else is needed to see its effect. */
const values: Readonly<Record<string, string>> = {
  job_name: 'mine',
  job_creator: 'me',
  time_limit: '01:00:00',
  max_restarts: '2',
  stop_sec: '33',
  dependency: 'afterok:1',
  num_nodes: '2',
  num_gpus: '1',
  cluster: 'leonardo',
  name: 'leonardo',
  account: 'acct',
  partition: 'part',
  qos: 'q',
  exclude_nodes: 'c1',
  gpus_per_node: '4',
  cpus_per_node: '9',
  mem_per_node_gb: '99',
  internet_node: 'false',
  checkpoints_dir: '/ckpt',
  models_dir: '/models',
  datasets_dir: '/datasets',
  tokenized_dir: '/tok',
  image: '/i.sif',
  trainer: 'small',
  train_config_path: 'qwen3-32b-small',
  train_extra_args: '--packing true',
  base_model: 'org/base',
  chat_template: 'llama3',
  preflight: 'false',
  use_mca: 'true',
  pretokenize: 'true',
  train_launcher: 'accelerate',
  consolidate_output_repo: 'org/out',
  consolidate_base_repo: 'org/small',
  consolidate_workdir: '/w',
  consolidate_commit_message: 'hello',
  model_name_or_path: 'org/base',
  template: 'llama3',
  formatting: 'openai',
  messages: 'other',
  role_tag: 'from',
  content_tag: 'value',
  user_tag: 'human',
  assistant_tag: 'gpt',
  system_tag: 'sys',
  observation_tag: 'obs',
  function_tag: 'fn',
  tools: 'tooling',
  system: 'sysprompt',
  prompt_column: 'q',
  query_column: 'q2',
  response_column: 'a',
  history_column: 'h',
  stage: 'pt',
  finetuning_type: 'lora',
  deepspeed: 'none',
  mix_strategy: 'interleave_under',
  interleave_probs: '0.5,0.5',
  save_strategy: 'no',
  eval_strategy: 'no',
  report_to: 'wandb',
  lr_scheduler_type: 'linear',
  run_name: 'r',
  hub_model_id: 'org/m',
  output_dir: '/o',
  attn: 'sdpa',
  dataset: 'org/other',
}
const needs: Readonly<Record<string, readonly string[]>> = {
  num_gpus: ['--cluster', 'leonardo'],
  models_dir: ['--internet-node', 'false'],
  datasets_dir: ['--internet-node', 'false'],
  tokenized_dir: ['--pretokenize', 'true'],
  consolidate_base_repo: ['--consolidate-output-repo', 'org/out'],
  consolidate_workdir: ['--consolidate-output-repo', 'org/out'],
  consolidate_commit_message: ['--consolidate-output-repo', 'org/out'],
  gradient_accumulation_steps: [],
  global_batch_size: [],
  prompt_column: ['--formatting', 'alpaca'],
  query_column: ['--formatting', 'alpaca'],
  response_column: ['--formatting', 'alpaca'],
  history_column: ['--formatting', 'alpaca'],
}

describe('every flag of training that help lists changes what would be submitted', () => {
  const others = /datagen|Traces|published|Recipes|Reinforcement|Evaluation|Judge/
  const elsewhere = [
    'job_type',
    'name',
    'experiments_dir',
    'config',
    'dry_run',
    'explain',
    'json',
    'array_max',
    'dataset_dir',
    'consolidate_input',
    'preflight',
  ]
  const flags = settingSpecs.filter(
    ({ group, name, hidden }) => !others.test(group) && !elsewhere.includes(name) && hidden !== true,
  )
  const seen = new Map<string, Promise<Shown>>()
  const plain = (words: readonly string[]) => {
    const made = seen.get(words.join(' ')) ?? dryRun(...words)
    seen.set(words.join(' '), made)
    return made
  }
  test.each(flags.map(({ name, kind }) => [name, kind] as const))('--%s', async (name, kind) => {
    const more = needs[name] ?? []
    const value = values[name] ?? (kind === 'switch' ? 'true' : undefined)
    const base = ['--dataset', 'org/dataset', ...more]
    const before = await plain(base)
    const flag = `--${name.replaceAll('_', '-')}`
    const tried = value === undefined ? ['true', 'false', '3', '0.5', '96'] : [value]
    const shown: string[] = []
    for (const each of tried) {
      const after = await dryRun(...base, flag, each).catch((error: unknown) => {
        if (error instanceof UserError && value === undefined) return null
        throw error
      })
      if (after !== null) shown.push(after.all)
    }
    expect(shown.some((all) => all !== before.all)).toBe(true)
  })
})

test('--name is another word for --cluster', async () => {
  const shown = catchPrinted()
  const words = [
    '--job-type',
    'sft',
    '--dataset',
    'org/dataset',
    '--experiments-dir',
    join(dir, 'exp'),
    '--dry-run',
    '--json',
  ]
  await runCommand(launchCommand, ['ot-agent', 'launch'], [...words, '--name', 'leonardo'])
  expect(JSON.parse(shown()).cluster).toBe('leonardo')
})
