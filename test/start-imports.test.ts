/** What a start loads decides how long it takes, and can be held without a clock. */
import { expect, test } from 'vitest'
import { importsOf, importsOfService } from './support/imports.ts'

/** Each takes 50 to 250 ms of CPU to load, and most services, or most processes of one, never use it. */
const ON_DEMAND =
  /^(@aws-sdk|@opentelemetry|@prisma\/(adapter-pg|client(?!-runtime-utils))|@scalar|@smithy|ajv|file-type|mailauth|marked|nodemailer|sanitize-html|saxes|sharp|smtp-server|trpc-to-openapi|typescript|yauzl|yazl|zod-openapi)(\/|-|$)/

test('a start without settings for buckets, traces or mail loads nothing that only those use', async () => {
  const imported = await importsOfService({})
  expect(imported).toContain('fastify')
  expect(imported.filter((name) => ON_DEMAND.test(name))).toEqual([])
})

test('the process that parses a received mail loads no database and no schemas, because it may be started for each large message', async () => {
  expect(await importsOf('src/email/inbound/mime-process.ts')).toEqual(['postal-mime'])
})
