/** Programs of the system that some tests run where they are installed. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** The path of a program; undefined if it is not installed. Debian keeps servers in folders that are not on everybody's PATH. */
export function programAt(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin']
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
