import { shellQuote } from 'ot-agent'

/** Where the project is in the environment. */
export const workdir = '/app'
/** A project's test jars: the agent has a copy, and the verifier brings its own. */
export const jarDirs = { agent: '/opt/lib', verifier: '/tests/lib' }
/** JUnit as installed by Debian's package `junit4`. */
const junit = ['/usr/share/java/junit4.jar', '/usr/share/java/hamcrest-core.jar']

/** Installs nothing on a machine that already has a JDK and JUnit, as the local sandbox may. */
export const dockerfile = (hasJars: boolean) => `FROM debian:12-slim

RUN (command -v javac && test -e ${junit[0]}) || (apt-get update && apt-get install -y --no-install-recommends default-jdk-headless junit4 && rm -rf /var/lib/apt/lists/*)
WORKDIR ${workdir}
COPY repo ${workdir}
${hasJars ? `COPY lib ${jarDirs.agent}\n` : ''}`

/** Which of a project's tests run, and where its code is; folders are relative to the project. */
export interface Suite {
  readonly sourceRoot: string
  readonly testRoot: string
  /** What the class path needs besides classes. */
  readonly resourceDirs: readonly string[]
  readonly encoding: string
  /** Test classes by full name. */
  readonly classes: readonly string[]
  readonly hasJars: boolean
  /**
   * Whether to compile all sources, not only what the tests refer to: some classes are looked up by name at run time.
   */
  readonly isWhole: boolean
}

/** For short runs in sandboxes with one or two CPUs. */
const quick = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

/** The exit code of a run whose code does not compile. */
export const notCompiled = 9

/** Where JUnit's classes would be among the sources. */
const junitPackages = ['org/junit', 'junit', 'org/hamcrest']

/**
 * Compiles what the tests need and runs them, `times` times. Tests and JUnit always come first on the path, so that no
 * source class of the same name replaces them. The compiler uses the newer of a class and its source, so such sources
 * get an old timestamp.
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

/** The file of a test class; a nested class is in its outer class's file. */
export function fileOf(testRoot: string, name: string): string {
  return `${testRoot}/${name.replace(/\$.*/, '').replaceAll('.', '/')}.java`
}

/**
 * Runs test classes and prints a TAP line for each test. Drops what the tests themselves print. A failing test is
 * followed by its exception and stack frames.
 */
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
  /** The stack, innermost frame first: `class::method:line`. */
  readonly frames: readonly string[]
}

/** Outcomes by test; null for a pass. A test that failed even once counts as failed. */
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
