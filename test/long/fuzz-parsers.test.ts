import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { readPosts } from '../../data/stackexchange/posts/read-posts.ts'
import { parseJsonReply } from '../../src/agents/terminus-2/parse-json.ts'
import { parseXmlReply } from '../../src/agents/terminus-2/parse-xml.ts'
import { readRecipe } from '../../src/app/recipe/load-recipe.ts'
import { parseAgentConfig } from '../../src/formats/agent-config.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages.ts'
import { parseBenchmarkYaml } from '../../src/formats/benchmark/benchmark-yaml.ts'
import { parsePack } from '../../src/formats/benchmark/pack-file.ts'
import { parseClusterYaml } from '../../src/formats/cluster-yaml.ts'
import { loadCompose } from '../../src/formats/compose/load.ts'
import { scanRow } from '../../src/formats/conversations/facts.ts'
import { messagesOf } from '../../src/formats/conversations/messages.ts'
import { openRows } from '../../src/formats/conversations/open-rows.ts'
import { anthropicMessagesServer } from '../../src/formats/dialect-server/anthropic-messages.ts'
import { geminiGenerateServer } from '../../src/formats/dialect-server/gemini-generate.ts'
import { openaiChatServer } from '../../src/formats/dialect-server/openai-chat.ts'
import { openaiResponsesServer } from '../../src/formats/dialect-server/openai-responses.ts'
import { parseDockerfile } from '../../src/formats/dockerfile/parse.ts'
import { parseEndpoint } from '../../src/formats/endpoint-json.ts'
import { parseEngineFile } from '../../src/formats/engine-yaml.ts'
import { readExchanges } from '../../src/formats/exchanges/read-exchanges.ts'
import { geminiGenerate } from '../../src/formats/gemini-generate.ts'
import { readGguf } from '../../src/formats/gguf.ts'
import { fileText, repositoryFacts, searchDockerfiles } from '../../src/formats/github/code-search.ts'
import type { Github } from '../../src/formats/github/github-api.ts'
import { parseJobConfig, parseTrialConfigDocument } from '../../src/formats/harbor-job/job-config.ts'
import { parseJobResult } from '../../src/formats/harbor-job/job-result.ts'
import { readDocument } from '../../src/formats/harbor-job/read-document.ts'
import { parseTrialResult } from '../../src/formats/harbor-job/trial-result-parse.ts'
import { parseTaskToml } from '../../src/formats/harbor-task/parse.ts'
import { parseCard, uploadsOf } from '../../src/formats/hub/card.ts'
import { readSessions } from '../../src/formats/imported-traces/read-sessions.ts'
import { tracesOfSession } from '../../src/formats/imported-traces/to-traces.ts'
import type { Dialect } from '../../src/formats/model-dialect.ts'
import { openaiChat } from '../../src/formats/openai-chat.ts'
import { readAllRecords } from '../../src/formats/records/read-records.ts'
import { parseDatasetInfo } from '../../src/formats/sft-dataset/dataset-info.ts'
import { openTaskRows } from '../../src/formats/task-parquet/read-rows.ts'
import { parseTaskYaml } from '../../src/formats/terminal-bench/task-yaml.ts'
import { readTraceFile } from '../../src/formats/traces/read-parquet.ts'
import { applyFilePatch, parsePatch } from '../../src/formats/unified-diff.ts'
import { SqlDatabase, sqlText } from '../../src/lib/duckdb.ts'
import { extractTar } from '../../src/lib/extract.ts'
import { htmlToMarkdown } from '../../src/lib/html-to-markdown.ts'
import { parseJson } from '../../src/lib/parse-json.ts'
import { parseGlob } from '../../src/lib/path-glob.ts'
import { parseMetrics } from '../../src/lib/prometheus.ts'
import { removeTree } from '../../src/lib/remove-tree.ts'
import { makeEventReader } from '../../src/lib/sse.ts'
import { packDirToBytes } from '../../src/lib/tar.ts'
import { parseTrajectory } from '../parse-trajectory.ts'
import { type ForeignParser, hunt } from './fuzz.ts'

