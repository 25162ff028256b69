import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packTasks } from '../src/formats/task-parquet/pack-tasks.ts'
import { hostile } from './view-kit.ts'

const testScript = '#!/bin/sh\npython3 -m pytest /tests && echo 1 > /logs/verifier/reward.txt\n'

/** Writes a folder of tasks for a viewer, with a check report: four plain ones, one hostile, one broken. */
export function makeViewTasks(dir: string): string {
  for (const i of [0, 1, 2, 3])
    writeTask(join(dir, `task-${i}`), {
      'task.toml': [
        'version = "1.0"',
        '[metadata]',
        `difficulty = "${i % 2 === 0 ? 'easy' : 'hard'}"`,
        `category = "${i === 3 ? 'databases' : 'files'}"`,
        '[agent]',
        'timeout_sec = 600',
      ].join('\n'),
      'instruction.md': `Count the ${['words', 'lines', 'zebras', 'rows'][i]} of /data/in.txt and write the number to /app/out.txt.\n`,
      'solution/solve.sh': '#!/bin/sh\nwc -w < /data/in.txt > /app/out.txt\n',
    })
  const { script, escapes, link } = hostile
  const strange = join(dir, 'hostile')
  writeTask(strange, {
    'task.toml': `[task]\nname = ${JSON.stringify(`org/<img src=x onerror=alert(1)>`)}\n[metadata]\ndifficulty = ${JSON.stringify(script)}\ncategory = "files"\n`,
    'instruction.md': `${script}\n${link}\n${escapes}\n${'z'.repeat(5_000_000)}`,
    'tests/data.bin': Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28, 0x0a, 0x62]),
    'tests/page.html': script,
  })
  symlinkSync('/etc/passwd', join(strange, 'tests', 'link'))
  symlinkSync('/etc', join(strange, 'environment', 'etc'))
  mkdirSync(join(dir, 'broken'))
  writeFileSync(join(dir, 'broken', 'task.toml'), 'version = "1.0"\n')
  const law = (name: string, outcome: string, ...reasons: string[]) => ({ name, outcome, reasons })
  const accepted = [law('lint', 'ok'), law('start', 'ok'), law('oracle', 'ok'), law('nop', 'ok'), law('forger', 'ok')]
  const failing = [
    law('lint', 'ok'),
    law('start', 'ok'),
    law('oracle', 'fail', 'scored 0, expected 1'),
    law('nop', 'skipped'),
  ]
  const told = [
    law('lint', 'fail', `secret: ${script}`),
    { ...law('shallow', 'unknown', escapes), evidence: [script, 'line two'] },
  ]
  const report = (task: string, verdict: string, checks: readonly object[], findings: readonly object[] = []) => ({
    ...{ task, dir: `/elsewhere/${task}`, digest: 'ab'.repeat(32), verdict, checks, findings, notes: [], runs: [] },
  })
  const finding = { lint: 'secret', severity: 'error', path: 'tests/page.html', message: script }
  const tasks = [
    { ...report('task-0', 'accepted', accepted), digest: null },
    report('task-1', 'rejected', failing),
    report('org/<img src=x onerror=alert(1)>', 'rejected', told, [finding]),
  ]
  writeFileSync(join(dir, 'check.json'), JSON.stringify({ schema: 'tasks-check/1', only: null, tasks }))
  return dir
}

/** The plain tasks as a parquet file. */
export async function packViewTasks(file: string): Promise<string> {
  const tasks = [0, 1, 2].map((i) => ({ path: `set/packed-${i}`, dir: join(dirname(file), 'to-pack', `packed-${i}`) }))
  for (const [i, { dir }] of tasks.entries()) writeTask(dir, { 'instruction.md': `Pack number ${i}.\n` })
  await packTasks(tasks, file)
  return file
}

function writeTask(dir: string, files: Readonly<Record<string, string | Buffer>>): void {
  const usual = {
    'task.toml': 'version = "1.0"\n',
    'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\nCOPY in.txt /data/in.txt\n',
    'environment/in.txt': 'one two three\n',
    'tests/test.sh': testScript,
  }
  for (const [path, content] of Object.entries({ ...usual, ...files })) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), content)
  }
}
