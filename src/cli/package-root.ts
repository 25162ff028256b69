export { packageRoot } from '../lib/package-root.ts'