/**
 * New inputs for every commit; a failure names the seed, and `OT_AGENT_FUZZ_SEED=N` repeats it (`random` tries new
 * ones).
 */
const seed = seedOf(process.env.OT_AGENT_FUZZ_SEED)
const milliseconds = Number(process.env.OT_AGENT_FUZZ_MS ?? 1000)
const scratch = await mkdtemp(join(tmpdir(), 'ot-agent-fuzz-'))
afterAll(() => removeTree(scratch))

const file = (path: string) => readFileSync(path)
const json = (value: unknown) => JSON.stringify(value)
const fixtures = 'test/fixtures'
const hello = `${fixtures}/harbor-task/tasks/hello`
const harborJob = `${fixtures}/harbor-job/made-by-harbor`

const chatReply = {
  id: 'x',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: 'hi',
        reasoning_content: 'hm',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'run', arguments: '{"a":1}' } }],
      },
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 1 } },
}
const chatEvent = {
  choices: [
    { index: 0, delta: { content: 'a', tool_calls: [{ index: 0, id: 'c', function: { name: 'x', arguments: '{' } }] } },
  ],
}
const messagesReply = {
  type: 'message',
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'text', text: 'hi' },
    { type: 'tool_use', id: 't', name: 'run', input: { a: 1 } },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 1 },
}
const messagesEvents = [
  { type: 'message_start', message: { ...messagesReply, content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'x', input: {} } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
]
const geminiReply = {
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'hi' }, { functionCall: { name: 'run', args: { a: 1 } } }] },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, thoughtsTokenCount: 1 },
}
const sse = (events: readonly unknown[]) =>
  `${events.map((event) => `data: ${json(event)}\n\n`).join('')}data: [DONE]\n\n`
const request = { messages: [{ role: 'user' as const, content: 'hi' }] }

/** Replies of a model server, whole and as a stream of events. */
function repliesOf(dialect: Dialect, reply: unknown, events: readonly unknown[]): ForeignParser[] {
  return [
    {
      name: `${dialect.name}: replies`,
      samples: [json(reply), json({ error: { message: 'no', type: 'x', code: 400 } }), json({ data: [{ id: 'm' }] })],
      read: ({ text }) => [dialect.parse(parseJson(text), request), dialect.parseModels(parseJson(text))],
    },
    {
      name: `${dialect.name}: streams`,
      samples: [sse(events), sse([reply])],
      errors: ['EventTooLong'],
      read: ({ bytes }) => {
        const stream = dialect.makeStream(request, () => {})
        const push = makeEventReader((data) => void stream.push(data))
        for (let at = 0; at < bytes.length; at += 7) push(bytes.subarray(at, at + 7))
        return stream.end()
      },
    },
  ]
}

