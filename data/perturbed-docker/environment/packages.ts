/** Words in tasks and scripts, and the Debian packages they suggest. */
const table: Readonly<Record<string, readonly string[]>> = {
  'image|photo|png|jpeg|convert': ['imagemagick'],
  'json|jq': ['jq'],
  'sqlite|database|sql': ['sqlite3'],
  'git|commit|repository': ['git', 'ca-certificates'],
  'xml|xmllint|xpath': ['libxml2-utils'],
  'pdf|pdftotext': ['poppler-utils'],
  'video|audio|ffmpeg|mp3|mp4': ['ffmpeg'],
  'gcc|compile|c program|makefile': ['gcc', 'libc6-dev', 'make'],
  'python|python3|script.py': ['python3'],
  'node|javascript|npm': ['nodejs'],
  perl: ['perl'],
  'zip|unzip': ['zip', 'unzip'],
  'curl|http|api': ['curl', 'ca-certificates'],
  'rsync|backup': ['rsync'],
  'bc|arithmetic': ['bc'],
  'tree|directory tree': ['tree'],
  'tmux|terminal multiplexer': ['tmux'],
  'ssh|sftp': ['openssh-client'],
  'openssl|certificate|encrypt': ['openssl'],
  'csv|spreadsheet': ['csvkit'],
}

/** E5: the packages that a text's words suggest, most frequent first. */
export function packagesFor(text: string, atMost = 8): string[] {
  const words = text.toLowerCase()
  const counts = new Map<string, number>()
  for (const [keys, packages] of Object.entries(table)) {
    const hits = keys
      .split('|')
      .reduce(
        (sum, key) => sum + (words.match(new RegExp(`(?<![\\w-])${escapeRegExp(key)}(?![\\w-])`, 'g'))?.length ?? 0),
        0,
      )
    if (hits > 0) for (const name of packages) counts.set(name, Math.max(hits, counts.get(name) ?? 0))
  }
  const ranked = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return ranked.slice(0, atMost).map(([name]) => name)
}

/** Adds packages to a Dockerfile, right after its base. */
export function installPackages(dockerfile: string, packages: readonly string[]): string {
  if (packages.length === 0) return dockerfile
  const run = `RUN apt-get update && apt-get install -y --no-install-recommends ${[...packages].sort().join(' ')} && rm -rf /var/lib/apt/lists/*`
  return dockerfile.replace(/^(FROM .*)$/m, `$1\n${run}`)
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
