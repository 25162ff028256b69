import { spawn } from 'node:child_process'
import { expect, test } from 'vitest'
import type { Machine } from '../machine.ts'
import { runBuildCommand } from './build-command.ts'

test('a command gets megabytes of input without a listener left behind for each wait', async () => {
  const warnings: string[] = []
  const warn = ({ name }: Error) => void warnings.push(name)
  process.on('warning', warn)
  const machine = {
    spawn: async () => ({
      child: spawn('sh', ['-c', 'cat | wc -c'], { stdio: ['pipe', 'pipe', 'pipe', 'pipe'] }),
      done: async () => {},
    }),
    alive: true,
    storage: null,
  } as unknown as Machine
  async function* input() {
    for (let i = 0; i < 40; i++) yield Buffer.alloc(256 * 1024)
  }
  const { signal } = new AbortController()
  const { exitCode, tail } = await runBuildCommand(machine, [], { signal, input: input() })
  process.off('warning', warn)
  expect({ exitCode, tail, warnings }).toEqual({ exitCode: 0, tail: [String(40 * 256 * 1024)], warnings: [] })
})
