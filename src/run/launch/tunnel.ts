import type { Cluster } from '../../core/cluster.ts'
import type { ScriptPiece } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'

/** How long a job waits for its tunnel. */
const patienceSec = 60

/**
 * Internet access for nodes without any, through a machine they reach by SSH: a proxy behind it (`forward`), or that
 * machine itself as a SOCKS proxy. It listens only on the job's own node, reopens when it breaks, and ends with the
 * job.
 */
export function openTunnel({ internetOnComputeNodes, sshTunnel }: Cluster): readonly ScriptPiece[] {
  if (internetOnComputeNodes || sshTunnel === undefined) return []
  const { host, port, identity, forward } = sshTunnel
  const way =
    forward === undefined ? '-D 127.0.0.1:"$tunnel_port"' : `-L 127.0.0.1:"$tunnel_port":${shellQuote(forward)}`
  const asked = [
    ...['-N', '-T', way, '-o BatchMode=yes', '-o ExitOnForwardFailure=yes'],
    ...['-o ServerAliveInterval=15', '-o ServerAliveCountMax=4', '-o ConnectTimeout=15'],
    ...(port === undefined ? [] : [`-p ${port}`]),
    ...(identity === undefined ? [] : [`-i ${inHome(identity)}`]),
    ...['--', shellQuote(host)],
  ]
  const proxy = forward === undefined ? 'socks5h://127.0.0.1:$tunnel_port' : 'http://127.0.0.1:$tunnel_port'
  const names =
    forward === undefined ? ['ALL_PROXY', 'all_proxy'] : ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']
  return [
    {
      about: `the internet, through ${host}`,
      lines: [
        // A different port range from the one in which nodes meet.
        `tunnel_port=$((10000 + \${SLURM_JOB_ID:-$$} % 10000))`,
        'hold_tunnel() {',
        "  local inner=''",
        `  trap 'kill "$inner" 2> /dev/null || true; exit 0' TERM`,
        '  while :; do',
        `    ssh ${asked.join(' ')} < /dev/null & inner=$!`,
        '    wait "$inner" || true',
        `    note ${shellQuote(`the tunnel to ${host} is closed; reopening it`)}`,
        '    sleep 5 & inner=$!',
        '    wait "$inner" || true',
        '  done',
        '}',
        'hold_tunnel & helpers+=($!)',
        `tunnel_until=$((SECONDS + ${patienceSec}))`,
        'until (exec 3<> /dev/tcp/127.0.0.1/"$tunnel_port") 2> /dev/null; do',
        `  if [ "$SECONDS" -ge "$tunnel_until" ]; then note ${shellQuote(`no tunnel to ${host} after ${patienceSec} s: try ssh ${host} from a node`)}; exit 69; fi`,
        '  pause 1',
        'done',
        `export ${names.map((name) => `${name}="${proxy}"`).join(' ')}`,
        // Model servers and other nodes are reached directly.
        `no_proxy="\${no_proxy:+$no_proxy,}localhost,127.0.0.1,::1,$(hostname)"`,
        'export no_proxy NO_PROXY="$no_proxy"',
      ],
    },
  ]
}

/** A path in which the home directory may be a variable of the job. */
function inHome(path: string): string {
  const rest = /^(?:~|\$HOME|\$\{HOME\})(\/.*)$/.exec(path)?.[1]
  return rest === undefined ? shellQuote(path) : `"$HOME"${shellQuote(rest)}`
}
