import { bounceCause } from '../reports/bounce-cause.ts'
import type { Failure } from '../smtp/failure.ts'

/**
 * The addresses that a server refused during sending because they do not exist or take no mail. A delivery report with the same reason
 * would be a hard bounce. A refusal of the sender, of the content or of relaying says nothing about the address.
 * @param refused the answers to the recipients, by address in lower case
 */
export const undeliverableAddresses = (refused: ReadonlyMap<string, Failure>): string[] =>
  [...refused].filter(([, failure]) => isUndeliverable(failure)).map(([address]) => address)

const isUndeliverable = ({ kind, code, enhanced, message }: Failure): boolean =>
  kind === 'permanent' && /^5\d\d$/.test(code) && bounceCause({ code, status: enhanced, diagnostic: message }).kind === 'hard'
