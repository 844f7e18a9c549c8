/** The name servers of the machine, asked twice for a few seconds: by default each silent one takes more than a minute. */
import { Resolver } from 'node:dns/promises'

export const DNS = new Resolver({ timeout: 3_000, tries: 2, maxTimeout: 5_000 })
