/** The port of the mail catcher. Mail integrations in the database name it, so it stays the same from start to start if it can. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Deps } from '../../platform/context.ts'
import { installationOf, readServiceFile } from '../../platform/processes/service-file.ts'
import { type Settings, SettingsError } from '../../settings.ts'
import { followCatcher } from '../integrations.ts'
import { type Catcher, installationAt, startCatcher } from './catcher.ts'

type Address = Pick<Catcher, 'host' | 'port'>

/** The folder of the caught mails. */
export const caughtMailIn = (dataDir: string) => join(dataDir, 'caught-mail')

export interface OwnCatcher {
  catcher: Catcher
  /** The address that integrations still name, although another program listens there now. */
  left?: Address
}

/**
 * Starts the catcher on the port of the last start. If that is in use, the catcher gets another port. Then either a second process of
 * this installation has it, and integrations go on naming it; or another installation or program has it, such as the original of a
 * copied DATA_DIR, and gets none of our mail.
 * @returns undefined with a database of the operator's own, where mail is delivered
 */
export async function openCatcher({ databaseUrl, dataDir }: Settings): Promise<OwnCatcher | undefined> {
  if (databaseUrl) return undefined
  const installation = prepared(dataDir)
  const folder = caughtMailIn(dataDir)
  const last = readServiceFile(dataDir)?.catcher
  if (!last) return { catcher: await startCatcher({ installation, folder }) }
  try {
    return { catcher: await startCatcher({ port: last.port, installation, folder }) }
  } catch {
    const catcher = await startCatcher({ installation, folder })
    return (await installationAt(last)) === installation ? { catcher } : { catcher, left: last }
  }
}

/** Lets the integrations follow the catcher. @returns a line for the operator, if the catcher has moved */
export async function moveIntegrations({ db }: Pick<Deps, 'db'>, own: OwnCatcher | undefined): Promise<string | undefined> {
  if (!own?.left) return undefined
  const { catcher, left } = own
  const count = await followCatcher(db, left, catcher)
  const moved = `The mail catcher and the SMTP integrations that name it (${count}) have moved to port ${catcher.port}.`
  return `Another program has port ${left.port}, where mail was caught before. ${moved}`
}

/** The catcher that a process without one may use: that of the service with the same DATA_DIR. @throws SettingsError if it is another's */
export async function catcherOfService(dataDir: string): Promise<Address | undefined> {
  const last = readServiceFile(dataDir)?.catcher
  const found = last && (await installationAt(last))
  if (found && found !== prepared(dataDir))
    throw new SettingsError(
      `DATA_DIR: port ${last.port}, where mail is caught, belongs to another installation: ` +
        'first start the service with ROLE=web, which takes another port',
    )
  return last
}

function prepared(dataDir: string): string {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    return installationOf(dataDir)
  } catch (error) {
    throw new SettingsError(`DATA_DIR: ${(error as Error).message}`)
  }
}
