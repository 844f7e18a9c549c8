/** /.well-known/security.txt: where to report a weakness of this installation (RFC 9116). */
import type { FastifyInstance } from 'fastify'
import type { Deps } from '../context.ts'
import type { PlainOperation } from './openapi/document.ts'

const PATH = '/.well-known/security.txt'
const DAY_MS = 86_400_000
/** RFC 9116, 2.5.5 recommends less than a year. The file is written anew for each request, so it never expires while the service runs. */
const VALID_DAYS = 180

/** Mounts the file, if SECURITY_CONTACT is set. Without it the path is as unknown as any other. */
export function mountSecurityTxt(app: FastifyInstance, { settings, clock }: Pick<Deps, 'settings' | 'clock'>): void {
  const { securityContact, publicUrl } = settings
  if (!securityContact) return
  app.get(PATH, async (_, reply) =>
    reply.type('text/plain; charset=utf-8').send(securityTxt({ contact: securityContact, publicUrl, now: clock() })),
  )
}

interface SecurityTxt {
  contact: string
  publicUrl: string | undefined
  now: Date
}

/** The lines of the file. Canonical is there for an https: address only, as RFC 9116, 2.5.2 demands. */
function securityTxt({ contact, publicUrl, now }: SecurityTxt): string {
  const expires = new Date((Math.floor(now.getTime() / DAY_MS) + VALID_DAYS) * DAY_MS)
  const fields = [
    `Contact: ${contact}`,
    `Expires: ${expires.toISOString().replace('.000', '')}`,
    'Preferred-Languages: en',
    publicUrl?.startsWith('https:') ? `Canonical: ${publicUrl}${PATH}` : '',
  ]
  return fields
    .filter(Boolean)
    .map((field) => `${field}\n`)
    .join('')
}

export const securityTxtOperation: PlainOperation = {
  method: 'get',
  path: PATH,
  operationId: 'health.securityTxt',
  tag: 'Operations',
  summary: 'Get the contact for security reports',
  description: 'The form of RFC 9116. The contact is `SECURITY_CONTACT` of the settings; without that setting the path does not exist.',
  isPublic: true,
  responses: {
    200: {
      description: 'The fields of RFC 9116, one in a line.',
      content: {
        'text/plain': {
          schema: { type: 'string' },
          example: 'Contact: mailto:security@example.com\nExpires: 2027-05-28T00:00:00Z\nPreferred-Languages: en\n',
        },
      },
    },
  },
  errors: [404],
}
