/** The server that uploads and downloads are compared with: bare Fastify that pipes a body to disk, hashes and syncs it, and streams it back. */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import Fastify from 'fastify'

const { folder } = JSON.parse(process.env.BENCH_BARE ?? '{}') as { folder: string }
await mkdir(folder, { recursive: true })
const app = Fastify({ bodyLimit: 1_073_741_824 })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', (_, body, done) => done(null, body))

app.put('/file', async ({ body }) => {
  const path = join(folder, randomUUID())
  const hash = createHash('sha256')
  let size = 0
  const file = await open(`${path}~`, 'wx')
  try {
    async function* hashed() {
      for await (const chunk of body as Readable) {
        hash.update(chunk)
        size += chunk.length
        yield chunk
      }
    }
    await file.writeFile(hashed())
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}~`, path)
  await syncFolder()
  return { path, size, sha256: hash.digest('hex') }
})

app.get<{ Querystring: { path: string } }>('/file', async ({ query: { path } }, reply) => {
  const { size } = await stat(path)
  return reply.type('application/octet-stream').header('content-length', size).send(createReadStream(path))
})

async function syncFolder(): Promise<void> {
  const opened = await open(folder, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
process.on('SIGTERM', () => void app.close())