const chat = {
  messages: [
    { role: 'system', content: 's' },
    { role: 'user', content: 'u' },
    { role: 'assistant', content: 'a' },
  ],
}
const sharegpt = {
  conversations: [
    { from: 'human', value: 'u' },
    { from: 'gpt', value: 'a' },
  ],
  task: 't',
  result: '1.0',
}
const sessions = {
  sweAgent: json({
    trajectory: [{ action: 'ls', observation: 'x', response: 'r', thought: 't' }],
    history: [
      { role: 'system', content: 's' },
      { role: 'user', content: 'u' },
      {
        role: 'assistant',
        content: 'a',
        tool_calls: [{ id: '1', function: { name: 'bash', arguments: '{"command":"ls"}' } }],
      },
      { role: 'tool', content: 'x', tool_call_ids: ['1'] },
    ],
    info: { exit_status: 'submitted', model_stats: {} },
  }),
  openHands: json([
    { id: 0, source: 'user', action: 'message', args: { content: 'u' } },
    {
      id: 1,
      source: 'agent',
      action: 'run',
      args: { command: 'ls', thought: 't' },
      tool_call_metadata: {
        function_name: 'execute_bash',
        tool_call_id: 'c',
        model_response: {
          choices: [
            {
              message: {
                role: 'assistant',
                content: 'a',
                tool_calls: [{ id: 'c', type: 'function', function: { name: 'execute_bash', arguments: '{}' } }],
              },
            },
          ],
        },
      },
    },
    { id: 2, source: 'agent', observation: 'run', cause: 1, content: 'out' },
  ]),
  codex: [
    { timestamp: '2026-01-01T00:00:00Z', type: 'session_meta', payload: { id: 's', instructions: 'i', cwd: '/app' } },
    { type: 'response_item', payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'u' }] } },
    { type: 'response_item', payload: { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] } },
    {
      type: 'response_item',
      payload: { type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: 'c' },
    },
    { type: 'response_item', payload: { type: 'function_call_output', call_id: 'c', output: '{"output":"x"}' } },
    {
      type: 'response_item',
      payload: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
    },
  ]
    .map(json)
    .join('\n'),
  claudeCode: [
    { type: 'user', uuid: '1', parentUuid: null, sessionId: 's', message: { role: 'user', content: 'u' } },
    {
      type: 'assistant',
      uuid: '2',
      parentUuid: '1',
      sessionId: 's',
      message: {
        id: 'm',
        role: 'assistant',
        model: 'c',
        content: [
          { type: 'text', text: 'a' },
          { type: 'tool_use', id: 't', name: 'Bash', input: { command: 'ls' } },
        ],
      },
    },
    {
      type: 'user',
      uuid: '3',
      parentUuid: '2',
      sessionId: 's',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
    },
    {
      type: 'assistant',
      uuid: '4',
      parentUuid: '3',
      sessionId: 's',
      message: { id: 'n', role: 'assistant', content: [{ type: 'text', text: 'b' }] },
    },
  ]
    .map(json)
    .join('\n'),
}

async function readAllSessions(path: string): Promise<void> {
  for await (const read of readSessions(path, { format: null, maxBytes: 1 << 24 }))
    if ('session' in read) for (const _ of tracesOfSession(read.session, { source: 'x', where: read.where }));
}

async function readDataset(path: string): Promise<void> {
  const source = await openRows(path)
  try {
    for await (const { row } of source.scan(new AbortController().signal)) [scanRow(row), messagesOf(row)]
  } finally {
    await source.close()
  }
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700)
}

/** Rows in a parquet file written by DuckDB. */
async function parquetOf(rows: readonly unknown[]): Promise<Buffer> {
  const [from, to] = [join(scratch, 'rows.jsonl'), join(scratch, 'rows.parquet')]
  writeFileSync(from, rows.map(json).join('\n'))
  await using sql = await SqlDatabase.open({ memoryMb: 200, threads: 1, tempDir: join(scratch, 'sql') })
  await sql.run(`COPY (SELECT * FROM read_ndjson(${sqlText(from)})) TO ${sqlText(to)} (FORMAT parquet)`)
  return file(to)
}

const turns = [
  { role: 'user', content: 'do it' },
  { role: 'assistant', content: 'done' },
]
const traces = await parquetOf([
  {
    conversations: turns,
    agent: 'a',
    model: 'm',
    task: 't',
    trial_name: 't__1',
    result: '1.0',
    run_id: 'r',
    episode: 'e',
  },
  {
    conversations: turns,
    agent: 'a',
    model: 'm',
    task: 'u',
    trial_name: 'u__1',
    result: null,
    run_id: 'r',
    episode: 'e',
  },
])

let extracted = 0
const packed = await packDirToBytes(hello)
const records = `${fixtures}/records`
const parquets = ['pyarrow-default', 'pyarrow-delta', 'pyarrow-pages-v2'].map((name) =>
  file(`${fixtures}/task-parquet/${name}.parquet`),
)

