/** Commands of the operator, as the operator runs them. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ADMIN = join(import.meta.dirname, '../../admin.ts')

/** Runs `npm run admin -- …`. @throws Error with its output if it fails */
export async function runAdmin(args: readonly string[], settings: Record<string, string>): Promise<void> {
  await promisify(execFile)(process.execPath, [ADMIN, ...args], { env: { ...process.env, ...settings } })
}
