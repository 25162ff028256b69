import type { Command, OptionValues } from '@commander-js/extra-typings'
import { factor, joinAddresses, several, wholeNumber } from './values.ts'

/** The flag, with its help text, of every command that may find interrupted trials. */
export const restartInterrupted = [
  '--restart-interrupted',
  'restart interrupted trials (default: replay the model replies they recorded, and continue from there)',
] as const

/** Adds the options for the judge model, the same for every command that runs tests. */
export function withJudge<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('Judge:')
    .option('--judge-model <name>', 'model to judge the results of tasks that ask for a judge')
    .option('--judge-api-base <url>', 'address of its server')
    .option('--judge-api-key-env <name>', 'environment variable with its API key')
    .option('--judge-engine-kwarg <key=value>', 'option of its engine, for example its prices; repeatable', several)
}

/** Adds the options for the model: which one, where it is, its rate limits and its budget. */
export function withModel<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  const named = command
    .optionsGroup('Model:')
    .option('-m, --model <name>', 'model for the agent; repeatable', several)
    .option(
      '--api-base <url>',
      'address of the model server, for example http://localhost:8000/v1 (vLLM and others); repeat it to spread the calls over several',
      joinAddresses,
    )
    .option('--engine <name>', "engine that calls the model (default: chosen by --api-base or the model's prefix)")
    .option('--engine-config <file>', 'an engine file, YAML or JSON')
    .option('--engine-kwarg <key=value>', 'option of the engine; repeatable', several)
    .option('--api-key-env <name>', 'environment variable with the API key')
  const limited = named
    .optionsGroup('Limits and budgets:')
    .option('--rpm <n>', 'maximum requests per minute to each server', factor)
    .option('--tpm <n>', 'maximum tokens per minute, input and output together', factor)
    .option('--budget-usd <amount>', 'start no more trials once this much has been spent, in USD', factor)
    .option('--budget-tokens <n>', 'the same for tokens, input and output together', wholeNumber(1))
    .option('--budget-requests <n>', 'the same for requests to models', wholeNumber(1))
    .option('--budget-sec <seconds>', 'the same for time, in seconds', factor)
    .option('--adaptive', 'adapt the number of concurrent trials to the load of the server')
    .option('--adaptive-min <n>', 'minimum number of concurrent trials (default: 1)', wholeNumber(1))
    .option('--adaptive-max <n>', 'maximum number of concurrent trials (default: 256)', wholeNumber(1))
    .option('--adaptive-interval <seconds>', 'seconds between measurements of the load (default: 120)', factor)
  return withJudge(limited)
}
