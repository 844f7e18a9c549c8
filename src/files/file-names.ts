/** Takes folders, control characters and marks of direction out of the names of files. Letters of all writing systems are kept. */
import { withoutUnseen } from '../platform/unseen-characters.ts'

/** The maximum length in bytes of UTF-8, which most file systems have. */
const MAX_BYTES = 255

/** The name without the parts that a name cannot have; '' if nothing is left. */
const plainName = (given: string): string => {
  const name = withoutUnseen(given.replace(/^.*[/\\]/su, '')).trim()
  return name === '.' || name === '..' ? '' : name
}

/** The name of an upload, or the reason to refuse the one that the caller has given. */
export function uploadName(given: string): { name: string } | { problem: string } {
  // The JSON parser has refused such text already, but names in headers and forms arrive here unchecked.
  if (given.includes('\0')) return { problem: 'must not contain NUL' }
  if (!given.isWellFormed()) return { problem: 'must not contain half a surrogate pair' }
  const name = plainName(given)
  if (name === '') return { problem: given.trim() === '' ? 'must not be empty' : 'must name a file' }
  if (Buffer.byteLength(name) > MAX_BYTES) return { problem: `must have at most ${MAX_BYTES} bytes of UTF-8` }
  return { name }
}

/**
 * The name of a file whose sender cannot be asked for a better one, such as a file in a received mail.
 * @param otherwise the name if nothing is left of the given one
 */
export function mendedName(given: string, otherwise: string): string {
  return shortened(plainName(given.replaceAll('\0', '').toWellFormed())) || otherwise
}

const EXTENSION = /\.[^.]{1,20}$/u

/** Cuts whole characters from the middle, so that the file keeps its extension. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name
  const [extension = ''] = EXTENSION.exec(name) ?? []
  let left = MAX_BYTES - Buffer.byteLength(extension)
  let start = ''
  for (const { segment } of new Intl.Segmenter().segment(name.slice(0, MAX_BYTES))) {
    left -= Buffer.byteLength(segment)
    if (left < 0) break
    start += segment
  }
  return start.trimEnd() + extension
}
