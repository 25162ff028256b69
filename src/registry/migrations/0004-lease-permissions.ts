import { grants } from './0002-permissions.ts'

/** Who evaluates what is shown to no reader without an account of its own. */
export const leasePermissions = grants('evaluation_leases', 'false')
