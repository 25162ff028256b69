import { shellQuote } from 'ot-agent'

/** Where the project lies in the environment. */
export const workdir = '/app'
/** Jars of a project's tests: the agent has a copy, and the verifier brings its own. */
export const jarDirs = { agent: '/opt/lib', verifier: '/tests/lib' }
/** JUnit as Debian's package `junit4` installs it. */
const junit = ['/usr/share/java/junit4.jar', '/usr/share/java/hamcrest-core.jar']

/** A machine that has a JDK and JUnit, as the local sandbox may, installs nothing. */
export const dockerfile = (hasJars: boolean) => `FROM debian:12-slim

RUN (command -v javac && test -e ${junit[0]}) || (apt-get update && apt-get install -y --no-install-recommends default-jdk-headless junit4 && rm -rf /var/lib/apt/lists/*)
WORKDIR ${workdir}
COPY repo ${workdir}
${hasJars ? `COPY lib ${jarDirs.agent}\n` : ''}`

/** Which tests of a project run, and where its code is; folders are relative to the project. */
export interface Suite {
  readonly sourceRoot: string
  readonly testRoot: string
  /** What the class path needs beside classes. */
  readonly resourceDirs: readonly string[]
  readonly encoding: string
  /** Test classes by their full names. */
  readonly classes: readonly string[]
  readonly hasJars: boolean
  /** Whether all sources are compiled, and not only what the tests name: some classes are only found by their names at run time. */
  readonly isWhole: boolean
}

/** For programs that end soon, and sandboxes with a processor or two. */
const quick = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

/** The exit code of a run whose code does not compile. */
export const notCompiled = 9

/** Where JUnit's classes would be among the sources. */
const junitPackages = ['org/junit', 'junit', 'org/hamcrest']

/**
 * Compiles what the tests need and runs them, `times` times. Tests and JUnit come first everywhere: a class of the same name among the sources
 * replaces none of them. The compiler takes the newer of a class and its source, so such sources are made old.
 */
export function testCommand(suite: Suite, times = 1): string {
  const { sourceRoot, testRoot, resourceDirs, encoding, classes, hasJars, isWhole } = suite
  const jars = [...junit, ...(hasJars ? [`${jarDirs.verifier}/*`] : [])].join(':')
  const at = (path: string) => `${workdir}/${path}`
  const files = classes.map((name) => shellQuote(at(fileOf(testRoot, name))))
  const taken = junitPackages.map((path) => at(`${sourceRoot}/${path}`))
  const age = `find -L ${taken.map(shellQuote).join(' ')} -name '*.java' -exec touch -t 198001010000 {} + 2>/dev/null`
  const others = taken.map((path) => ` ! -path ${shellQuote(`${path}/*`)}`).join('')
  const sources = `$(find ${shellQuote(at(sourceRoot))} -name '*.java' ! -name '*-info.java'${others})`
  const resources = [...new Set([testRoot, ...resourceDirs, sourceRoot])].map(at).join(':')
  const module = sourceRoot.replace(/(?:^|\/)(?:src|source)(?:\/.*)?$/, '')
  const javac = `javac ${quick.map((option) => `-J${option}`).join(' ')} --release 8 -encoding ${encoding} -g -nowarn -proc:none -Xmaxerrs 1000 -cp ${shellQuote(jars)} -sourcepath ${shellQuote(`${at(testRoot)}:${at(sourceRoot)}`)} -d "$out" /tests/RunTests.java ${files.join(' ')}${isWhole ? ` ${sources}` : ''}`
  const settings = '-Duser.timezone=America/Los_Angeles -Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8'
  const java = `java ${quick.join(' ')} -Xmx1g ${settings} -cp ${shellQuote(jars)}:"$out":${shellQuote(resources)} RunTests ${classes.map(shellQuote).join(' ')}`
  return [
    `out=$(mktemp -d); cd ${shellQuote(module === '' ? workdir : at(module))}`,
    age,
    `${javac} || exit ${notCompiled}`,
    ...Array.from({ length: times }, () => java),
    'rm -rf "$out"',
  ].join('; ')
}

/** The file of a test class; a nested class is in that of the outer one. */
export function fileOf(testRoot: string, name: string): string {
  return `${testRoot}/${name.replace(/\$.*/, '').replaceAll('.', '/')}.java`
}

/** Runs test classes and prints a line of TAP for each test. What tests print themselves is dropped. Below a test that fails are the exception and its frames. */
export const runTestsJava = `import java.io.OutputStream;
import java.io.PrintStream;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

public class RunTests extends RunListener {
    private final PrintStream out;
    private boolean failed;
    private int count;

    private RunTests(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] names) {
        PrintStream out = System.out;
        PrintStream nothing = new PrintStream(new OutputStream() {
            @Override
            public void write(int b) {
            }

            @Override
            public void write(byte[] b, int from, int length) {
            }
        });
        System.setOut(nothing);
        System.setErr(nothing);
        JUnitCore core = new JUnitCore();
        core.addListener(new RunTests(out));
        for (String name : names) {
            try {
                core.run(Class.forName(name));
            } catch (Throwable thrown) {
                out.println("not ok 0 - " + name + "::cannot be loaded");
            }
        }
        out.flush();
        System.exit(0);
    }

    private static String nameOf(Description test) {
        return test.getClassName() + "::" + test.getMethodName();
    }

    @Override
    public void testStarted(Description test) {
        failed = false;
    }

    @Override
    public void testFailure(Failure failure) {
        failed = true;
        out.println("not ok " + ++count + " - " + nameOf(failure.getDescription()));
        for (String line : String.valueOf(failure.getException()).split("\\\\R")) out.println("  | " + line);
        int frames = 0;
        for (StackTraceElement frame : failure.getException().getStackTrace())
            if (frames++ < 40) out.println("  @ " + frame.getClassName() + "::" + frame.getMethodName() + ":" + frame.getLineNumber());
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
        failed = true;
    }

    @Override
    public void testFinished(Description test) {
        if (!failed) out.println("ok " + ++count + " - " + nameOf(test));
    }
}
`

export interface Failed {
  /** The exception and its message, line by line. */
  readonly message: readonly string[]
  /** Where it came from, the innermost first: `class::method:line`. */
  readonly frames: readonly string[]
}

/** Outcomes by test; null for one that passed. A test that failed even once has failed. */
export function parseRun(output: string): Map<string, Failed | null> {
  const tests = new Map<string, Failed | null>()
  let [message, frames]: [string[], string[]] = [[], []]
  for (const line of output.split('\n')) {
    const [, not, name] = /^(not )?ok \d+ - (.+)$/.exec(line) ?? []
    if (name !== undefined) [message, frames] = [[], []]
    if (name !== undefined && not !== undefined) tests.set(name, { message, frames })
    else if (name !== undefined && !tests.has(name)) tests.set(name, null)
    if (line.startsWith('  | ')) message.push(line.slice(4))
    if (line.startsWith('  @ ')) frames.push(line.slice(4))
  }
  return tests
}
