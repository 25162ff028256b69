import { plain } from '../../formats/dialect-server/wire-answer.ts'
import type { Route } from '../route.ts'
import { send } from '../send.ts'

/** GET /metrics: how busy the server is, under vLLM's old and new metric names. */
export const metrics: Route = async ({ service, response, signal }) => {
  const [model] = await service.models()
  const { running, waiting, cacheUse } = service.load()
  const label = `{model_name="${(model?.id ?? '').replaceAll(/["\\\n]/g, '\\$&')}"}`
  const gauges: readonly (readonly [name: string, help: string, value: number])[] = [
    ['vllm:num_requests_running', 'Requests that are being answered.', running],
    ['vllm:num_requests_waiting', 'Requests that wait for their turn.', waiting],
    ['vllm:gpu_cache_usage_perc', 'How full the memory for conversations is; 1 is full.', cacheUse],
    ['vllm:kv_cache_usage_perc', 'The same under its newer name.', cacheUse],
  ]
  const lines = gauges.flatMap(([name, help, value]) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    `${name}${label} ${value}`,
  ])
  await send(response, plain(200, 'text/plain; version=0.0.4', `${lines.join('\n')}\n`), signal)
}
