import { Option } from '@commander-js/extra-typings'

/** `--registry`. */
export const registryOption = () =>
  new Option(
    '--registry <place>',
    'a file, or postgres://USER@HOST/DATABASE without a password (default: OT_AGENT_REGISTRY, else registry.db in the state directory)',
  )

/** `--registry-env`. */
export const registryEnvOption = () =>
  new Option('--registry-env <name>', 'the environment variable that holds the file or URL, which may have a password')
