/** The party that the running code works for: resources that all requests share are divided fairly among parties. */
import { AsyncLocalStorage } from 'node:async_hooks'

const parties = new AsyncLocalStorage<string>()

/** Jobs and scripts. */
const SERVICE = 'service'

const ACCOUNT = 'account '

/** The name of the party of an account. */
export const accountParty = (accountId: number): string => `${ACCOUNT}${accountId}`

export const isAccountParty = (party: string): boolean => party.startsWith(ACCOUNT)

/** Runs the function, and everything that it starts, for the party. */
export const runFor = <T>(party: string, fn: () => T): T => parties.run(party, fn)

/** The party that the running code works for. */
export const currentParty = (): string => parties.getStore() ?? SERVICE
