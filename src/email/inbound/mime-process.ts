/** The process that parser.ts starts. */
import { serveWork } from '../../platform/processes/served-work.ts'
import { parseMail } from './mime.ts'
import type { RawMail } from './parser.ts'

serveWork(({ raw, authservId }: RawMail, bytes) => parseMail(raw ?? bytes, authservId))
