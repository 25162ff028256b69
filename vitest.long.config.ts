import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { common, slow } from './vitest.config.ts'

export const long = { ...common.test, testTimeout: 15 * 60_000, hookTimeout: 5 * 60_000 }

/** These fill the machine: one at a time. */
const alone = ['abuse', 'scale', 'many-sandboxes'].map((name) => `test/long/${name}.test.ts`)

/** What takes longest begins first, so that no core waits for the other at the end. */
const longest = [
  'test/long/npm-agents.test.ts',
  'test/live/ordinary-user.test.ts',
  'test/long/recipes.test.ts',
  'test/long/rehearsals.test.ts',
  'test/long/demo.test.ts',
  'test/long/bug-injection.test.ts',
  'test/e2e/generate.test.ts',
  'test/long/slurm.test.ts',
  'test/long/containers.test.ts',
  'test/long/container-features.test.ts',
  'test/long/container-compose.test.ts',
  'test/contracts/docker.test.ts',
  'test/contracts/apptainer.test.ts',
  'test/contracts/daytona.test.ts',
  'test/contracts/podman.test.ts',
  'test/help.test.ts',
  'test/long/resume-by-replay.test.ts',
  'test/long/faults.test.ts',
  'test/long/composer.test.ts',
  'test/long/recipe-crash.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      longest.toReversed().indexOf(relative(this.ctx.config.root, moduleId))
    return (await super.sort(files)).sort((a, b) => rank(b) - rank(a))
  }
}

/** Crash tests, contracts of sandboxes with a daemon or a cloud, and other slow ones. */
export default defineConfig({
  test: {
    globalSetup: ['test/global-setup.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...common,
        test: { ...long, name: 'alone', include: alone, fileParallelism: false, sequence: { groupOrder: 0 } },
      },
      {
        ...common,
        test: {
          ...long,
          name: 'together',
          include: ['test/long/**/*.test.ts', ...slow],
          exclude: [...long.exclude, ...alone],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
