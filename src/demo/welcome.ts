/** What the first start says last, and `npm run demo -- --who` repeats: where the service is, and how to sign in to the demo account. */
import { relative } from 'node:path'
import { catcherToken } from '../email/catcher/access.ts'
import { isForThisMachine } from '../platform/http/procedures/local-callers.ts'
import type { Settings } from '../settings.ts'
import { type DemoLogin, loginFile } from './login.ts'

/** The address of the caught mails, with the token that opens it for everybody. @param url that of the service */
export const mailAddress = (settings: Settings, url: string): string => `${url}/dev/mail?token=${catcherToken(settings)}`

/** What an operator has to know of an open door. None where caught mail wants the token in any case. */
export const openMailLines = (settings: Settings): string[] =>
  isForThisMachine(settings)
    ? ['Programs on this machine see it without the token, and so do all callers of a proxy that adds no header: PUBLIC_URL closes it.']
    : []

/** @param url that of the service */
export function demoLines({ dataDir }: Settings, { owner, member, viewer, keys }: DemoLogin, url: string): string[] {
  return [
    `The demo account, kept in ${shortPath(loginFile(dataDir))}:`,
    ...[owner, member, viewer].map(({ name, email, password }) => `  ${name.padEnd(14)} ${email.padEnd(20)} password ${password}`),
    `  account key    ${keys.account}`,
    `  personal key   ${keys.personal} (${member.name})`,
    `Begin at ${url} in a browser, or at ${url}/docs for the API. ` +
      'In another terminal, npm run demo walks through it, and npm run demo -- --who shows this again.',
  ]
}

/** What later starts say of it. */
export const knownDemoLine = ({ dataDir }: Settings): string =>
  `npm run demo -- --who shows the passwords and keys of the demo account, which are kept in ${shortPath(loginFile(dataDir))}.`

/** As its user would type it. */
function shortPath(path: string): string {
  const fromHere = relative('', path)
  return fromHere.startsWith('..') ? path : fromHere
}
