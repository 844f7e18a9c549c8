/** The paths of files in storage. */
import { newToken } from '../secrets/secrets.ts'

/** The prefix of the paths of a task's files (api.md, Task attachment uploads). */
export const taskPrefix = (taskId: number) => `task-${taskId}-`
/** The prefix of the paths of files whose task does not exist yet. */
export const STAGED_PREFIX = 'staged-'

/** A path in storage that was never used: random, and then the file's name in plain characters, for people who look into the storage. */
export const newPath = (prefix: string, name: string) => `${prefix}${newToken(12)}-${plainName(name)}`

function plainName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .slice(-80)
  return plain.replace(/^[._]+/, '') || 'file'
}
