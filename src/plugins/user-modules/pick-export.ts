import { UserError } from '../../core/errors.ts'

type Exports = Readonly<Record<string, unknown>>

/**
 * The export with the wanted name, or the default one if its class has that name; without a name the default export,
 * else the only one that could be a plug-in.
 */
export function pickExport(module: Exports, wanted: string | null, where: string): { name: string; value: unknown } {
  const exports = withoutWrapping(module)
  if (wanted !== null) {
    if (Object.hasOwn(exports, wanted)) return { name: wanted, value: exports[wanted] }
    if (isClass(exports.default) && exports.default.name === wanted) return { name: wanted, value: exports.default }
    throw new UserError(
      `${where}: expected an export named ${wanted}, found ${listed(Object.keys(exports))}`,
      `check the name after the colon, or export ${wanted} from the file`,
    )
  }
  if (Object.hasOwn(exports, 'default')) return { name: 'default', value: exports.default }
  const fitting = Object.keys(exports).filter((name) => couldBePlugin(exports[name]))
  const [only] = fitting
  if (fitting.length === 1 && only !== undefined) return { name: only, value: exports[only] }
  throw new UserError(
    `${where}: expected a default export or one class or plug-in, found ${listed(fitting.length > 0 ? fitting : Object.keys(exports))}`,
    fitting.length > 1 ? `choose one: ${where}:${only}` : 'add a default export: export default ...',
  )
}

/** Unwraps a CommonJS module, which arrives as the default export of an ES module. */
function withoutWrapping(module: Exports): Exports {
  const { default: inner } = module
  if (Object.keys(module).length > 1 || !isObject(inner) || couldBePlugin(inner)) return module
  return Object.values(inner).some(couldBePlugin) ? inner : module
}

/** True for a class, and for anything with a method that plug-ins have. */
function couldBePlugin(value: unknown): boolean {
  if (isClass(value)) return true
  return isObject(value) && ['make', 'solve', 'lease'].some((method) => typeof value[method] === 'function')
}

/** True for a class, including one that was compiled to functions. */
export function isClass(value: unknown): value is new (options: unknown) => unknown {
  if (typeof value !== 'function') return false
  if (/^class\b/.test(Function.prototype.toString.call(value))) return true
  return isObject(value.prototype) && Object.getOwnPropertyNames(value.prototype).length > 1
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'no exports' : names.join(', ')
}
