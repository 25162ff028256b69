import { readdirSync, readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { loadEngineFile } from '../../formats/engine-yaml.ts'
import { serveHere } from './serve-here.ts'

/** The processes whose command line names a path. */
function processesNaming(path: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(path)
    } catch {
      return false
    }
  })
}

test('copies that were started end when a later one cannot be', async () => {
  const dir = await makeTempDir()
  const program = join(dir, 'server.sh')
  await writeFile(program, '#!/bin/sh\nsleep 1000\n:\n')
  await chmod(program, 0o755)
  const path = join(dir, 'engine.yaml')
  const settings = { model_path: 'lab/model', num_replicas: 3, command: [program] }
  await writeFile(
    path,
    JSON.stringify({
      engine: { type: 'vllm_local', vllm_local: { endpoint_json: join(dir, 'endpoint.json') } },
      vllm_server: settings,
    }),
  )
  const started: string[] = []
  const notify = (line: string) => {
    if (line.startsWith('starts ')) started.push(line)
    if (started.length === 3) throw new Error('the third cannot be started')
  }
  const { signal } = new AbortController()
  await expect(serveHere(await loadEngineFile(path), path, { notify, signal })).rejects.toThrow('the third')
  expect(processesNaming(program)).toEqual([])
})
