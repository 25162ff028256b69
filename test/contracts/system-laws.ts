import { expect } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'

type Law = (title: string, body: () => Promise<void>) => void
type Lease = () => Promise<SandboxLease>

/**
 * What an agent does to the system that will run its tests; each line works in any Linux with a shell and coreutils,
 * unless the programs belong to another user: an ordinary user's `local` sandbox has those of the host, which its root
 * cannot write.
 */
const attack = [
  // A shell and a program that pretend to be others; this script uses copies of the originals.
  'mkdir -p /opt/mine && cp /bin/mkdir /bin/cp /bin/rm /bin/ln /bin/chmod /bin/mv /bin/sh /opt/mine/ && PATH=/opt/mine:$PATH',
  "printf '#!/opt/mine/sh\\necho evil\\n' > /opt/mine/evil && chmod 755 /opt/mine/evil",
  'for p in /usr/bin/env /usr/bin/head /usr/bin/tac; do rm -f $p && cp /opt/mine/evil $p; done',
  'if [ -e /bin/bash ]; then rm -f /bin/bash && cp /opt/mine/evil /bin/bash; fi',
  // In place: size and times may stay the same.
  'cp /opt/mine/evil /usr/bin/nl && chmod 755 /usr/bin/nl',
  'rm -f /usr/bin/wc /usr/bin/sort',
  // Ahead of existing programs on the path, and in place of a directory.
  'mkdir -p /usr/local/sbin /usr/local/bin && cp /opt/mine/evil /usr/local/sbin/cut',
  'mkdir -p /opt/links && cp /opt/mine/evil /opt/links/tail && rm -rf /usr/local/bin && ln -s /opt/links /usr/local/bin',
  // A recreated directory hides everything that was in it.
  'rm -rf /etc/profile.d && mkdir /etc/profile.d && echo echo evil > /etc/profile.d/evil.sh',
  'rm -rf /etc/ld.so.conf.d && mkdir /etc/ld.so.conf.d',
  'echo /opt/mine/none.so > /etc/ld.so.preload',
  'mkdir -p /root/.config/git && echo "echo evil" >> /root/.bashrc && echo x > /root/.config/git/config',
  // Ordinary work, which must survive.
  "printf '#!/bin/sh\\necho new\\n' > /usr/local/sbin/new-program && chmod 755 /usr/local/sbin/new-program",
  'mkdir -p /srv/work && echo kept > /srv/work/file && echo 127.0.0.2 other >> /etc/hosts',
].join('\n')

const look = [
  'for p in env head tac nl cut tail; do printf "%s " $p; echo x | $p -n 1 2>/dev/null | { read -r line; echo "$line"; }; done 2>/dev/null',
].join('\n')

