import { defaultSettings, type StepSettings, type TaskSettings } from './environment.ts'
import type { NewTask } from './save.ts'

export interface StarterOptions {
  /** `org/name`; without it the task is named after its directory. */
  readonly name?: string
  readonly description: string
  readonly authors: readonly { readonly name: string; readonly email?: string }[]
  /** 0 makes a single-step task. */
  readonly steps: number
  readonly withSolution: boolean
}

const numbers = [17, 4, 23, 8, 42, 15, 16, 31]
const total = numbers.reduce((sum, number) => sum + number, 0)

/** A tiny working task: the oracle scores 1, doing nothing scores 0, and no network is needed. */
export function starterTask(options: StarterOptions): NewTask {
  const steps = Array.from({ length: options.steps }, (_, i) => stepOf(i))
  const goal = sumGoal('/app/sum.txt')
  const scripts = (steps.length === 0 ? [{ dir: '', goal }] : steps).flatMap((part) => [
    [`${part.dir}tests/test.sh`, testScript(part.goal)] as const,
    ...(options.withSolution ? [[`${part.dir}solution/solve.sh`, part.goal.solve] as const] : []),
  ])
  return {
    settings: starterSettings(
      options,
      steps.map((step) => step.name),
    ),
    instruction: steps.length === 0 ? goal.ask : Object.fromEntries(steps.map((step) => [step.name, step.goal.ask])),
    files: {
      'environment/Dockerfile': 'FROM debian:12-slim\n\nWORKDIR /app\nCOPY numbers.txt /app/numbers.txt\n',
      'environment/numbers.txt': `${numbers.join('\n')}\n`,
      ...Object.fromEntries(scripts),
    },
  }
}

interface Goal {
  readonly ask: string
  readonly file: string
  readonly expected: number
  readonly solve: string
}

/** The first step adds numbers, each later one continues from the previous step's file. */
function stepOf(i: number): { name: string; dir: string; goal: Goal } {
  const name = `step-${i + 1}`
  const file = `/app/${name}.txt`
  const goal = i === 0 ? sumGoal(file) : nextGoal(`/app/step-${i}.txt`, file, total + i)
  return { name, dir: `steps/${name}/`, goal }
}

function sumGoal(file: string): Goal {
  return {
    ask: `The file \`/app/numbers.txt\` holds one whole number per line.\n\nAdd them up and write the sum, on a line of its own, to \`${file}\`.\n`,
    file,
    expected: total,
    solve: `#!/bin/bash
set -e

sum=0
while read -r number; do
  sum=$((sum + number))
done < /app/numbers.txt
echo "$sum" > ${file}
`,
  }
}

function nextGoal(before: string, file: string, expected: number): Goal {
  return {
    ask: `The file \`${before}\` holds a whole number.\n\nAdd 1 to it and write the result, on a line of its own, to \`${file}\`.\n`,
    file,
    expected,
    solve: `#!/bin/bash\nset -e\n\nread -r number < ${before}\necho $((number + 1)) > ${file}\n`,
  }
}

function testScript(goal: Goal): string {
  return `#!/bin/bash
# Runs after the agent is done. The reward is what it writes to /logs/verifier/reward.txt.

reward=0
if [ -f ${goal.file} ] && [ "$(cat ${goal.file})" = "${goal.expected}" ]; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
`
}

function starterSettings(options: StarterOptions, steps: readonly string[]): TaskSettings {
  const { name, description, authors } = options
  const about = name === undefined ? {} : { name, description, authors }
  return {
    ...defaultSettings,
    ...about,
    metadata: {
      ...(name === undefined ? anonymousMetadata(options) : {}),
      difficulty: 'easy',
      category: 'example',
      tags: ['files'],
    },
    agent: { timeoutSec: 600 },
    verifier: { ...defaultSettings.verifier, timeoutSec: 120 },
    environment: { ...defaultSettings.environment, cpus: 1, memoryMb: 2048, storageMb: 10240 },
    steps: steps.map((step, i) => starterStep(step, i < steps.length - 1)),
  }
}

/** A task without an organization has no `[task]` table, so these go where older tasks keep them. */
function anonymousMetadata(options: StarterOptions): Record<string, string> {
  const [author] = options.authors
  return {
    ...(options.description === '' ? {} : { description: options.description }),
    ...(author === undefined ? {} : { author_name: author.name }),
    ...(author?.email === undefined ? {} : { author_email: author.email }),
  }
}

function starterStep(name: string, isGate: boolean): StepSettings {
  return {
    name,
    agent: { timeoutSec: 600 },
    verifier: { ...defaultSettings.verifier, timeoutSec: 120 },
    ...(isGate ? { minReward: { reward: 1 } } : {}),
    artifacts: [],
  }
}
