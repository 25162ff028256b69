/** The sites for which the pipeline ships a few questions in the dump's format. */
export const fixtureSites = ['codereview', 'overflow', 'serverfault', 'superuser', 'tezos', 'tor', 'unix'] as const

/** Sites whose domain is not NAME.stackexchange.com. */
const domains: Readonly<Record<string, string>> = {
  askubuntu: 'askubuntu.com',
  mathoverflow: 'mathoverflow.net',
  overflow: 'stackoverflow.com',
  serverfault: 'serverfault.com',
  stackapps: 'stackapps.com',
  superuser: 'superuser.com',
}

export function domainOf(site: string): string {
  return domains[site] ?? `${site}.stackexchange.com`
}

/** The name of a site's archive in the dump. Only the largest site has a separate archive for its posts. */
export function archiveOf(site: string): string {
  return site === 'overflow' ? 'stackoverflow.com-Posts.7z' : `${domainOf(site)}.7z`
}
