import { type DraftFile, shellQuote } from 'ot-agent'
import type { Tree } from './work.ts'

/** The image every task starts from: its essential packages are all that instructions and solutions rely on. */
const baseImage = 'debian:12-slim'

/** The build files that put a tree into the work folder. */
export function renderEnvironment(root: string, tree: Tree): Record<string, DraftFile> {
  const files: Record<string, DraftFile> = {}
  for (const [path, entry] of Object.entries(tree)) {
    if (entry.kind === 'file')
      files[`environment/files/${path}`] = { data: entry.data, executable: entry.mode === '755' }
  }
  const commands = Object.entries(tree).flatMap(([path, entry]) => {
    if (entry.kind === 'link') return [`mkdir -p ${quoteDir(path)} && ln -s ${shellQuote(entry.to)} ${word(path)}`]
    const made = entry.kind === 'dir' ? [`mkdir -p ${word(path)}`] : []
    return entry.mode === undefined ? made : [...made, `chmod ${entry.mode} ${word(path)}`]
  })
  const lines = [`FROM ${baseImage}`, `WORKDIR ${root}`]
  if (Object.keys(files).length > 0) lines.push(`COPY files/ ${root}/`)
  if (commands.length > 0) lines.push(`RUN ${commands.join(' && \\\n    ')}`)
  files['environment/Dockerfile'] = { data: `${lines.join('\n')}\n` }
  return files
}

function word(path: string): string {
  return shellQuote(path.startsWith('-') ? `./${path}` : path)
}

function quoteDir(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash < 0 ? '.' : word(path.slice(0, slash))
}
