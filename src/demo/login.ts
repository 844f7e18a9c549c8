/** Stores how to use the demo account, in DATA_DIR beside the secret key: a reader of one file can read the other anyway. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const Person = z.object({ name: z.string(), email: z.string(), password: z.string() })

export const DemoLogin = z.object({
  account_id: z.int(),
  space_id: z.int(),
  owner: Person,
  member: Person,
  viewer: Person,
  keys: z.object({ account: z.string(), personal: z.string() }),
})
export type DemoLogin = z.infer<typeof DemoLogin>

export const loginFile = (dataDir: string) => join(dataDir, 'demo.json')

export function keepLogin(dataDir: string, login: DemoLogin): void {
  const partial = `${loginFile(dataDir)}.${process.pid}`
  writeFileSync(partial, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 })
  renameSync(partial, loginFile(dataDir))
}

export function forgetLogin(dataDir: string): void {
  rmSync(loginFile(dataDir), { force: true })
}

/** Null before the first start, and if the file was deleted or is invalid. */
export function readLogin(dataDir: string): DemoLogin | null {
  try {
    return DemoLogin.parse(JSON.parse(readFileSync(loginFile(dataDir), 'utf8')))
  } catch {
    return null
  }
}
