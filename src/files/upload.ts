import { MAX_UPLOAD_BYTES } from './schema.ts'
import { requireRoom } from './usage/service.ts'

/** How an operation takes a file over REST. */
export const UPLOAD = { maxBytes: MAX_UPLOAD_BYTES, requireRoom }
