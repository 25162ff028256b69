// Generates docs/licenses.md, the licenses of the packages installed with ot-agent, from package-lock.json; --print only prints it.
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

/** The text of docs/licenses.md. */
function renderLicenses() {
  const { packages } = JSON.parse(readFileSync(resolve(root, 'package-lock.json'), 'utf8'))
  const installed = Object.entries(packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link)
  const rows = installed.map(([path, { version, license }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return `| ${name} | ${version} | ${license ?? 'unknown'} |`
  })
  return [
    '# Licenses of packages installed with ot-agent',
    '',
    'ot-agent itself is licensed under Apache-2.0. Packages with binaries are listed once per platform; only the one for yours is installed.',
    '`node scripts/licenses.mjs` generates this file from package-lock.json.',
    '',
    '| package | version | license |',
    '|---|---|---|',
    ...[...new Set(rows)].sort(),
    '',
  ].join('\n')
}

const text = renderLicenses()
if (process.argv.includes('--print')) process.stdout.write(text)
else writeFileSync(resolve(root, 'docs/licenses.md'), text)
