import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Writes a folder that apt installs from (`deb [trusted=yes] file:DIR ./`): one package with a program that prints its
 * version.
 */
export async function writeRepository(dir: string, name: string, versions: readonly string[]): Promise<void> {
  const stanzas: string[] = []
  await mkdir(dir, { recursive: true })
  for (const version of versions) {
    const file = `${name}_${version.replace(/^\d+:/, '')}_all.deb`
    const control = `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: says its version\n`
    const bytes = await makePackage(join(dir, file), name, version, control)
    const digest = createHash('sha256').update(bytes).digest('hex')
    stanzas.push(`${control}Filename: ./${file}\nSize: ${bytes.length}\nSHA256: ${digest}\n`)
  }
  await writeFile(join(dir, 'Packages'), stanzas.join('\n'))
}

async function makePackage(path: string, name: string, version: string, control: string): Promise<Buffer> {
  const root = await mkdtemp(join(tmpdir(), 'ot-deb-'))
  try {
    await chmod(root, 0o755)
    for (const folder of ['DEBIAN', 'usr', 'usr/bin']) await mkdir(join(root, folder), { mode: 0o755 })
    await writeFile(join(root, 'DEBIAN/control'), control)
    await writeFile(join(root, 'usr/bin', name), `#!/bin/sh\necho ${name} ${version}\n`)
    await chmod(join(root, 'usr/bin', name), 0o755)
    execFileSync('dpkg-deb', ['--root-owner-group', '--build', root, path], { stdio: 'ignore' })
    return await readFile(path)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
