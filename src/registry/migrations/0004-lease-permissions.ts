import { grants } from './0002-permissions.ts'

/** Readers without their own account cannot see who evaluates what. */
export const leasePermissions = grants('evaluation_leases', 'false')
