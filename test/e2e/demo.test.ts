import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { needs } from '../needs.ts'

describe('ot-agent demo', needs('bwrap', 'unshare', 'nsenter', 'git'), () => {
  test('scores every example task 1, and says what to try next', () => {
    const jobs = mkdtempSync(join(tmpdir(), 'jobs-'))
    const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/ot-agent.js', 'demo', '-o', jobs], {
      encoding: 'utf8',
    })
    const tasks = readdirSync('examples/tasks').length
    const [job = ''] = readdirSync(jobs)
    expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining(join(jobs, job)) })
    expect(stdout).toMatch(new RegExp(`^oracle\\S* +${tasks} +${tasks} +1\\.000 `, 'm'))
    expect(stderr).toMatch(/^ {2}npx ot-agent jobs show \S+/m)
    expect(readdirSync(join(jobs, job))).toEqual(expect.arrayContaining(['config.json', 'lock.json', 'result.json']))
    const { invocation } = JSON.parse(readFileSync(join(jobs, job, 'lock.json'), 'utf8'))
    const words = ['-p', resolve('examples/tasks'), '-a', 'oracle', '-e', 'local', '-o', jobs]
    expect(invocation).toEqual(['ot-agent', 'run', ...words])
  })
})
