/** The sites whose dumps are known by name. */
export const sites = ['codereview', 'overflow', 'superuser', 'tezos', 'tor', 'unix'] as const
