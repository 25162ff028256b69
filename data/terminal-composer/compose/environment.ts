import { type DraftFile, shellQuote } from 'ot-agent'
import type { Tool, Tree } from './work.ts'

/** The base image of every task: instructions and solutions rely only on its essential packages. */
const baseImage = 'debian:12-slim'

/** Preparation besides putting files in place. */
export interface Preparation {
  readonly needs?: readonly Tool[]
  readonly setup?: readonly string[]
}

/** The build files that put a tree into the work folder. */
export function renderEnvironment(
  root: string,
  tree: Tree,
  { needs = [], setup = [] }: Preparation = {},
): Record<string, DraftFile> {
  const files: Record<string, DraftFile> = {}
  for (const [path, entry] of Object.entries(tree)) {
    if (entry.kind === 'file')
      files[`environment/files/${path}`] = { data: entry.data, executable: entry.mode === '755' }
  }
  const commands = Object.entries(tree).flatMap(([path, entry]) => {
    if (entry.kind === 'link') return [`mkdir -p ${quoteDir(path)} && ln -s ${shellQuote(entry.to)} ${word(path)}`]
    const isThere = Object.keys(files).some((file) => file.startsWith(`environment/files/${path}/`))
    const made = entry.kind === 'dir' && !isThere ? [`mkdir -p ${word(path)}`] : []
    return entry.mode === undefined ? made : [...made, `chmod ${entry.mode} ${word(path)}`]
  })
  const lines = [`FROM ${baseImage}`, ...install(needs), `WORKDIR ${root}`]
  if (Object.keys(files).length > 0) lines.push(`COPY files/ ${root}/`)
  if (commands.length > 0) lines.push(`RUN ${commands.join(' && \\\n    ')}`)
  if (setup.length > 0) lines.push(`RUN ${setup.join(' && \\\n    ')}`)
  files['environment/Dockerfile'] = { data: `${lines.join('\n')}\n` }
  return files
}

/** Installs what is missing; a base image that has it needs no network. */
function install(needs: readonly Tool[]): string[] {
  if (needs.length === 0) return []
  const packages = needs.flatMap((tool) => (tool === 'gcc' ? ['gcc', 'libc6-dev'] : [tool]))
  const there = needs.map((tool) => `command -v ${tool}`).join(' && ')
  return [
    `RUN { ${there}; } > /dev/null || { apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')} && rm -rf /var/lib/apt/lists/*; }`,
  ]
}

function word(path: string): string {
  return shellQuote(path.startsWith('-') ? `./${path}` : path)
}

function quoteDir(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash < 0 ? '.' : word(path.slice(0, slash))
}
