import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { exportTraces } from '../src/app/export-traces.ts'
import type { ChatMessage } from '../src/core/model.ts'
import type { TrialRecord } from '../src/core/trial.ts'
import { ExchangeLog } from '../src/formats/exchanges/write-exchanges.ts'
import { paddingOf, renderHeader } from '../src/lib/tar-format.ts'
import { headLine, renderIndexLine } from '../src/store/packed/index-line.ts'
import { renderTrialRecord } from '../src/store/trial-record.ts'
import { agentRecord, storeJob } from '../test/traces.ts'
import type { Row } from './lib/rows.ts'

const count = Number(process.env.TRACES ?? 100_000)
const goalMb = 500

/**
 * Exports a packed job of a hundred thousand synthetic trials, each with its trajectory and exchanges, to parquet in
 * one process.
 */
export default {
  name: 'traces',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      const job = join(scratch, 'job')
      await storeJob(job, [], 'packed')
      const bytes = fillJob(join(job, 'packed'))
      const measured = await measure(() => exportJob(job, join(scratch, 'dataset')))
      return [
        { name: `traces exported, ${(bytes / 1e6).toFixed(0)} MB of conversations`, value: measured.rows, unit: '' },
        { name: 'rows per second', value: measured.rows / measured.sec, unit: '/s' },
        { name: 'CPU per row', value: (measured.cpuSec * 1000) / measured.rows, unit: 'ms' },
        { name: 'conversations read', value: bytes / 1e6 / measured.sec, unit: 'MB/s' },
        { name: 'parquet written', value: measured.fileBytes / 1e6, unit: 'MB' },
        {
          name: 'peak memory',
          value: measured.peakMb,
          unit: 'MB',
          goal: `under ${goalMb}`,
          ok: measured.peakMb < goalMb,
        },
      ]
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

async function exportJob(job: string, out: string): Promise<{ rows: number; fileBytes: number }> {
  const { rows, files } = await exportTraces({ from: job, out })
  return { rows, fileBytes: files.reduce((sum, file) => sum + file.bytes, 0) }
}

/** Measures peak memory with the kernel's high-water mark, reset before the work. */
async function measure<T>(work: () => Promise<T>): Promise<T & { sec: number; cpuSec: number; peakMb: number }> {
  writeFileSync('/proc/self/clear_refs', '5')
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  const result = await work()
  const [sec, { user, system }] = [(performance.now() - start) / 1000, process.cpuUsage(cpu)]
  const peakKb = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return { ...result, sec, cpuSec: (user + system) / 1e6, peakMb: Number(peakKb) / 1000 }
}

/**
 * Writes the files of a packed job as its store would, but a hundred times faster because nothing has to survive a
 * crash.
 */
function fillJob(dir: string): number {
  mkdirSync(dir, { recursive: true })
  const segment = openSync(join(dir, 'segment-00000.tar.gz'), 'w')
  const index = openSync(join(dir, 'index.jsonl'), 'w')
  writeSync(index, headLine)
  const words = makeWords()
  let [offset, bytes] = [0, 0]
  for (let i = 0; i < count; i++) {
    const record = makeRecord(i)
    const talk = makeTalk(2 + ((i * 7919) % 11), words)
    const files = { 'trajectory.json': makeTrajectory(talk), 'exchanges.jsonl': makeExchanges(talk) }
    const member = gzipSync(tarOf(record.name, files), { level: 1 })
    const sha256 = createHash('sha256').update(member).digest('hex')
    const line = {
      kind: 'trial',
      batch: 0,
      trial: record.name,
      segment: 0,
      offset,
      length: member.length,
      sha256,
    } as const
    writeSync(segment, member)
    writeSync(index, renderIndexLine(line, renderTrialRecord(record, {}, 0)))
    offset += member.length
    bytes += files['exchanges.jsonl'].length
  }
  closeSync(segment)
  closeSync(index)
  return bytes
}

function makeRecord(i: number): TrialRecord {
  const base = agentRecord({ name: `task-${String(i % 10_000).padStart(5, '0')}__${i.toString(36).padStart(7, '0')}` })
  const reward = i % 3 === 0 ? 1 : 0
  const task = { ...base.task, name: `org/task-${i % 10_000}` }
  return {
    ...base,
    task,
    attempt: Math.floor(i / 10_000),
    end: { kind: 'scored', rewards: { reward }, exit: { kind: 'finished' } },
  }
}

function tarOf(trial: string, agentFiles: Readonly<Record<string, Buffer>>): Buffer {
  const stdout = Buffer.from('2 passed in 0.12s\n')
  const entries: [string, Buffer][] = [
    ...Object.entries(agentFiles).map(([name, body]): [string, Buffer] => [`${trial}/agent/${name}`, body]),
    [`${trial}/verifier/test-stdout.txt`, stdout],
  ]
  const parts = entries.flatMap(([name, body]) => [
    renderHeader({ name, kind: 'file', mode: 0o644, size: body.length, link: '' }),
    body,
    Buffer.alloc(paddingOf(body.length)),
  ])
  return Buffer.concat([...parts, Buffer.alloc(1024)])
}

interface Talk {
  readonly prompt: string
  readonly turns: readonly { analysis: string; plan: string; keystrokes: string; seen: string }[]
}

function makeTalk(turns: number, words: (size: number) => string): Talk {
  const one = () => ({ analysis: words(120), plan: words(120), keystrokes: `${words(40)}\n`, seen: words(450) })
  return { prompt: words(1800), turns: Array.from({ length: turns }, one) }
}

/** The model's requests and replies, in the form a trial stores them. */
function makeExchanges({ prompt, turns }: Talk): Buffer {
  const log = new ExchangeLog()
  const usage = { inputTokens: 2000, cacheTokens: 0, outputTokens: 90 }
  const messages: ChatMessage[] = [{ role: 'user', content: prompt }]
  const lines: object[] = [log.head]
  for (const { analysis, plan, keystrokes, seen } of turns) {
    const text = JSON.stringify({ analysis, plan, commands: [{ keystrokes, duration: 0.5 }] }, null, 2)
    const reply = { text, reasoning: null, toolCalls: [], finish: 'stop' as const, usage, costUsd: 0.001, tokens: null }
    lines.push(log.reply({ messages }, { ...reply, latencyMs: 900 }))
    messages.push({ role: 'assistant', content: text }, { role: 'user', content: seen })
  }
  return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

function makeTrajectory({ prompt, turns }: Talk): Buffer {
  const steps: object[] = [{ step_id: 1, source: 'user', message: prompt }]
  for (const [turn, { analysis, plan, keystrokes, seen }] of turns.entries()) {
    steps.push({
      step_id: turn + 2,
      timestamp: '2026-11-15T00:01:03.000000+00:00',
      source: 'agent',
      model_name: 'openai/gpt-x',
      message: `Analysis: ${analysis}\nPlan: ${plan}`,
      tool_calls: [
        {
          tool_call_id: `call_${turn}_1`,
          function_name: 'bash_command',
          arguments: { keystrokes, duration: 0.5 },
        },
      ],
      observation: { results: [{ content: seen }] },
      metrics: { prompt_tokens: 2000 + turn * 300, completion_tokens: 90, cost_usd: 0.001 },
    })
  }
  const agent = { name: 'terminus-2', version: '2.0.0', model_name: 'openai/gpt-x' }
  return Buffer.from(JSON.stringify({ schema_version: 'ATIF-v1.7', session_id: 's', agent, steps }))
}

/** Text that compresses about as well as real text, the same in every run. */
function makeWords(): (size: number) => string {
  let seed = 1
  const next = (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const text = Array.from(
    { length: 200_000 },
    () => `${(next(4000) * (1 + next(3))).toString(36)}${next(9) ? ' ' : '\n'}`,
  ).join('')
  return (size) => {
    const at = next(text.length - size)
    return text.slice(at, at + size)
  }
}
