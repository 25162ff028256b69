import { z } from 'zod'
import type { Healthcheck } from '../../core/task.ts'
import { shellQuote } from '../../lib/shell.ts'

/** An image's health check in the engine's format. */
export const healthcheckSchema = z.object({
  Test: z.array(z.string()).nullish(),
  Interval: z.number().nullish(),
  Timeout: z.number().nullish(),
  StartPeriod: z.number().nullish(),
  StartInterval: z.number().nullish(),
  Retries: z.number().nullish(),
})

export type RawHealthcheck = z.infer<typeof healthcheckSchema>

/** Applies Docker's defaults where the image leaves a number out; Docker uses nanoseconds. */
export function healthcheckOf({
  Test,
  Interval,
  Timeout,
  StartPeriod,
  StartInterval,
  Retries,
}: RawHealthcheck): Healthcheck | null {
  const [form, ...words] = Test ?? []
  if (form === undefined || form === 'NONE' || words.length === 0) return null
  const sec = (value: number | null | undefined, otherwise: number) => (value ? value / 1e9 : otherwise)
  return {
    command: form === 'CMD-SHELL' ? words.join(' ') : words.map(shellQuote).join(' '),
    intervalSec: sec(Interval, 30),
    timeoutSec: sec(Timeout, 30),
    startPeriodSec: sec(StartPeriod, 0),
    startIntervalSec: sec(StartInterval, 5),
    retries: Retries || 3,
  }
}