/** The system that tests see after an agent changed it. `cannot` says why a kind of sandbox has no such laws. */
export function systemLaws(law: Law, lease: Lease, cannot: string | undefined): void {
  const sh = (box: SandboxLease, script: string) => box.exec(['/bin/sh', '-c', script], { cwd: '/' })
  if (cannot !== undefined) {
    law(`says that it cannot put system files back (${cannot})`, async () => {
      await using box = await lease()
      expect((await box.freeze({ system: 'image' })).restored).toBeNull()
    })
    return
  }

  law('runs tests on the image’s system although the agent changed it, and says what was put back', async () => {
    await using box = await lease()
    const honest = (await sh(box, look)).stdout
    expect(honest).not.toContain('evil')
    const ownsDir = (await sh(box, '[ -w /usr/bin ]')).exitCode === 0
    const ownsPrograms = (await sh(box, '[ -w /usr/bin/nl ]')).exitCode === 0
    expect(await sh(box, attack)).toMatchObject({ exitCode: 0 })
    const evil = (await sh(box, look)).stdout.match(/evil/g) ?? []
    // If only the directory is writable, some of the attacks succeed.
    if (ownsDir && !ownsPrograms) expect(evil).not.toEqual([])
    else expect(evil).toHaveLength(ownsPrograms ? 6 : 0)
    const { restored } = await box.freeze({ system: 'image' })
    expect((await sh(box, look)).stdout).toBe(honest)
    expect((await sh(box, 'echo a | wc -l && echo a | sort')).stdout).toBe('1\na\n')
    expect((await sh(box, 'ls /etc/ld.so.preload /etc/profile.d/evil.sh /root/.config/git/config')).stdout).toBe('')
    expect((await sh(box, 'ls -d /etc/ld.so.conf.d/* | wc -l; cat /root/.bashrc')).stdout).toMatch(/^[1-9](?!.*evil)/s)
    expect((await sh(box, 'cat /srv/work/file; tail -n 1 /etc/hosts')).stdout).toBe('kept\n127.0.0.2 other\n')
    if (ownsPrograms) expect((await sh(box, 'new-program')).stdout).toBe('new\n')
    const changes = restored?.files.map(({ path, change }) => `${change} ${path.replace(/^\/bin\//, '/usr/bin/')}`)
    const programs = ['env', 'head', 'tac', 'nl'].map((name) => `modified /usr/bin/${name}`)
    const gone = ['wc', 'sort'].map((name) => `removed /usr/bin/${name}`)
    expect(changes).toEqual(expect.arrayContaining(['added /etc/ld.so.preload', 'added /root/.config/git/config']))
    if (ownsPrograms)
      expect(changes).toEqual(expect.arrayContaining([...programs, ...gone, 'added /usr/local/sbin/cut']))
    expect(changes?.filter((change) => /new-program|\/srv|\/etc\/hosts$|\/opt/.test(change))).toEqual([])
    expect(restored?.total).toBe(restored?.files.length)
  })

  law('gives the agent’s system back after tests ran on the image’s', async () => {
    await using box = await lease()
    await sh(box, attack)
    const mine = `${look}\nls /etc/profile.d /etc/ld.so.conf.d; cat /etc/ld.so.preload; ls -p /usr/local; cat /root/.bashrc`
    const before = (await sh(box, mine)).stdout
    for (let round = 0; round < 2; round++) {
      await box.freeze({ system: 'image' })
      await sh(box, 'echo tests > /srv/work/file; rm -f /usr/bin/tac; echo tests > /usr/local/sbin/cut')
      expect(await box.freeze()).toMatchObject({ restored: null })
      expect((await sh(box, mine)).stdout).toBe(before)
      expect((await sh(box, 'read -r line < /srv/work/file; echo $line')).stdout).toBe('kept\n')
    }
  })

  law('finds a changed program whose size and time are as before, and startup files of any name', async () => {
    await using box = await lease()
    const ownsPrograms = (await sh(box, '[ -w /usr/bin/tac ]')).exitCode === 0
    const change = [
      'cp -p /usr/bin/tac /opt/tac && printf "\\0\\0\\0\\0" | dd of=/usr/bin/tac bs=1 conv=notrunc 2>/dev/null; touch -r /opt/tac /usr/bin/tac',
      'echo echo evil > /etc/profile.d/$(printf "\\377").sh; cp /etc/profile.d/*.sh /etc/',
    ].join('\n')
    expect(await sh(box, change)).toMatchObject({ exitCode: 0 })
    expect((await sh(box, 'echo x | tac')).stdout).toBe(ownsPrograms ? '' : 'x\n')
    await box.freeze({ system: 'image' })
    expect((await sh(box, 'echo x | tac')).stdout).toBe('x\n')
    expect(
      (await sh(box, 'for f in /etc/profile.d/*.sh; do case $f in *base.sh) ;; *) . $f;; esac; done')).stdout,
    ).toBe('')
    expect((await sh(box, 'cat /etc/$(printf "\\377").sh')).stdout).toBe('echo evil\n')
  })

  law('leaves ordinary work as it is when system files are put back', async () => {
    await using box = await lease()
    await sh(box, 'mkdir -p /srv/old/a && echo old > /srv/old/a/b && echo same > /srv/old/same')
    await box.freeze()
    const work = [
      'mkdir -p /srv/work/empty /srv/work/deep/er && cd /srv/work && echo one > one && ln one two && ln -s one link && ln -s /nothing dangling',
      'mkfifo pipe && printf x > "a b\n$(printf "\\377")ü" && chmod 1770 deep && { chown 12:34 one deep/er 2>/dev/null || :; } && chmod 4751 one && touch -d 2001-02-03 one',
      'head -c 3000000 /dev/urandom > big && rm -rf /srv/old/a && echo x > /srv/old/a && echo evil > /etc/ld.so.preload && rm -f /etc/ld.so.preload',
      'echo : > /etc/profile.d/new.sh && echo added > /etc/added && rm -f /etc/passwd-',
    ].join('\n')
    const look =
      'cd /srv; find . | LC_ALL=C sort; find . -type f -exec stat -c "%n %A %u %g %s %Y %h" {} + | LC_ALL=C sort; find . -type d -exec stat -c "%n %A %u %g" {} + | LC_ALL=C sort; sha256sum work/big old/*; readlink work/*; stat -c %F work/pipe; ls /etc/passwd- /etc/added'
    expect(await sh(box, work)).toMatchObject({ exitCode: 0 })
    const before = (await sh(box, look)).stdout
    expect(before).toContain('./work/one -rwsr-x--x ')
    const { restored } = await box.freeze({ system: 'image' })
    expect(restored?.files).toEqual([{ path: '/etc/profile.d/new.sh', change: 'added' }])
    expect((await sh(box, look)).stdout).toBe(before)
    await box.freeze()
    expect((await sh(box, look)).stdout).toBe(before)
  })

  law('puts nothing back where nothing of the system was changed', async () => {
    await using box = await lease()
    await sh(box, 'mkdir -p /srv/work && echo kept > /srv/work/file && echo new > /etc/new && mkdir -p /usr/bin')
    expect((await box.freeze({ system: 'image' })).restored).toEqual({ files: [], total: 0 })
    expect((await sh(box, 'cat /srv/work/file /etc/new')).stdout).toBe('kept\nnew\n')
  })

  law('drops what is written after a freeze that asks for it', async () => {
    await using box = await lease()
    await sh(box, 'mkdir /srv/work && echo agent > /srv/work/file && echo agent > /logs/agent/log')
    await box.freeze({ system: 'image', scratch: true })
    await sh(
      box,
      'echo tests > /srv/work/file; echo tests > /srv/work/new; rm -rf /etc/profile.d; echo x > /tests-were-here',
    )
    await box.freeze()
    expect(
      (await sh(box, 'cat /srv/work/file /logs/agent/log; ls /srv/work / | grep -c -e new -e were-here')).stdout,
    ).toBe('agent\nagent\n0\n')
    await sh(box, 'echo again > /srv/work/file')
    await box.freeze()
    expect((await sh(box, 'cat /srv/work/file; ls -d /etc/profile.d /usr/bin/env')).stdout).toBe(
      'again\n/etc/profile.d\n/usr/bin/env\n',
    )
  })
}
