import { onTestFinished, vi } from 'vitest'

/** Captures stdout and stderr until the test ends; returns a function that gives stdout so far. */
export function catchPrinted(): () => string {
  const out: string[] = []
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => out.push(String(chunk)) > 0)
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
  onTestFinished(() => {
    stdout.mockRestore()
    stderr.mockRestore()
  })
  return () => out.join('')
}
