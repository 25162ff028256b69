import type { Command, OptionValues } from '@commander-js/extra-typings'
import { passEnvFlag, several } from '../../app/flags/values.ts'
import { parsedAssignments, textAssignments } from '../../app/job/assignments.ts'
import type { GivenAgain } from '../../app/job/hidden-values.ts'

/** Adds the flags that restore what a job's files do not hold. */
export function withHiddenValues<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('Sandbox:')
    .option(
      '-e, --environment <sandbox>',
      'use another kind of sandbox, to rescore or for a job that Harbor started (default: the job’s own)',
    )
    .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', several)
    .optionsGroup('Values that the job’s files do not contain:')
    .option(
      '--ae, --agent-env <key=value>',
      'a hidden environment variable for the agent, as at the start of the job; repeatable',
      several,
    )
    .option(
      '--ak, --agent-kwarg <key=value>',
      'a hidden option of the agent, as at the start of the job; repeatable',
      several,
    )
    .option(
      '--ve, --verifier-env <key=value>',
      'a hidden environment variable for the tests, as at the start of the job; repeatable',
      several,
    )
    .option(...passEnvFlag)
}

export interface HiddenValueOptions {
  readonly agentEnv?: readonly string[] | undefined
  readonly agentKwarg?: readonly string[] | undefined
  readonly verifierEnv?: readonly string[] | undefined
  readonly passEnv?: readonly string[] | undefined
  readonly environment?: string | undefined
  readonly environmentKwarg?: readonly string[] | undefined
}

export function hiddenValuesOf(options: HiddenValueOptions): GivenAgain {
  const { agentEnv, agentKwarg, verifierEnv, passEnv, environment, environmentKwarg } = options
  return {
    sandbox: environment,
    sandboxOptions: parsedAssignments('--ek', environmentKwarg ?? []),
    agentEnv: textAssignments('--ae', agentEnv ?? []),
    agentOptions: parsedAssignments('--ak', agentKwarg ?? []),
    verifierEnv: textAssignments('--ve', verifierEnv ?? []),
    passEnv,
  }
}
