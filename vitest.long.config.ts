import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

const common = {
  ...base.test,
  exclude: ['node_modules/**'],
  testTimeout: 15 * 60_000,
  hookTimeout: 5 * 60_000,
}

/** These neither count what else runs on the machine nor share a daemon: two of them run at a time. */
const inPairs = [
  'ablate-many',
  'bug-injection',
  'composer',
  'demo',
  'recipes',
  'registry-scale',
  'rehearsals',
  'student',
  'view*',
].map((name) => `test/long/${name}.test.ts`)

/** Crash tests and other slow ones. Most run one file at a time, so that they measure and kill only themselves. */
export default defineConfig({
  resolve: base.resolve,
  test: {
    projects: [
      {
        resolve: base.resolve,
        test: {
          ...common,
          name: 'alone',
          include: ['test/long/**/*.test.ts'],
          exclude: [...common.exclude, ...inPairs],
          fileParallelism: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve: base.resolve,
        test: { ...common, name: 'pairs', include: inPairs, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