/** A parquet file as recipes write datasets. */
async function zstdParquet(): Promise<Buffer> {
  const path = join(scratch, 'zstd.parquet')
  await using sql = await SqlDatabase.open({ memoryMb: 256, threads: 1, tempDir: join(scratch, 'tmp') })
  const row = `SELECT i AS id, [i, i + 1] AS list, {'a': 'text ' || i} AS struct FROM range(20) t(i)`
  await sql.run(`COPY (${row}) TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd)`)
  return readFileSync(path)
}

const compose =
  'services:\n  main:\n    build: .\n    environment: [A=b]\n  db:\n    image: postgres:16\n    healthcheck:\n      test: [CMD, "true"]\n      interval: 2s\n    volumes: ["data:/var/lib"]\nvolumes:\n  data: {}\n'
const dockerfile =
  '# syntax=docker/dockerfile:1\nARG V=12\nFROM debian:${V} AS a\nRUN --mount=type=cache,target=/x apt-get update && \\\n  apt-get install -y git\nCOPY --from=a --chmod=755 x ["y", "/z"]\nRUN <<EOF\necho hi\nEOF\nENV A=b C="d e"\nHEALTHCHECK --interval=5s CMD true\nWORKDIR /app\n'

const parsers: readonly ForeignParser[] = [
  {
    name: 'task.toml',
    samples: ['hello', 'two-steps', 'modern'].map((name) => file(`${fixtures}/harbor-task/tasks/${name}/task.toml`)),
    read: ({ text }) => parseTaskToml(text, 'task.toml'),
  },
  {
    name: 'job files, YAML',
    samples: [file(`${fixtures}/harbor-job/legacy.yaml`)],
    read: ({ text }) => parseJobConfig(readDocument(text, 'job.yaml'), { path: 'job.yaml' }),
  },
  {
    name: 'job files, JSON',
    samples: [file(`${harborJob}/config.json`)],
    read: ({ text }) => parseJobConfig(readDocument(text, 'job.json'), { path: 'job.json' }),
  },
  {
    name: 'trial configs',
    samples: [file(`${harborJob}/hello__AbC23de/config.json`)],
    read: ({ text }) => parseTrialConfigDocument(readDocument(text, 'config.json'), 'config.json'),
  },
  {
    name: 'trial results',
    samples: ['hello__AbC23de', 'hello__Timeou2', 'heap__Cancel44'].map((name) =>
      file(`${harborJob}/${name}/result.json`),
    ),
    read: ({ text }) => parseTrialResult(text),
  },
  {
    name: 'job results',
    samples: [file(`${harborJob}/result.json`), file(`${fixtures}/harbor-job/legacy-job-result.json`)],
    read: ({ text }) => parseJobResult(text),
  },
  {
    name: 'ATIF trajectories',
    samples: ['plain', 'tools', 'summarized'].map((name) => file(`${fixtures}/traces/${name}/agent/trajectory.json`)),
    read: ({ text }) => parseTrajectory(text),
  },
  {
    name: 'recorded exchanges',
    samples: [`${json({ schema: 'exchanges/1', model: { name: 'm' } })}\n${json({ call: 1, reply: { text: 'x' } })}\n`],
    read: ({ bytes }) => readExchanges(bytes),
  },
  {
    name: 'Dockerfiles',
    samples: [dockerfile, file(`${hello}/environment/Dockerfile`)],
    errors: ['BoundaryError'],
    read: ({ text }) => parseDockerfile(text, 'Dockerfile'),
  },
  {
    name: 'compose files',
    errors: ['BoundaryError'],
    samples: [compose],
    read: ({ bytes }) => {
      mkdirSync(join(scratch, 'compose'), { recursive: true })
      writeFileSync(join(scratch, 'compose', 'docker-compose.yaml'), bytes)
      return loadCompose(join(scratch, 'compose'), { A: 'b' })
    },
  },
  {
    name: 'Terminal-Bench task.yaml',
    samples: [
      'instruction: |\n  do it\nauthor_email: a@b\ndifficulty: easy\nmax_agent_timeout_sec: 900\ntags: [x]\nparser_name: pytest\n',
    ],
    read: ({ text }) => parseTaskYaml(text, 'task.yaml'),
  },
  {
    name: 'recipes',
    ending: '.json',
    samples: [json({ name: 'x', seed: 1, stages: [{ id: 'rows', use: 'sources/file', with: { path: 'a' } }] })],
    read: ({ path }) => readRecipe(path),
  },
  {
    name: 'cluster files',
    samples: [file('clusters/alpha.yaml'), file('clusters/dip.yaml')],
    read: ({ text }) => parseClusterYaml(text, 'x.yaml'),
  },
  {
    name: 'benchmark files',
    samples: [file('benchmarks/gaia.yaml'), file('benchmarks/example-bench.yaml')],
    read: ({ text }) => parseBenchmarkYaml(text, 'x.yaml'),
  },
  {
    name: 'benchmark packs',
    samples: [file('benchmarks/financeagent.pack')],
    read: ({ bytes }) => parsePack(bytes, 'x.pack'),
  },
  {
    name: 'engine files',
    samples: [file('configs/engines/vllm.yaml'), file('configs/engines/qwen3-32b.yaml')],
    read: ({ text }) => parseEngineFile(text, 'x.yaml'),
  },
  {
    name: 'endpoint files',
    samples: [json({ endpoint_url: 'http://h:8000', model_name: 'm', api_path: '/v1', status: 'ready' })],
    read: ({ text }) => parseEndpoint(text, 'x.json'),
  },
  {
    name: 'agent configs',
    samples: [
      json({
        agent_name: 'x',
        model: 'a/b',
        api_base: 'http://localhost:8000/v1',
        api_type: 'openai',
        temperature: 0.6,
      }),
    ],
    read: ({ text }) => parseAgentConfig(parseJson(text), 'x.json'),
  },
  {
    name: 'dataset cards',
    samples: [
      '---\nlicense: mit\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/*.parquet\n---\n# x\n',
    ],
    read: ({ text }) => uploadsOf(parseCard(text)),
  },
  {
    name: 'dataset_info.json',
    samples: [
      json({
        a: {
          file_name: 'a.json',
          formatting: 'sharegpt',
          columns: { messages: 'conversations' },
          tags: { role_tag: 'from' },
        },
      }),
    ],
    read: ({ text }) => parseDatasetInfo(text, 'dataset_info.json'),
  },
  {
    name: 'CSV',
    ending: '.csv',
    samples: ['id,text\n1,"a, ""b""\nc"\n2,ü\n'],
    read: ({ path }) => readAllRecords([path]),
  },
  {
    name: 'JSON lists',
    ending: '.json',
    samples: [json([{ a: 1 }, { a: 2 }]), json({ rows: [{ a: 1 }] })],
    read: ({ path }) => readAllRecords([path]),
  },
  {
    name: 'JSON lines',
    ending: '.jsonl',
    samples: [`${json({ a: 1 })}\n${json({ a: [1, { b: null }] })}\n`],
    read: ({ path }) => readAllRecords([path]),
  },
  {
    name: 'packed JSON lines',
    ending: '.jsonl.gz',
    samples: [gzipSync(`${json({ a: 1 })}\n`.repeat(30))],
    read: ({ path }) => readAllRecords([path]),
  },
  {
    name: 'workbooks',
    ending: '.xlsx',
    samples: [file(`${records}/openpyxl.xlsx`), file(`${records}/xlsxwriter.xlsx`)],
    read: ({ path }) => readAllRecords([path]),
  },
  {
    name: 'parquet records',
    ending: '.parquet',
    samples: [...parquets, await zstdParquet()],
    read: ({ path }) => readAllRecords([path]),
  },
  {
    name: 'packed tasks',
    ending: '.parquet',
    samples: parquets,
    read: async ({ path }) => {
      await using rows = await openTaskRows(path)
      for await (const _ of rows.paths());
      for await (const _ of rows.archives());
    },
  },
  {
    name: 'parquet traces',
    ending: '.parquet',
    samples: [traces],
    read: ({ path }) => readTraceFile(path, { messages: true }),
  },
  {
    name: 'parquet datasets',
    ending: '.parquet',
    samples: [traces, ...parquets],
    read: ({ path }) => readDataset(path),
  },
  {
    name: 'JSON datasets',
    ending: '.jsonl',
    samples: [`${json(chat)}\n${json(sharegpt)}\n`],
    read: ({ path }) => readDataset(path),
  },
  {
    name: 'sessions of SWE-agent',
    ending: '.traj',
    samples: [sessions.sweAgent],
    read: ({ path }) => readAllSessions(path),
  },
  {
    name: 'sessions of OpenHands',
    ending: '.json',
    samples: [sessions.openHands],
    read: ({ path }) => readAllSessions(path),
  },
  {
    name: 'sessions of command-line agents',
    ending: '.jsonl',
    samples: [sessions.codex, sessions.claudeCode, `${json(chat)}\n${json(sharegpt)}`],
    read: ({ path }) => readAllSessions(path),
  },
  {
    name: 'dumps of posts',
    samples: [
      '<?xml version="1.0"?>\n<posts>\n  <row Id="1" PostTypeId="1" AcceptedAnswerId="2" Score="3" Tags="&lt;a&gt;" Title="t &amp; u" Body="&lt;p&gt;x&lt;/p&gt;" CreationDate="2020-01-01T00:00:00.000" />\n</posts>\n',
    ],
    read: ({ bytes }) => readPosts('Posts.xml', chunks(bytes)),
  },
  {
    name: 'archives',
    samples: [gunzipSync(packed), packed],
    errors: ['ArchiveError'],
    read: async ({ bytes }) => {
      const target = join(scratch, `x${extracted++}`)
      try {
        await extractTar(bytes, target, { limitBytes: 1 << 24 })
      } finally {
        await removeTree(target)
      }
    },
  },
  { name: 'GGUF models', samples: [gguf()], errors: ['GgufError'], read: ({ bytes }) => readGguf(bytes) },
  {
    name: 'patches',
    samples: ['diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n'],
    errors: ['PatchError'],
    read: ({ text }) => parsePatch(text).map((patch) => applyFilePatch('a\nb\n', patch)),
  },
  {
    name: 'HTML',
    samples: [
      '<p>a <b>b</b> <pre><code>x</code></pre><ul><li>1<li>2</ul><a href="x">y</a><table><tr><td>1</td></tr></table>',
    ],
    read: ({ text }) => htmlToMarkdown(text),
  },
  {
    name: 'searches of GitHub',
    samples: [readFileSync('test/fixtures/github/code-search.json', 'utf8')],
    errors: ['BoundaryError'],
    read: async ({ text }) => {
      const found = searchDockerfiles(githubSaying(text), 'x')
      for (let next = await found.next(); !next.done; ) next = await found.next()
    },
  },
  {
    name: 'repositories of GitHub',
    samples: [readFileSync('test/fixtures/github/repository.json', 'utf8')],
    errors: ['BoundaryError'],
    read: ({ text }) => repositoryFacts(githubSaying(text), 'org/name'),
  },
  {
    name: 'files of GitHub',
    samples: [readFileSync('test/fixtures/github/blob.json', 'utf8')],
    errors: ['BoundaryError'],
    read: ({ text }) =>
      fileText(githubSaying(text), { repo: 'org/name', path: 'Dockerfile', sha: '0'.repeat(40) }, 1000),
  },
  {
    name: 'metrics',
    samples: ['# HELP a b\n# TYPE a counter\na{b="c",d="e\\"f"} 1.5e3 123\nb +Inf\n'],
    read: ({ text }) => parseMetrics(text),
  },
  {
    name: 'patterns',
    samples: ['a/**/[b-z]*.{csv,json}', '[!a]?x'],
    read: ({ text }) => parseGlob(text).test('a/b.csv'),
  },
  {
    name: 'replies to Terminus, JSON',
    samples: [
      json({ analysis: 'a', plan: 'p', commands: [{ keystrokes: 'ls\n', duration: 0.1 }], task_complete: false }),
    ],
    read: ({ text }) => parseJsonReply(text),
  },
  {
    name: 'replies to Terminus, XML',
    samples: [
      '<response><analysis>a</analysis><plan>p</plan><commands><keystrokes duration="0.1">ls\n</keystrokes></commands><task_complete>false</task_complete></response>',
    ],
    read: ({ text }) => parseXmlReply(text),
  },
  ...repliesOf(openaiChat({ reasoningField: 'reasoning_content' }), chatReply, [chatEvent, chatReply]),
  ...repliesOf(anthropicMessages, messagesReply, messagesEvents),
  ...repliesOf(geminiGenerate, geminiReply, [geminiReply]),
  ...[
    [
      openaiChatServer,
      {
        model: 'm',
        messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }, chatReply.choices[0]?.message],
        tools: [{ type: 'function', function: { name: 'x', parameters: {} } }],
        stream: true,
      },
    ] as const,
    [
      openaiResponsesServer,
      {
        model: 'm',
        instructions: 'i',
        input: [
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'y' },
        ],
        tools: [{ type: 'function', name: 'f', parameters: {} }],
      },
    ] as const,
    [
      anthropicMessagesServer,
      {
        model: 'm',
        max_tokens: 9,
        system: 's',
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: messagesReply.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'y' }] },
        ],
      },
    ] as const,
    [
      geminiGenerateServer,
      {
        contents: [
          { role: 'user', parts: [{ text: 'x' }] },
          geminiReply.candidates[0]?.content,
          { role: 'user', parts: [{ functionResponse: { name: 'run', response: { a: 1 } } }] },
        ],
        systemInstruction: { parts: [{ text: 's' }] },
      },
    ] as const,
  ].map(
    ([dialect, sample]): ForeignParser => ({
      name: `requests of agents, ${dialect.name}`,
      samples: [json(sample)],
      read: ({ text }) => dialect.parse(parseJson(text), { model: 'm', stream: false, query: {} }),
    }),
  ),
]

