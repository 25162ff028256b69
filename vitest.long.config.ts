import { defineConfig } from 'vitest/config'
import { common, slow } from './vitest.config.ts'

export const long = { ...common.test, testTimeout: 15 * 60_000, hookTimeout: 5 * 60_000 }

/** These count what happens on the whole machine, fill it, or measure themselves: one at a time. */
const alone = [
  'abuse',
  'chaos',
  'container-networks',
  'container-system',
  'containers',
  'crash',
  'faults',
  'kills',
  'pid-namespaces',
  'scale',
  'thousand-sandboxes',
].map((name) => `test/long/${name}.test.ts`)

/** Crash tests, contracts of sandboxes with a daemon or a cloud, and other slow ones. */
export default defineConfig({
  test: {
    globalSetup: ['test/global-setup.ts'],
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
