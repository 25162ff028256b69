import { expect, test } from 'vitest'
import { isSystemFile, type SystemChange } from './system-files.ts'

/** An image with a few programs and libraries, whose PATH has a directory of its own. */
const image = new Set([
  '/usr/bin/python3',
  '/usr/bin/cat',
  '/usr/bin/git',
  '/usr/sbin/nginx',
  '/usr/lib/x86_64-linux-gnu/libc.so.6',
])
const texts: Readonly<Record<string, string>> = {
  '/usr/lib/python3/dist-packages/evil-1.dist-info/entry_points.txt': '[pytest11]\nevil = evil\n',
  '/usr/lib/python3/dist-packages/flask-3.dist-info/entry_points.txt': '[console_scripts]\nflask = flask.cli:main\n',
  '/app/.git/config': '[core]\n\tbare = false\n[user]\n\tname = a\n',
  '/srv/.git/config': '[core]\n\thooksPath = /tmp/hooks\n',
  '/opt/x/.git/config': '[core]\n\tfsmonitor = /tmp/run\n',
}
const view = {
  path: ['/opt/venv/bin', '/usr/local/bin', '/usr/bin/'],
  imageHas: (path: string) => image.has(path),
  changedText: (path: string) => texts[path] ?? '',
}

const system: Readonly<Record<SystemChange['change'], readonly string[]>> = {
  modified: [
    '/bin',
    '/bin/bash',
    '/usr',
    '/usr/bin/env',
    '/usr/local/bin',
    '/usr/lib/x86_64-linux-gnu/libc.so.6',
    '/lib64/ld-linux-x86-64.so.2',
    '/usr/lib/python3.11/json/__init__.py',
    '/usr/lib/python3/dist-packages/pytest/__init__.py',
    '/opt/venv/bin/python',
    '/opt/venv/lib/python3.12/site-packages/numpy/__init__.py',
    '/opt/conda/lib/python3.12/os.py',
    '/usr/lib/node_modules/npm/index.js',
    '/usr/libexec/git-core/git',
    '/etc/ld.so.cache',
    '/etc/profile',
    '/etc/nsswitch.conf',
    '/etc/pam.d/su',
    '/etc/alternatives/awk',
    '/root',
    '/root/.bashrc',
    '/app/tests/conftest.py',
    '/app/.git/hooks/pre-commit',
    '/srv/.git/config',
  ],
  removed: ['/usr/bin/python3', '/usr/lib/python3.11', '/etc/bash.bashrc', '/home/ada/.profile', '/opt/venv/bin/pip'],
  added: [
    '/etc/ld.so.preload',
    '/etc/ld.so.conf.d/evil.conf',
    '/etc/profile.d/evil.sh',
    '/etc/environment',
    '/etc/gitconfig',
    '/etc/pip.conf',
    '/usr/local/bin/python3',
    '/opt/venv/bin/cat',
    '/bin/nginx',
    '/usr/local/lib/libc.so.6',
    '/usr/lib/x86_64-linux-gnu/libnss_systemd.so.2',
    '/lib64/libnss_sss.so.2',
    '/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/libc.so.6',
    '/usr/lib/python3/dist-packages/sitecustomize.py',
    '/usr/lib/python3/dist-packages/evil.pth',
    '/usr/lib/python3/dist-packages/evil-1.dist-info/entry_points.txt',
    '/usr/local/lib/python3.11',
    '/root/.local/lib/python3.11/site-packages/usercustomize.py',
    '/root/.local/lib/python3.11/site-packages/evil.pth',
    '/root/.local/lib/python3.11/site-packages',
    '/root/.bash_profile',
    '/root/.config',
    '/root/.config/git/config',
    '/home/ada/.gitconfig',
    '/home/ada/.config/pip/pip.conf',
    '/conftest.py',
    '/pytest.ini',
    '/setup.cfg',
    '/app/conftest.py',
    '/app/pytest.ini',
    '/app/.git/hooks/post-checkout',
    '/app/.git/hooks',
    '/app/.git/modules/sub/hooks/pre-push',
    '/srv/repo.git/hooks/update',
    '/srv/.git/config',
    '/opt/x/.git/config',
  ],
}

const ordinary: typeof system = {
  modified: [
    '/app/main.py',
    '/etc/hosts',
    '/etc/passwd',
    '/etc/nginx/nginx.conf',
    '/var/lib/dpkg/status',
    '/usr/share/nginx/html/index.html',
    '/usr/share/doc/x',
    '/root/notes',
    '/app/.git/config',
    '/app/setup.cfg',
  ],
  removed: ['/app/main.py', '/var/log/dpkg.log', '/srv/.git/config', '/usr/share/doc'],
  added: [
    '/usr/bin/htop',
    '/usr/local/bin/flask',
    '/usr/lib/x86_64-linux-gnu/libfoo.so.1',
    '/usr/lib/python3/dist-packages/flask/__init__.py',
    '/usr/lib/python3/dist-packages/flask-3.dist-info/entry_points.txt',
    '/usr/lib/node_modules/left-pad/index.js',
    '/etc/nginx/sites-enabled/site',
    '/etc/pam.d/sudo',
    '/app/model.pth',
    '/app/.git/hooks/pre-commit.sample',
    '/app/.git/config',
    '/app/pyproject.toml',
    '/root/.config/htop/htoprc',
    '/home/ada/notes',
    '/opt/tool/bin/cat',
  ],
}

test.each(
  [true, false].flatMap((is) =>
    Object.entries(is ? system : ordinary).flatMap(([change, paths]) =>
      paths.map((path) => [path, change as SystemChange['change'], is ? 'a system file' : 'ordinary'] as const),
    ),
  ),
)('%s, %s, is %s', async (path, change, expected) => {
  expect((await isSystemFile({ path, change }, view)) ? 'a system file' : 'ordinary').toBe(expected)
})
