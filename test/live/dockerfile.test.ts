import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Environment } from '../../src/core/task.ts'
import { tarDir } from '../../src/lib/tar.ts'
import { hostBase } from '../../src/sandboxes/local/base.ts'
import { type ImageHost, makeImageHost } from '../../src/sandboxes/local/image/layers.ts'
import { buildImage, type Image } from '../../src/sandboxes/local/image.ts'
import { findPrivileges, missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { Workshop } from '../../src/sandboxes/local/workshop.ts'

const missing = missingPrograms()
const reason = missing.length > 0 ? ` (skipped: ${missing.join(', ')} missing)` : ''

describe.skipIf(missing.length > 0)(`Dockerfile replay in local sandboxes${reason}`, async () => {
  const privileges = missing.length > 0 ? null : await findPrivileges(tmpdir(), { ids: 'host' })
  const manyUsers = privileges?.manyUsers ?? false
  /** In an ordinary user's sandbox, the files of the host's /usr belong to `nobody`. */
  const removable = privileges?.mode === 'root' ? '/usr/bin/env' : '/etc/hosts'
  let state: string
  let workshop: Workshop
  let host: ImageHost
  let task: string
  let machines: string[]
  let log: string[]

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), 'image-'))
    workshop = await Workshop.open(state)
    const made = makeImageHost(
      workshop,
      await hostBase(join(workshop.home, 'bases'), workshop.privileges, workshop.cache),
    )
    host = {
      ...made,
      makeMachine: (request) => {
        machines.push(request.purpose)
        return made.makeMachine(request)
      },
    }
  })
  afterAll(async () => {
    expect(await readdir(workshop.sandboxesDir)).toEqual([])
    await workshop.discard('all', state)
    workshop.groups.removeParent()
  })
  beforeEach(async () => {
    task = await mkdtemp(join(state, 'task-'))
    machines = []
    log = []
  })

  async function write(files: Readonly<Record<string, string | Uint8Array>>, mode = 0o644): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(task, path)), { recursive: true })
      await writeFile(join(task, path), text)
      await chmod(join(task, path), mode)
    }
  }

  async function build(
    dockerfile: string | null,
    options: { signal?: AbortSignal; forceBuild?: boolean } = {},
    how = buildImage,
  ): Promise<Image> {
    if (dockerfile !== null) await write({ Dockerfile: dockerfile })
    const environment: Environment = {
      dir: task,
      buildTimeoutSec: 60,
      os: 'linux',
      gpus: 0,
      network: { mode: 'no-network' },
      mcpServers: [],
      env: {},
    }
    return how(environment, host, {
      signal: new AbortController().signal,
      log: (line) => log.push(line),
      ...options,
    })
  }

  /** A shell's output inside a sandbox that starts from the image. */
  async function inside(image: Image, script: string): Promise<string> {
    const { base, layers, env, workdir: cwd, user } = image
    const owned = await workshop.make({
      owner: { job: 'test', trial: 'test' },
      base,
      layers,
      env,
      workdir: cwd,
      user,
      network: 'none',
      limits: {},
    })
    try {
      const result = await owned.machine.exec(['sh', '-c', script])
      return (result.stdout + result.stderr).trim()
    } finally {
      await owned.dispose()
    }
  }

  test('a task without a Dockerfile is the bare base', async () => {
    expect(await build(null)).toMatchObject({ layers: [], workdir: '/', env: {}, user: undefined, notes: [] })
    expect(machines).toEqual([])
  })

  test.skipIf(!manyUsers)(
    'RUN, COPY, ENV, WORKDIR, USER and ARG have their effect, and the replaced base is noted',
    async () => {
      await write({ 'data/x.txt': 'hello\n' })
      const image = await build(
        [
          'FROM debian:12-slim',
          'ARG who=world',
          'ENV GREETING="hi $who"',
          'WORKDIR /app',
          'COPY data ./data/',
          'RUN echo "$GREETING from $who in $(pwd)" > said && chmod 600 said && chown 1234:1234 said',
          'USER 1234',
          'RUN id -u > /app/data/../../tmp/uid; cat said > /tmp/copy',
        ].join('\n'),
      )
      expect(image.notes).toEqual(["base image debian:12-slim is not available here; using the host's root instead"])
      expect(image).toMatchObject({ workdir: '/app', user: '1234', env: { GREETING: 'hi world' } })
      expect(await inside(image, 'pwd; id -u; echo $GREETING; cat data/x.txt said /tmp/uid; stat -c %u:%a said')).toBe(
        ['/app', '1234', 'hi world', 'hello', 'hi world from world in /app', '1234', '1234:600'].join('\n'),
      )
      expect(log).toContainEqual(expect.stringContaining(':6: RUN echo'))
    },
  )

  test('RUN can write no setting of the kernel', async () => {
    const script =
      'for f in /proc/sys/vm/swappiness /proc/sys/kernel/printk; do v=$(cat $f); { echo "$v" > $f; } 2>/dev/null && exit 9; done; ! find /proc/sys /proc/fs -type f -writable | grep -q .'
    const image = await build(`FROM debian\nRUN ${script}\n`)
    expect(await inside(image, 'ls /proc/self/status')).toBe('/proc/self/status')
  })

  test('a second build starts no machine, and a changed file builds only from there', async () => {
    await write({ a: '1', b: '1' })
    const text = 'FROM x\nRUN echo one > /one\nCOPY a /a\nCOPY b /b\nRUN cat /a /b > /both'
    const first = await build(text)
    expect(machines).toHaveLength(4)
    machines = []
    expect(await build(text)).toEqual(first)
    expect(machines).toEqual([])
    await write({ b: '2' })
    const changed = await build(text)
    expect(machines.map((at) => at.split(':')[1])).toEqual(['4', '5'])
    expect(changed.layers.slice(0, 2)).toEqual(first.layers.slice(0, 2))
    expect(await inside(changed, 'cat /both')).toBe('12')
    expect(await inside(first, 'cat /both')).toBe('11')
  })

  test('an executable bit is part of the key, a time is not', async () => {
    await write({ a: '1' })
    const first = await build('FROM x\nCOPY a /bits')
    await rm(join(task, 'a'))
    await write({ a: '1' })
    expect(await build('FROM x\nCOPY a /bits')).toEqual(first)
    await rm(join(task, 'a'))
    await write({ a: '1' }, 0o755)
    expect((await build('FROM x\nCOPY a /bits')).layers).not.toEqual(first.layers)
  })

  test('a forced build makes new layers, which later builds use', async () => {
    const text = 'FROM x\nRUN echo $$ > /forced\nRUN true'
    const first = await build(text)
    machines = []
    const forced = await build(text, { forceBuild: true })
    expect(machines).toHaveLength(2)
    expect(forced.layers).not.toEqual(first.layers)
    expect((await build(text)).layers).toEqual(forced.layers)
    expect(machines).toHaveLength(2)
  })

  test('a failing RUN names the instruction, its code and its last words, and leaves nothing', async () => {
    const before = await readdir(host.layersDir)
    const failing = build('FROM x\n\nRUN seq 1000; echo last words >&2; exit 7')
    await expect(failing).rejects.toMatchObject({ boundary: 'task', retryable: false })
    await expect(failing).rejects.toThrow(/Dockerfile:3: RUN seq 1000.*failed with exit code 7\n[\s\S]*last words$/)
    expect(await readdir(host.layersDir)).toEqual(before)
    expect(await readdir(workshop.sandboxesDir)).toEqual([])
  })

  test('an instruction that cannot be honoured fails before anything runs', async () => {
    await expect(build('FROM x\nRUN true\nADD https://example.org/x /x')).rejects.toThrow('Dockerfile:3: ADD https://')
    expect(machines).toEqual([])
  })

  test('an abort gives everything back', async () => {
    const controller = new AbortController()
    const building = build('FROM x\nRUN touch /started; sleep 600', { signal: controller.signal })
    const running = async () => (await readdir(workshop.sandboxesDir)).length > 0 && log.length > 0
    await expect.poll(running).toBe(true)
    controller.abort()
    await expect(building).rejects.toMatchObject({ name: 'AbortError' })
    expect(await readdir(workshop.sandboxesDir)).toEqual([])
  })

  test('eight builds at once share one result', async () => {
    await write({ Dockerfile: `FROM x\nRUN sleep 0.2; echo ${Date.now()} > /when\nCOPY Dockerfile /d` })
    const images = await Promise.all(Array.from({ length: 8 }, () => build(null)))
    expect(new Set(images.map((image) => image.layers.join()))).toHaveProperty('size', 1)
    expect(machines).toHaveLength(2)
  })

  test('two processes that build the same layer both get it', async () => {
    await write({ Dockerfile: `FROM x\nRUN sleep 0.2; echo ${Date.now()} > /raced` })
    vi.resetModules()
    // A second copy of the module does not know what the first one did, as in another process.
    const other: typeof import('../../src/sandboxes/local/image.ts') = await import(
      '../../src/sandboxes/local/image.ts'
    )
    expect(other.buildImage).not.toBe(buildImage)
    const [mine, theirs] = await Promise.all([build(null), build(null, {}, other.buildImage)])
    expect(machines).toHaveLength(2)
    expect(theirs).toEqual(mine)
    expect(await inside(mine, 'cat /raced')).toMatch(/^\d+$/)
  })

  test('what a RUN removes of a lower layer or of the base stays removed', async () => {
    const image = await build(
      `FROM x\nRUN mkdir /d && touch /d/a /d/b\nRUN rm /d/a && rm ${removable}\nRUN rm -r /d && mkdir /d && touch /d/c`,
    )
    expect(await inside(image, `ls /d; ls ${removable} 2>&1`)).toMatch(/^c\n.*No such file/)
  })

  test('later stages copy from earlier ones, links and programs included', async () => {
    const image = await build(
      [
        'FROM x AS unused',
        'RUN false',
        'FROM x AS build',
        'WORKDIR /out/sub',
        'RUN echo "#!/bin/sh\\necho ran" > tool && chmod 755 tool && ln -s /usr/bin/env out && ln -s tool alias && touch .hidden ../one.txt ../two.txt',
        'FROM y',
        'COPY --from=build /out/sub /opt/all/',
        'COPY --from=build /out/*.txt /texts/',
        'COPY --from=1 /out/sub/alias /opt/followed',
      ].join('\n'),
    )
    expect(
      await inside(
        image,
        'cd /opt/all && ls -A && readlink out alias && ./tool; ls /texts; /opt/followed; test -e /out || echo gone',
      ),
    ).toBe(
      ['.hidden', 'alias', 'out', 'tool', '/usr/bin/env', 'tool', 'ran', 'one.txt', 'two.txt', 'ran', 'gone'].join(
        '\n',
      ),
    )
    await expect(build('FROM x AS a\nFROM y\nCOPY --from=a /none /x')).rejects.toThrow(
      'Dockerfile:3: COPY /none /x: /none is not there',
    )
  })

  describe('COPY', () => {
    test('puts contents, files and patterns where Docker puts them', async () => {
      await write({
        'd/x': 'x',
        'd/e/y': 'y',
        'd/.h': '',
        'a.txt': 'a',
        'b.txt': 'b',
        '.dockerignore': 'no*',
        'no.txt': '',
      })
      const image = await build(
        'FROM x\nWORKDIR /w\nCOPY d .\nCOPY *.txt texts\nCOPY a.txt renamed\nCOPY a.txt new/\nCOPY b.txt new\nCOPY a.txt deep/er/name\nCOPY *.none /w/',
      )
      expect(await inside(image, 'find . -type f | sort; cat renamed')).toBe(
        [
          './.h',
          './deep/er/name',
          './e/y',
          './new/a.txt',
          './new/b.txt',
          './renamed',
          './texts/a.txt',
          './texts/b.txt',
          './x',
          'a',
        ].join('\n'),
      )
      expect(image.notes).toContainEqual(expect.stringContaining('COPY *.none /w/ matches no file'))
    })

    test.skipIf(!manyUsers)('keeps modes, links and times, and gives files to root or the given owner', async () => {
      await write({ 'd/run.sh': '#!/bin/sh\necho ran' }, 0o755)
      await write({ 'd/plain': '' })
      await symlink('/etc/hostname', join(task, 'd/out'))
      const image = await build(
        'FROM x\nRUN echo "app:x:4321:4322::/:/bin/sh" >> /etc/passwd\nCOPY d /kept\nCOPY --chown=app --chmod=640 d/plain /owned/by/app\nCOPY --chown=7:app d/plain /seven\nCOPY d/out /',
      ).catch(String)
      expect(image).toContain('there is no group app')
      const fixed = await build(
        'FROM x\nRUN echo "app:x:4321:4322::/:/bin/sh" >> /etc/passwd\nCOPY d /kept\nCOPY --chown=app --chmod=640 d/plain /owned/by/app\nCOPY --chown=7 d/plain /seven\nCOPY d/out /',
      )
      const stat = 'stat -c "%n %u:%g %a" /kept/run.sh /kept/plain /owned /owned/by/app /seven'
      expect(
        await inside(
          fixed,
          `${stat}; readlink /kept/out /out; /kept/run.sh; test /kept/plain -nt /etc/passwd || echo older`,
        ),
      ).toBe(
        [
          '/kept/run.sh 0:0 755',
          '/kept/plain 0:0 644',
          '/owned 4321:4322 755',
          '/owned/by/app 4321:4322 640',
          '/seven 7:7 644',
          '/etc/hostname',
          '/etc/hostname',
          'ran',
          'older',
        ].join('\n'),
      )
    })

    test.skipIf(!manyUsers)('does not change the directory it copies into', async () => {
      await write({ 'd/x': '' })
      const image = await build('FROM x\nCOPY --chown=5:5 d /tmp\nCOPY d /')
      expect(await inside(image, 'stat -c "%u %a" /tmp / /tmp/x')).toBe('0 1777\n0 755\n5 644')
    })

    test('through links that earlier layers left stays inside', async () => {
      await write({ 'evil/passwd': 'replaced', 'd/hosts': 'replaced' })
      const image = await build(
        'FROM x\nRUN ln -s /etc /app && ln -s ../../../../../../etc /up\nCOPY evil /app/\nCOPY d/hosts /up/hosts',
      )
      expect(await inside(image, 'cat /etc/passwd /etc/hosts')).toBe('replacedreplaced')
      expect(await readFile('/etc/passwd', 'utf8')).toContain('root:')
      expect(await readFile('/etc/hosts', 'utf8')).not.toContain('replaced')
    })

    test('replaces a link of the same name instead of writing through it', async () => {
      await write({ a: 'new' })
      const image = await build('FROM x\nRUN echo old > /real && ln -s /real /link\nCOPY a /link')
      expect(await inside(image, 'cat /real /link')).toBe('old\nnew')
    })

    test('takes heredocs', async () => {
      const image = await build(
        'FROM x\nARG v=1\nCOPY <<EOF <<"RAW" /h/\n"$v"\nEOF\n$v\nRAW\nCOPY --chmod=755 <<EOF /run-it\n#!/bin/sh\necho it\nEOF',
      )
      expect(await inside(image, 'cat /h/EOF /h/RAW; /run-it')).toBe('"1"\n$v\nit')
    })

    test.each([
      ['COPY ../x /x', 'leads out of the build context'],
      ['COPY none /x', 'none is not there'],
      ['COPY out/passwd /x', 'leads out of the build context'],
      ['COPY --chown=nobodyhere f /x', 'there is no user nobodyhere'],
      ['COPY d /etc/hostname', 'File exists'],
    ])('%s fails with its line', async (instruction, message) => {
      await write({ f: '', 'd/f': '' })
      await symlink('/etc', join(task, 'out'))
      const failing = build(`FROM x\n${instruction}`)
      await expect(failing).rejects.toThrow(/Dockerfile:2: COPY /)
      await expect(failing).rejects.toThrow(message)
      await expect(failing).rejects.toMatchObject({ boundary: 'task' })
    })
  })

  test('ADD unpacks an archive and copies everything else', async () => {
    await write({ 'tree/bin/run': '#!/bin/sh\necho unpacked' }, 0o755)
    const chunks: Uint8Array[] = []
    for await (const chunk of tarDir(join(task, 'tree'))) chunks.push(chunk)
    const tar = Buffer.concat(chunks)
    await write({ 'a.tar': tar, 'b.tgz': gzipSync(tar), 'c.gz': gzipSync('only text'), 'd.txt': 'text' })
    const image = await build(
      'FROM x\nADD a.tar b.tgz /both/\nADD b.tgz /one\nADD c.gz d.txt /plain/\nADD --unpack=false a.tar /kept.tar\nCOPY b.tgz /copied',
    )
    expect(
      await inside(
        image,
        '/both/bin/run; /one/bin/run; zcat /plain/c.gz; echo; cat /plain/d.txt; echo; tar -tf /kept.tar | head -1; tar -tzf /copied | head -1',
      ),
    ).toBe(['unpacked', 'unpacked', 'only text', 'text', 'bin/', 'bin/'].join('\n'))
  })

  test('RUN accepts heredocs, other shells and scripts with a shebang', async () => {
    const image = await build(
      [
        'FROM x',
        'RUN <<EOF',
        'echo one > /out',
        'echo two >> /out',
        'EOF',
        'SHELL ["/bin/bash", "-euc"]',
        'RUN a=(three); echo $a >> /out; cat <<X >> /out',
        'four',
        'X',
        'RUN ["/bin/sh", "-c", "echo five $0 >> /out", "arg"]',
        'RUN <<PROGRAM',
        '#!/usr/bin/env -S bash -eu',
        'echo six >> /out',
        'PROGRAM',
      ].join('\n'),
    )
    expect(await inside(image, 'cat /out; ls /dev/pipes 2>&1 | wc -l')).toBe('one\ntwo\nthree\nfour\nfive arg\nsix\n1')
  })

  test('RUN gets no input and the shell’s startup adds no output', async () => {
    await build('FROM x\nRUN echo "echo from-rc" > /root/.bashrc\nSHELL ["/bin/bash", "-c"]\nRUN cat; echo only-this')
    expect(log.slice(-2)).toEqual([expect.stringContaining(':4: RUN cat'), 'only-this'])
  })

  test('the caller’s umask changes nothing inside', async () => {
    const before = process.umask(0o077)
    try {
      const base = await hostBase(join(workshop.home, 'strict'), workshop.privileges, workshop.cache)
      const image = { ...(await build('FROM x\nRUN touch /made && mkdir /dir')), base }
      expect(
        await inside(image, 'stat -c %a / /usr /etc /etc/passwd /var/lib /root /tmp /dev/shm /made /dir | xargs'),
      ).toBe('755 755 755 644 755 700 1777 1777 644 755')
    } finally {
      process.umask(before)
    }
  })

  test('a daemon that a RUN leaves behind ends with it', async () => {
    const image = await build('FROM x\nRUN sleep 600 & touch /went-on')
    expect(await inside(image, 'ls /went-on')).toBe('/went-on')
  })

  test('steps that change no file are not stacked', async () => {
    const image = await build('FROM x\nWORKDIR /usr\nRUN true\nRUN touch /x\nRUN true')
    expect(image.layers).toHaveLength(1)
  })

  test('a root file system in the images directory is the base', async () => {
    const dir = join(workshop.home, 'images', 'mine_1')
    for (const part of ['etc', 'proc', 'dev', 'tmp']) await mkdir(join(dir, part), { recursive: true })
    await writeFile(join(dir, 'etc/os-release'), 'ID=mine\n')
    const image = await build('FROM mine:1')
    expect(image.notes).toEqual([])
    expect(image.base.overlays).toMatchObject([{ name: 'root', lower: dir }])
  })
})
