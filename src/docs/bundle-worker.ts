/** The thread that loads Scalar's API reference and answers with its script, compressed. */
import { promisify } from 'node:util'
import { parentPort } from 'node:worker_threads'
import { gzip } from 'node:zlib'
import scalar from '@scalar/fastify-api-reference'
import Fastify from 'fastify'

const app = Fastify()
await app.register(scalar, { routePrefix: '/reference', configuration: { url: 'openapi.json' } })
const { statusCode, rawPayload } = await app.inject('/reference/js/scalar.js')
if (statusCode !== 200) throw new Error(`The package answers ${statusCode} for its script`)
parentPort?.postMessage(await promisify(gzip)(rawPayload))
