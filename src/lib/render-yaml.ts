import { type ScalarTag, stringify } from 'yaml'

/**
 * YAML that old and new readers agree on. PyYAML reads YAML 1.1, where a bare `no`, `on` or `y` is a boolean, `12:30` a
 * number and `1e-7` a text; all others read 1.2. Whatever the two would read differently is quoted or written out.
 */
export function renderYaml(value: unknown, { lineWidth = 80 }: { readonly lineWidth?: number } = {}): string {
  return stringify(value, { schema: 'yaml-1.1', lineWidth, customTags: (tags) => [smallNumber, oddText, ...tags] })
}

/** PyYAML requires a decimal point in a number with an exponent. */
const smallNumber: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && /^-?\d+e/.test(String(value)),
  test: /(?!)/,
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
}

/** Texts that YAML 1.1 reads as signs no loader can construct, and octal numbers of YAML 1.2. */
const oddText: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => typeof value === 'string' && /^(=|<<|[-+]?0o[0-7]+)$/.test(value),
  test: /(?!)/,
  resolve: String,
  stringify: ({ value }) => JSON.stringify(value),
}
