import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { judgeFileName } from '../../core/judge.ts'
import { redactArgv } from '../../core/redact.ts'
import { stepDir, testsDir } from '../../core/task-paths.ts'
import { exists, namesIn } from '../../lib/files.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { unjudged } from '../job/judge.ts'
import { judgeSettingsOf } from '../job/model-flags.ts'

/**
 * Command arguments for a launch's judge. Its key is only referred to by variable name: jobs find it in their
 * environment.
 */
export function judgeWords(settings: Settings): readonly string[] {
  const [model, base, keyEnv] = ['judge_model', 'judge_api_base', 'judge_api_key_env'].map((name) =>
    settings.text(name),
  )
  const kwargs = settings.words('judge_engine_kwarg')
  judgeSettingsOf({
    ...{ judgeModel: model, judgeApiBase: base, judgeApiKeyEnv: keyEnv },
    judgeEngineKwarg: kwargs.length > 0 ? kwargs : undefined,
  })
  const flags = [
    ['--judge-model', model] as const,
    ['--judge-api-base', base] as const,
    ['--judge-api-key-env', keyEnv] as const,
    ...kwargs.map((text) => ['--judge-engine-kwarg', text] as const),
  ]
  return flags.flatMap(([flag, value]) => (value === undefined ? [] : withoutSecret(flag, value)))
}

function withoutSecret(flag: string, value: string): readonly string[] {
  const words = [flag, value]
  if (redactArgv(words, process.env).every((word, i) => word === words[i])) return words
  throw new UserError(
    `${flag}: expected no secrets, got what looks like a key or a password`,
    'scripts are kept on disk: pass the name of the environment variable with the key in --judge-api-key-env',
  )
}

/** Refuses a folder with tasks that need a judge, as far as it exists already, before a server starts for nothing. */
export async function refuseUnjudgedFolder(dir: string): Promise<void> {
  for (const task of [dir, ...(await namesIn(dir)).toSorted().map((name) => join(dir, name))]) {
    const steps = (await namesIn(join(task, 'steps'))).toSorted().map((name) => stepDir(task, name))
    for (const each of [task, ...steps])
      if (await exists(join(testsDir(each), judgeFileName))) throw unjudged(`task ${task} is`)
  }
}
