/**
 * Uploads a file from disk into a field of a record, of any size that the service takes, and shows how far it is.
 *
 *   GRIDPOST_KEY=gp_… npx node examples/upload-file.ts [<file> <table id> <record id> <field id>]
 */
import { createReadStream, statSync } from 'node:fs'
import { basename } from 'node:path'
import { createClient } from 'gridpost-client' // npm install http://127.0.0.1:3000/client.tgz

const client = createClient({ baseUrl: process.env.GRIDPOST_URL ?? 'http://127.0.0.1:3000', apiKey: process.env.GRIDPOST_KEY ?? '' })
const [path = 'README.md', tableId = '4', recordId = '1', field_id = 'documents'] = process.argv.slice(2)

// The file is read while it is sent, so it is never in memory as a whole. Ctrl-C ends the upload, and nothing of it is kept.
const ending = new AbortController()
process.once('SIGINT', () => ending.abort())
const file = { name: basename(path), content: createReadStream(path), size: statSync(path).size }
const { rows } = await client.upload('files.create', { table_id: Number(tableId), record_id: Number(recordId), field_id }, file, {
  signal: ending.signal,
  onProgress: ({ sent, total }) => process.stderr.write(`\r${Math.floor((100 * sent) / (total || 1))} %`),
})
process.stderr.write('\n')
for (const { name, size, path: stored } of rows) console.log(`${name}  ${size} bytes  /api/file/${stored}`)
