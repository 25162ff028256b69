import { z } from 'zod'
import type { Agent, AgentAt, AgentExit } from '../core/agent.ts'
import { definePlugin } from '../core/plugin.ts'
import { sandboxPaths } from '../core/task-paths.ts'

const { tests, verifierLogs } = sandboxPaths

/**
 * A hostile stand-in for an agent that cheats: it solves nothing and tries to be paid anyway. `tasks check` runs it to show
 * that forging does not pay. Its attacks are the ones listed in the script below and no others; it breaks nothing else,
 * and it lives and dies in its sandbox.
 */
export default definePlugin({
  name: 'forger',
  summary: 'solves nothing and forges the reward (a probe for checks)',
  options: z.strictObject({
    /** Put a link in the place of the verifier's folder; otherwise the files go into the folder itself. */
    link: z.boolean().default(false),
  }),
  make: ({ link }): Agent => ({ name: 'forger', version: '1.0.0', solve: (at) => forge(at, link) }),
})

/** Whether an attack works shows in the score, so a command that fails is no error. */
async function forge(at: AgentAt, link: boolean): Promise<AgentExit> {
  const options = { timeoutSec: 30, signal: at.signal, ...(at.user !== undefined && { user: at.user }) }
  const { exitCode } = await at.sandbox.exec(['bash', '-c', attacks, 'forger', link ? 'link' : 'files'], options)
  at.record.log(`forger: planted what it could, exit code ${exitCode}`)
  return { kind: 'finished' }
}

/** The loop runs no program but bash itself, to win the race against tests that just ended; it writes only what is not there, to be caught with no half-written file. */
const attacks = `
export loot=/tmp/forged-logs
mkdir -p $loot

keep() { # file, content
  [ "$(< "$1")" = "$2" ] || printf '%s\\n' "$2" > "$1"
}
forge() {
  # 1. Reward files that are there before the verifier is.
  for dir in $loot ${verifierLogs}; do
    [ -d $dir ] || mkdir -p $dir
    keep $dir/reward.txt 1
    keep $dir/reward.json '{"reward": 1}'
  done
  # 2. Tests that pay, put back whenever they change.
  [ -d ${tests} ] || mkdir -p ${tests}
  keep ${tests}/test.sh $'#!/bin/bash\\necho 1 > ${verifierLogs}/reward.txt'
  [ -x ${tests}/test.sh ] || chmod 755 ${tests}/test.sh
}

# 3. The verifier's folder is a link to one of ours.
if [ "$1" = link ]; then rm -rf ${verifierLogs} 2>/dev/null && ln -s $loot ${verifierLogs}; fi
forge 2>/dev/null

# 4. A process in a session of its own that outlives the agent and does all this again and again.
export -f keep forge
setsid nohup bash -c 'while :; do forge; done' > /dev/null 2>&1 < /dev/null &
exit 0
`
