/** The account that the running code works for: what all requests share is divided fairly among accounts. */
import { AsyncLocalStorage } from 'node:async_hooks'

const accounts = new AsyncLocalStorage<string>()

/** Jobs and scripts. */
const SERVICE = 'service'

/** The name by which an account waits and is counted. */
export const accountName = (accountId: number): string => `account ${accountId}`

/** Runs the function, and everything that it starts, for the account. */
export const runFor = <T>(account: string, fn: () => T): T => accounts.run(account, fn)

/** The name of the account that the running code works for. Callers who are not known share some names (http/load/overload.ts). */
export const currentAccount = (): string => accounts.getStore() ?? SERVICE
