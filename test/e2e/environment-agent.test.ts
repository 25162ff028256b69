import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { scratch, withSandboxes } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }

const reply = (...lines: string[]) => ({ turns: [{ reply: `\`\`\`dockerfile\n${lines.join('\n')}\n\`\`\`` }] })
/** The first answer forgets the file that the task is about; a prompt that says so gets a better one. */
const script = {
  tasks: [
    { match: 'do not accept the solution', ...reply('FROM debian:12-slim', 'WORKDIR /app', 'COPY access.log /app/') },
    { match: '- access.log', ...reply('FROM debian:12-slim', 'WORKDIR /app') },
    { match: '- orders.csv', ...reply('FROM debian:12-slim', 'RUN exit 7') },
  ],
}

withSandboxes('environments that a model writes', () => {
  test('are repaired until the task can be solved in them, proven, and dropped where nothing helps', () => {
    const [path, out] = [join(scratch, 'author.json'), join(scratch, 'authored')]
    writeFileSync(path, JSON.stringify(script))
    const rows = readFileSync('data/perturbed-docker/fixture.jsonl', 'utf8').split('\n').slice(0, 2)
    writeFileSync(join(scratch, 'two.jsonl'), rows.join('\n'))
    const words = [
      ...['generate', 'data/perturbed-docker/generate.ts', '--strategy', 'agent', '--repairs', '1', '--json', '-q'],
      ...['--source', join(scratch, 'two.jsonl'), '--output-dir', out],
      ...['-m', 'scripted/author', '--engine-kwarg', `script=${path}`],
    ]
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...words], { env, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(JSON.parse(stdout).tasks.metadata).toMatchObject({ rows: 2, tasks: 1, rejects: { 'not-proven': 1 } })
    const [name = ''] = readdirSync(join(out, 'tasks'))
    expect(name).toBe('perturbed-docker-busy-hours')
    const written = readFileSync(join(out, 'tasks', name, 'environment/Dockerfile'), 'utf8')
    expect(written).toBe('FROM debian:12-slim\nWORKDIR /app\nCOPY access.log /app/\n')
    expect(readFileSync(join(out, 'rejects.jsonl'), 'utf8')).toContain('exit 7')
  })
})