/** The smallest model file: one value and one tensor. */
function gguf(): Buffer {
  const u32 = (n: number) => Buffer.from(new Uint32Array([n]).buffer)
  const u64 = (n: number) => Buffer.from(new BigUint64Array([BigInt(n)]).buffer)
  const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)])
  const head = Buffer.concat([
    ...[Buffer.from('GGUF'), u32(3), u64(1), u64(1), text('general.architecture'), u32(8), text('llama')],
    ...[text('output.weight'), u32(1), u64(8), u32(0), u64(0)],
  ])
  return Buffer.concat([head, Buffer.alloc((32 - (head.length % 32)) % 32), Buffer.alloc(32)])
}

test('names are names of one parser each', () => {
  expect(new Set(parsers.map(({ name }) => name)).size).toBe(parsers.length)
})

test.each(parsers.map((parser) => [parser.name, parser] as const))(
  '%s: damaged input is read or refused, and nothing else happens',
  { timeout: milliseconds * 10 + 180_000 },
  async (name, parser) => {
    const found = await hunt(parser, { seed, milliseconds, slowSec: 10 })
    if (typeof found === 'number') return expect(found).toBeGreaterThan(parser.samples.length)
    // Not in the tests' temporary folder, which is removed when they end.
    mkdirSync('.scratch', { recursive: true })
    const kept = join('.scratch', `ot-agent-fuzz-${seed}-${name.replaceAll(/\W+/g, '-')}${parser.ending ?? ''}`)
    writeFileSync(kept, found.input)
    expect.fail(`OT_AGENT_FUZZ_SEED=${seed}, ${found.problem}\nthe input is kept in ${kept}`)
  },
)

function seedOf(chosen: string | undefined): number {
  if (chosen === 'random') return Math.floor(Math.random() * 2 ** 31)
  if (chosen !== undefined) return Number(chosen)
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  return Number.parseInt(stdout?.slice(0, 7) || '1', 16)
}

function githubSaying(text: string): Github {
  return { get: async () => ({ status: 200, document: parseJson(text) }) }
}
