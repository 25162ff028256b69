import { Option } from '@commander-js/extra-typings'

/** The `--registry` option. */
export const registryOption = () =>
  new Option(
    '--registry <place>',
    'a file, or postgres://USER@HOST/DATABASE without a password (default: OT_AGENT_REGISTRY, or registry.db in the state directory)',
  )

/** The `--registry-env` option. */
export const registryEnvOption = () =>
  new Option('--registry-env <name>', 'environment variable with the file or URL; that URL may contain a password')
