/** The headers that every answer of the service carries. */
import type { Settings } from '../../../settings.ts'

const API_VERSION = '1'

/** Browsers use https for this long after an answer over https, even if a link says http. */
const HTTPS_ONLY_SECONDS = 31_536_000

/**
 * The headers of all answers. A route whose answer may be stored, such as a file, sets its own Cache-Control.
 * With `PUBLIC_URL` at https, browsers are told to use https only; subdomains may belong to other services, so they are not included.
 */
export function answerHeaders({ publicUrl }: Pick<Settings, 'publicUrl'>): Record<string, string> {
  return {
    'x-api-version': API_VERSION,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
    ...(publicUrl?.startsWith('https:') && { 'strict-transport-security': `max-age=${HTTPS_ONLY_SECONDS}` }),
  }
}
