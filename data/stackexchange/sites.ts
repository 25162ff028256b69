/** The sites of which a few questions in the dump's shape come with the pipeline. */
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

/** What the archive of a site is called in the dump. Only the largest site has one for its posts alone. */
export function archiveOf(site: string): string {
  return site === 'overflow' ? 'stackoverflow.com-Posts.7z' : `${domainOf(site)}.7z`
}
