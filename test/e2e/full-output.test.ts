import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const program = new URL('../../bin/ot-agent.js', import.meta.url).pathname

test.each([[['run', '--help']], [['--help']]])(
  '%j > /dev/full ends with two lines and an exit code of 3',
  async (words) => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', full, 'pipe'] })
    const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')])
    expect(said).toMatch(/^error: stdout: .*\(ENOSPC\)\nhint: .+\n$/)
    expect(code).toBe(3)
  },
)
