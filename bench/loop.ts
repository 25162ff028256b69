import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Row } from './lib/rows.ts'

/** How many tasks are rolled out, and how many new ones are solved by the student of this package. */
const count = 200
const newCount = 20
/** Tokens of training: 40 steps of 4,096, by a student of 1.7 million parameters. */
const training = ['--layers', '6', '--width', '128', '--steps', '40', '--epochs', '100', '--batch-tokens', '4096']

/** The wall time of each stage of the loop: tasks, rollouts, dataset, training, evaluation. */
export default {
  name: 'loop',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      return rows(scratch)
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

function rows(scratch: string): Row[] {
  const at = (name: string) => join(scratch, name)
  const compose = (name: string, first: number, tasks: number) =>
    otAgent(
      'generate',
      'terminal-composer',
      ...['--first', `${first}`, '--count', `${tasks}`, '--no-check', '--output-dir', at(name)],
    )
  const run = ['run', '-a', 'terminus-2', '-o', scratch, '-n', '16', '-q']
  const teacher = ['-m', 'scripted/stand-in', '--engine', 'scripted', '--engine-kwarg', `tasks=${at('known/tasks')}`]
  const student = ['-m', 'llama/composer-6m', '--ak', 'temperature=0', '--ak', 'max_turns=12']
  const tasks = compose('known', 1000, count)
  const rollouts = otAgent(...run, '-p', at('known/tasks'), '--job-name', 'teacher', ...teacher)
  const dataset = otAgent('traces', 'export', '-p', at('teacher'), '--out', at('dataset'), '--format', 'jsonl')
  const trained = trainSec(at('dataset'), at('student'))
  compose('new', 9000, newCount)
  const evaluation = otAgent(...run, '-p', at('new/tasks'), '--job-name', 'student', ...student)
  return [
    { name: `compose ${count} tasks`, value: tasks, unit: 's' },
    { name: `roll them out, a stand-in as the teacher`, value: rollouts, unit: 's' },
    { name: 'export the dataset', value: dataset, unit: 's' },
    ...(trained === null ? [] : [{ name: 'train on 164,000 tokens on the CPU', value: trained, unit: 's' }]),
    { name: `evaluate a student of 5.8 million parameters on ${newCount} new tasks`, value: evaluation, unit: 's' },
  ]
}

/** Runs a command of ot-agent; returns its seconds. */
function otAgent(...words: string[]): number {
  return secondsOf(process.execPath, [resolve('bin/ot-agent.js'), ...words])
}

function secondsOf(program: string, words: readonly string[]): number {
  const started = performance.now()
  const { status, stderr } = spawnSync(program, words, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  if (status !== 0) throw new Error(`${words.slice(0, 2).join(' ')} ended with ${status}: ${stderr.slice(-500)}`)
  return (performance.now() - started) / 1000
}

/** Null where Python has no PyTorch. */
function trainSec(dataset: string, out: string): number | null {
  const python = process.env.PYTHON ?? 'python3'
  if (spawnSync(python, ['-c', 'import torch, tokenizers, safetensors']).status !== 0) {
    process.stderr.write('  skipped: training, because python3 (or the program in PYTHON) has no PyTorch\n')
    return null
  }
  const where = ['--data', dataset, '--out', out, '--device', 'cpu']
  return secondsOf(python, [resolve('trainers/small/train.py'), ...where, ...training])
}
